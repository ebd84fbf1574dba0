/**
 * Storage whose contents only the holder of a key can read or write: AES-256-GCM around the payload of every item.
 *
 * Invariant: no payload reaches the storage below in a readable form, of whatever kind. One that was changed, or moved
 * to another kind or id, is refused, and so is one that was never sealed. Times, grant and second name stay readable,
 * since the storage looks for them; none of them is a secret.
 */
import { createCipheriv, createDecipheriv, createHmac, createSecretKey, randomBytes } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { z } from 'zod';
import { KeyturnError } from '../../base/errors.ts';
import { invalidOption, isPromise, readValue, unawaited } from '../resource/base/option.ts';
import type { NamedItem, Storage, StoredItem } from './storage.ts';

/** A key of the operator's. */
export interface SealingKey {
  /** Is stored with what the key sealed: letters, digits, `-` and `_`, 32 at most. */
  readonly id: string;
  /** 32 random bytes. */
  readonly key: Uint8Array;
}

export interface SealedStorage extends Storage {
  /**
   * Seals under the first key whatever an older one sealed; answers how many items that were. Afterwards nothing needs
   * the older keys, once every process that shares the storage has the first key in front.
   */
  reseal(): Promise<number>;
}

const keyLength = 32;
/** Bytes. Each seal derives a key from it, so that one key of the operator's may seal without a bound on their number. */
const saltLength = 16;
/** Bytes (NIST SP 800-38D §8.2). */
const nonceLength = 12;
const tagLength = 16;

const keysSchema = z
  .array(
    z.strictObject({
      id: z.string().regex(/^[\w-]{1,32}$/, 'an id has letters, digits, - and _, 32 at most'),
      key: z
        .instanceof(Uint8Array, { error: "pass bytes (Buffer.from(text, 'base64')), not text" })
        .refine(({ length }) => length === keyLength, 'a key has 32 bytes'),
    }),
  )
  .nonempty('it names no key')
  .refine((keys) => new Set(keys.map(({ id }) => id)).size === keys.length, 'two keys have the same id');

const sealedPayload = z.strictObject({ keyId: z.string(), sealed: z.string() });

/**
 * `keys`: the first one seals, and all of them open. Throws invalid_request for keys that can't be used; what it
 * answers throws `file_unreadable` for an item that none of them opens.
 */
export function sealedStorage(storage: Storage, keys: readonly SealingKey[]): SealedStorage {
  if (isPromise(storage))
    invalidOption(
      'storage of sealedStorage',
      unawaited,
      'Write: sealedStorage(await postgresStorage(url), keys)',
    );
  const ring = new KeyRing(keys);
  const sealed = (kind: string, id: string, item: StoredItem): StoredItem => ({
    ...item,
    payload: ring.seal(kind, id, item.payload),
  });
  const opened = (kind: string, { id, item }: NamedItem): NamedItem => ({
    id,
    item: { ...item, payload: ring.open(kind, id, item.payload) },
  });
  return {
    atRest: 'sealed',
    add: async (kind, id, item) => storage.add(kind, id, sealed(kind, id, item)),
    put: async (kind, id, item) => storage.put(kind, id, sealed(kind, id, item)),
    async get(kind, id) {
      const item = await storage.get(kind, id);
      return item && opened(kind, { id, item }).item;
    },
    async getByUid(kind, uid) {
      const found = await storage.getByUid(kind, uid);
      return found && opened(kind, found);
    },
    async replace(kind, id, before, after) {
      const item = await storage.get(kind, id);
      const isSame = item && JSON.stringify(ring.open(kind, id, item.payload)) === JSON.stringify(before);
      if (!isSame) return false;
      return storage.replace(kind, id, item.payload, ring.seal(kind, id, after));
    },
    extend: async (kind, id, expiresAt) => storage.extend(kind, id, expiresAt),
    consume: async (kind, id, at) => storage.consume(kind, id, at),
    remove: async (kind, id) => storage.remove(kind, id),
    removeGrant: async (kind, grantId) => storage.removeGrant(kind, grantId),
    list: async (kind) => (await storage.list(kind)).map((each) => opened(kind, each)),
    ids: async (kind) => storage.ids(kind),
    async scan(after) {
      return (await storage.scan(after)).map((each) => ({ kind: each.kind, ...opened(each.kind, each) }));
    },
    removeExpired: async (now) => storage.removeExpired(now),
    close: async () => storage.close(),
    reseal: async () => reseal(storage, ring),
  };
}

