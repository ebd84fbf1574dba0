/**
 * The keys that sign tokens: kept in the storage, and replaced in time.
 *
 * Invariant: a key is published for one rotation before it signs, and stays published until the last token that it
 * signed has ended. So a protected server that keeps the key set for a while never refuses a good token. Processes that
 * share the storage share the keys: the item's id is the key's number, and nobody makes a number twice.
 */
import { generateKeyPairSync, randomUUID, type JsonWebKey } from 'node:crypto';
import { z } from 'zod';
import type { Storage } from '../storage/storage.ts';

const kind = 'SigningKey';

const stored = z.object({
  /** The private key. */
  key: z.record(z.string(), z.unknown()),
  /** When it was made, in seconds since 1970: the key before it signs from then on. */
  made: z.number(),
});

export interface KeyTimes {
  /** Seconds that a key signs, existing ones too. */
  readonly rotation: number;
  /** Seconds of the longest token. */
  readonly longestToken: number;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

export interface KeySet {
  /** Private keys, the one that signs now first. */
  readonly keys: readonly JsonWebKey[];
  /** When another one signs, in seconds since 1970. */
  readonly changesAt: number;
}

/** The keys for now. Makes the next one, and removes those that no token needs. */
export async function signingKeys(storage: Storage, times: KeyTimes): Promise<KeySet> {
  const now = Math.floor(times.now() / 1000);
  const known = (await storage.list(kind))
    .map(({ id, item }) => ({ number: Number(id), ...stored.parse(item.payload) }))
    .toSorted((one, other) => one.number - other.number);
  // The newest waits. It takes over when the next one is made.
  const changesAt = (): number => (known.length < 2 ? now : (known.at(-1)?.made ?? now) + times.rotation);
  while (changesAt() <= now) {
    const number = (known.at(-1)?.number ?? -1) + 1;
    await storage.add(kind, String(number), { payload: { key: newKey(), made: now } });
    // Another process may have made the key of this number: then that one counts here too.
    known.push({ number, ...stored.parse((await storage.get(kind, String(number)))?.payload) });
  }
  const ended = known.filter((_, index) => (known[index + 2]?.made ?? now) + times.longestToken < now);
  // After the new ones are there: a process that lists meanwhile gives its own new key the same number.
  for (const { number } of ended) await storage.remove(kind, String(number));
  const live = known.slice(ended.length);
  return { keys: [...live.slice(-2), ...live.slice(0, -2)].map(({ key }) => key), changesAt: changesAt() };
}

/** Elliptic: made in a millisecond, and its signatures are short. */
function newKey(): Record<string, unknown> {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return { ...privateKey.export({ format: 'jwk' }), kid: randomUUID(), alg: 'ES256', use: 'sig' };
}
