/**
 * What the sealed file costs: one durable update, opening 10,000 records, a compaction. Prints numbers,
 * asserts nothing: they are the machine's. Run with `node bench/sealed-file.ts`.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { memoryVault } from '../src/vault/memory.ts';
import { sealedFileVault } from '../src/vault/sealed/sealed-file.ts';
import type { SealedFileVault } from '../src/vault/sealed/sealed-file.ts';
import { medianOf } from './median.ts';

const grants = 10_000;
/** Bytes in base64url: a refresh token and what is kept with it. */
const secret = (): string => randomBytes(900).toString('base64url');

const folder = mkdtempSync(path.join(tmpdir(), 'keyturn-bench-'));
const keychain = memoryVault();

function open(): SealedFileVault {
  const file = path.join(folder, 'vault.sealed');
  return sealedFileVault({ file, key: { kind: 'keychain', vault: keychain } });
}

function show(what: string, milliseconds: number): void {
  process.stdout.write(`${what.padEnd(44)} ${milliseconds.toFixed(3)} ms\n`);
}

async function timed(what: string, work: () => Promise<unknown>): Promise<void> {
  const start = performance.now();
  await work();
  show(what, performance.now() - start);
}

try {
  const vault = open();
  const times: number[] = [];
  for (let n = 0; n < grants; n++) {
    const start = performance.now();
    await vault.write(`grant.${n}`, secret());
    times.push(performance.now() - start);
  }
  show('one durable write, median', medianOf(times));
  show('one durable write, 99th percentile', times.toSorted((a, b) => a - b)[Math.floor(grants * 0.99)] ?? 0);
  await timed('1,000 reads', async () => {
    for (let n = 0; n < 1000; n++) await vault.read(`grant.${n * 7}`);
  });
  await vault.lock();
  process.stdout.write(`file: ${statSync(path.join(folder, 'vault.sealed')).size} bytes\n`);
  await timed(`opening ${grants} records, key in the keychain`, () => vault.unlock());

  const own = sealedFileVault({ file: path.join(folder, 'own.sealed'), key: { kind: 'passphrase' } });
  await own.unlock('a passphrase');
  await timed('unlocking an empty file by passphrase', () => own.unlock('a passphrase'));
  for (let n = 0; n < grants; n += 10) await own.write(`grant.${n}`, secret());
  await timed('changing the passphrase of 1,000 records', () =>
    own.changePassphrase('a passphrase', 'another'),
  );
  await own.close();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