async function reseal(storage: Storage, ring: KeyRing): Promise<number> {
  let count = 0;
  let page = await storage.scan();
  while (page.length > 0) {
    for (const { kind, id, item } of page) {
      if (ring.isCurrent(item.payload)) continue;
      const resealed = ring.seal(kind, id, ring.open(kind, id, item.payload));
      // An item that changed meanwhile was sealed under the first key by that change.
      if (await storage.replace(kind, id, item.payload, resealed)) count += 1;
    }
    page = await storage.scan(page.at(-1));
  }
  return count;
}

class KeyRing {
  readonly #keys: ReadonlyMap<string, KeyObject>;
  readonly #firstId: string;

  constructor(keys: readonly SealingKey[]) {
    const { data, fault } = readValue(keysSchema, keys);
    if (fault) {
      const name = `${['keys', ...fault.path].join('.')} of sealedStorage`;
      invalidOption(name, fault.problem, 'Make a key with: openssl rand -base64 32');
    }
    this.#firstId = data[0]?.id ?? '';
    this.#keys = new Map(data.map(({ id, key }) => [id, createSecretKey(key)]));
  }

  isCurrent(payload: StoredItem['payload']): boolean {
    return payload['keyId'] === this.#firstId;
  }

  seal(kind: string, id: string, payload: StoredItem['payload']): z.infer<typeof sealedPayload> {
    const [salt, nonce] = [randomBytes(saltLength), randomBytes(nonceLength)];
    const cipher = createCipheriv('aes-256-gcm', this.#keyFor(this.#firstId, salt), nonce);
    cipher.setAAD(placeOf(kind, id));
    const text = Buffer.concat([cipher.update(JSON.stringify(payload), 'utf8'), cipher.final()]);
    const sealed = Buffer.concat([salt, nonce, cipher.getAuthTag(), text]).toString('base64url');
    return { keyId: this.#firstId, sealed };
  }

  open(kind: string, id: string, payload: StoredItem['payload']): StoredItem['payload'] {
    const parsed = sealedPayload.safeParse(payload);
    if (!parsed.success) {
      throw unreadable(kind, 'it was kept without a seal', {
        hint: 'Begin with an empty storage, or go on without sealedStorage where the issuer is on this machine.',
      });
    }
    const { keyId, sealed } = parsed.data;
    if (!this.#keys.has(keyId)) {
      throw unreadable(kind, 'none of the keys sealed it', {
        hint: 'Give sealedStorage the key that sealed it too, behind the one that seals now.',
      });
    }
    try {
      const bytes = Buffer.from(sealed, 'base64url');
      const salt = bytes.subarray(0, saltLength);
      const nonce = bytes.subarray(saltLength, saltLength + nonceLength);
      const text = bytes.subarray(saltLength + nonceLength + tagLength);
      const options = { authTagLength: tagLength };
      const decipher = createDecipheriv('aes-256-gcm', this.#keyFor(keyId, salt), nonce, options);
      decipher.setAAD(placeOf(kind, id));
      decipher.setAuthTag(bytes.subarray(bytes.length - text.length - tagLength, bytes.length - text.length));
      const opened = Buffer.concat([decipher.update(text), decipher.final()]).toString('utf8');
      return z.record(z.string(), z.unknown()).parse(JSON.parse(opened));
    } catch (cause) {
      throw unreadable(kind, 'it was changed, moved, or sealed by another key of this name', {
        hint: 'Check that the key is the one that sealed it. If it is, somebody changed the storage.',
        cause,
      });
    }
  }

  #keyFor(keyId: string, salt: Uint8Array): Uint8Array {
    const key = this.#keys.get(keyId);
    if (!key) throw new Error('no such key');
    return createHmac('sha256', key).update('keyturn/1 sealed item\n').update(salt).digest();
  }
}

/** A kind has no line break, so two places never have the same bytes. */
function placeOf(kind: string, id: string): Uint8Array {
  return Buffer.from(`${kind}\n${id}`);
}

/** Names the kind, never the id: that of some items is what their holder shows. */
function unreadable(
  kind: string,
  problem: string,
  details: { readonly hint: string; readonly cause?: unknown },
): KeyturnError {
  return new KeyturnError(
    'file_unreadable',
    `An item of the storage (${kind}) can't be opened: ${problem}.`,
    details,
  );
}
