/**
 * The keys that sign tokens: kept in the storage, and replaced in time.
 *
 * Invariant: a key is published before it signs, and stays published until the last token that it signed has ended. So
 * a protected server that keeps the key set for a while never refuses a good token. Processes that share the storage
 * share the keys: the item's id is the key's number, and nobody makes a number twice.
 */
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import type { JsonWebKey } from 'node:crypto';
import { z } from 'zod';
import type { Storage } from '../storage/storage.ts';

const kind = 'SigningKey';

const stored = z.object({
  /** The private key. */
  key: z.record(z.string(), z.unknown()),
  /** When it signs, in seconds since 1970. */
  from: z.number(),
  /** When the next one takes over. */
  until: z.number(),
});

type SigningKey = z.infer<typeof stored>;

export interface KeyTimes {
  /** Seconds that a key signs. */
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
  const known = (await storage.list(kind)).map(({ id, item }) => ({ id, key: stored.parse(item.payload) }));
  const ended = known.filter(({ key }) => key.until + times.longestToken < now);
  const live = known.filter((each) => !ended.includes(each)).map(({ key }) => key);
  const add = async (from: number): Promise<SigningKey> => {
    const number = String(known.length === 0 ? 0 : Math.max(...known.map(({ id }) => Number(id))) + 1);
    await storage.add(kind, number, {
      payload: { key: newKey(), from, until: from + times.rotation },
    });
    // Another process may have made the key of this number: then that one counts here too.
    const key = stored.parse((await storage.get(kind, number))?.payload);
    known.push({ id: number, key });
    live.push(key);
    return key;
  };
  const current = live.find(({ from, until }) => from <= now && now < until) ?? (await add(now));
  if (!live.some(({ from }) => from >= current.until)) await add(current.until);
  // After the new ones are there: a process that lists meanwhile gives its own new key the same number.
  for (const { id } of ended) await storage.remove(kind, id);
  const others = live.filter((key) => key !== current);
  return { keys: [current, ...others].map(({ key }) => key), changesAt: current.until };
}

/** Elliptic: made in a millisecond, and its signatures are short. */
function newKey(): Record<string, unknown> {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return { ...privateKey.export({ format: 'jwk' }), kid: randomUUID(), alg: 'ES256', use: 'sig' };
}
