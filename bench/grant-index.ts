/**
 * What the index of 10,000 grants costs, beside its peer, one JSON text that is replaced whole: loading
 * it and changing one grant durably. Prints ratios, asserts nothing: they are the machine's. Run with
 * `node bench/grant-index.ts`.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { z } from 'zod';
import { grantSchema } from '../src/broker/records/grant.ts';
import type { Grant } from '../src/broker/records/grant.ts';
import { RecordLog } from '../src/store/record-log.ts';
import { readPrivate, replaceFile } from '../src/base/private-file.ts';
import { medianOf } from './median.ts';

const size = 10_000;
/** Of each, in turn with the peer's, so that a busy moment meets both. */
const rounds = { load: 7, change: 101 };

const folder = mkdtempSync(path.join(tmpdir(), 'keyturn-bench-'));
const logFile = path.join(folder, 'grants.jsonl');
const wholeFile = path.join(folder, 'whole.json');
const wholeSchema = z.object({ items: z.array(grantSchema) });

function grantOf(n: number): Grant {
  return {
    id: randomBytes(8).toString('hex'),
    endpoints: [`https://server-${n}.example/mcp`],
    resource: `https://server-${n}.example`,
    issuer: 'https://issuer.example',
    account: 'default',
    subject: null,
    registrationId: '0'.repeat(16),
    scope: ['read', 'write'],
    requestedScope: ['read', 'write'],
    state: { kind: 'active' },
    generation: 1,
    hasRefreshToken: true,
    createdAt: 1_700_000_000_000 + n,
  };
}

async function loadWhole(): Promise<readonly Grant[]> {
  const bytes = await readPrivate(wholeFile);
  return wholeSchema.parse(JSON.parse(bytes?.toString('utf8') ?? '')).items;
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/** Medians in milliseconds, and how many times as long the peer takes. */
async function compare(
  what: string,
  count: number,
  ours: (n: number) => Promise<unknown>,
  peer: (n: number) => Promise<unknown>,
): Promise<void> {
  const times = { ours: [] as number[], peer: [] as number[] };
  for (let n = 0; n < count; n += 1) {
    times.ours.push(await timed(() => ours(n)));
    times.peer.push(await timed(() => peer(n)));
  }
  const [a, b] = [medianOf(times.ours), medianOf(times.peer)];
  const shown = `${a.toFixed(2)} ms, whole JSON ${b.toFixed(2)} ms: ratio ${(b / a).toFixed(2)}`;
  process.stdout.write(`${what.padEnd(32)} ${shown}\n`);
}

try {
  const grants = Array.from({ length: size }, (_, n) => grantOf(n));
  const log = new RecordLog(logFile, grantSchema);
  await log.load();
  await Promise.all(grants.map((grant) => log.put(grant)));
  await replaceFile(wholeFile, JSON.stringify({ items: grants }));
  const changed = (n: number): Grant => ({ ...(grants[n] ?? grantOf(n)), generation: 2 });
  await compare(
    `loading ${size} grants`,
    rounds.load,
    () => new RecordLog(logFile, grantSchema).load(),
    loadWhole,
  );
  await compare(
    'changing one, durably',
    rounds.change,
    (n) => log.put(changed(n)),
    (n) => replaceFile(wholeFile, JSON.stringify({ items: grants.with(n, changed(n)) })),
  );
  // As many changes as make it due once, from many writers at once.
  const many = Array.from({ length: size + 1000 }, (_, n) => changed(n % size));
  const took = await timed(() => Promise.all(many.map((grant) => log.put(grant))));
  process.stdout.write(`${many.length} changes at once, written anew once: ${took.toFixed(0)} ms\n`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
