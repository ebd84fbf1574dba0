/**
 * How every item but the root key is sealed, in each kind of vault: AES-256-GCM under a key of the root.
 *
 *   "1" | base64url of: nonce, 12 bytes; ciphertext; tag, 16 bytes        additional data: home and name
 *
 * Invariant: a sealed item opens only in its home and under its name. So another keychain gets nothing that it can read,
 * and what it shows is not taken for ours. An older item of the same name can't be detected here.
 */
import { createCipheriv, createDecipheriv, randomBytes, type KeyObject } from 'node:crypto';

const form = '1';
/** Bytes: the length that GCM uses without hashing (NIST SP 800-38D §5.2.1.1). Random ones don't repeat in 2^32 writes. */
export const nonceLength = 12;
export const tagLength = 16;

/** AES-256-GCM: nonce, ciphertext and tag. It opens only with the same additional data `bound`. */
export function encrypted(key: KeyObject, plain: Uint8Array, bound: string): Buffer {
  const nonce = randomBytes(nonceLength);
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(bound));
  return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}

/** Runs `use` on what this key sealed, which is then wiped; undefined if it did not seal these bytes. */
export function decrypted<T>(
  key: KeyObject,
  sealed: Buffer,
  bound: string,
  use: (plain: Buffer) => T,
): T | undefined {
  const tagAt = sealed.length - tagLength;
  if (tagAt < nonceLength) return undefined;
  const nonce = sealed.subarray(0, nonceLength);
  const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: tagLength });
  decipher.setAAD(Buffer.from(bound)).setAuthTag(sealed.subarray(tagAt));
  const plain = decipher.update(sealed.subarray(nonceLength, tagAt));
  try {
    decipher.final();
    return use(plain);
  } catch {
    return undefined;
  } finally {
    plain.fill(0);
  }
}

interface ItemPlace {
  readonly homeId: string;
  readonly name: string;
}

export function seal(key: KeyObject, place: ItemPlace, value: string): string {
  return form + encrypted(key, Buffer.from(value), boundTo(place)).toString('base64url');
}

/** Undefined if it was not sealed with this key for this place. */
export function unseal(key: KeyObject, place: ItemPlace, text: string): string | undefined {
  const sealed = Buffer.from(text.slice(form.length), 'base64url');
  // Exactly this text: base64url has several for the same bytes.
  if (text !== form + sealed.toString('base64url')) return undefined;
  return decrypted(key, sealed, boundTo(place), (plain) => plain.toString('utf8'));
}

function boundTo({ homeId, name }: ItemPlace): string {
  return `keyturn/1 item\n${homeId}\n${name}`;
}
