/**
 * The demo's servers: `keyturn dev-server` as a process of its own, and counts of what it says that it did.
 *
 * Invariant: a number counts lines of the servers, and nothing that the demo itself saw.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import { trustingFetch } from '../src/serve/trusting-fetch.ts';

export interface Counts {
  readonly signIns: number;
  readonly registrations: number;
  readonly refreshes: number;
  /** A refresh token was presented a second time. */
  readonly refreshReuses: number;
  readonly revocations: number;
  /** 403 answers of the protected server. */
  readonly insufficientScope: number;
}

export interface Served {
  readonly issuer: string;
  /** The endpoint of the protected server. */
  readonly url: string;
  /** PEM file of the authority of both servers. */
  readonly caFile: string;
  /** Trusts that authority only. */
  readonly fetch: typeof globalThis.fetch;
  counts(): Counts;
  close(): Promise<void>;
}

const addressSchema = z.object({ issuer: z.url(), resource: z.url(), authorities: z.string() });

const lineSchema = z.object({
  event: z.object({ kind: z.string().optional(), reason: z.string().optional() }),
});

export interface ServeOptions {
  /** Of this trial alone, and the caller's to remove. */
  readonly folder: string;
  /** Seconds of an access token. */
  readonly lifetime: number;
  readonly dpop: 'taken' | 'required';
}

/** Starts both servers, with the command's file `bin`. */
export async function serve(bin: string, { folder, lifetime, dpop }: ServeOptions): Promise<Served> {
  mkdirSync(folder);
  const config = path.join(folder, 'serve.json');
  const configuration = {
    folder: 'servers',
    authorizationServer: { port: 0, accessTokenSeconds: lifetime },
    protectedServer: { port: 0, dpop },
  };
  writeFileSync(config, JSON.stringify(configuration));
  // A group of its own: an interrupt at the terminal reaches the demo, which ends its parts in good order.
  const child = spawn(process.execPath, [bin, 'dev-server', '--json', '--events', '--config', config], {
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const seen = seenIn(child.stderr);
  const { issuer, resource, authorities } = addressSchema.parse(JSON.parse(await firstLine(child)));
  const trusting = trustingFetch(readFileSync(authorities, 'utf8'));
  const count = (what: string): number => seen.get(what) ?? 0;
  return {
    issuer,
    url: resource,
    caFile: authorities,
    fetch: trusting.fetch,
    counts: () => ({
      signIns: count('signed_in'),
      registrations: count('registered'),
      refreshes: count('refreshed'),
      refreshReuses: count('replayed'),
      revocations: count('revoked'),
      insufficientScope: count('scope_insufficient'),
    }),
    async close() {
      await trusting.close();
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, 'close');
      child.kill('SIGTERM');
      await ended;
    },
  };
}

/** How often each kind of event, and each reason of a refusal, was told so far. */
function seenIn(stderr: NodeJS.ReadableStream): ReadonlyMap<string, number> {
  const seen = new Map<string, number>();
  createInterface({ input: stderr }).on('line', (line) => {
    const { event } = lineSchema.parse(JSON.parse(line));
    for (const what of [event.kind, event.reason]) {
      if (what !== undefined) seen.set(what, (seen.get(what) ?? 0) + 1);
    }
  });
  return seen;
}

async function firstLine(child: ChildProcess & { readonly stdout: NodeJS.ReadableStream }): Promise<string> {
  const lines = createInterface({ input: child.stdout });
  const [line] = (await Promise.race([once(lines, 'line'), once(lines, 'close')])) as [string?];
  if (line === undefined) throw new Error('The servers did not start.');
  return line;
}
