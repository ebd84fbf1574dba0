/**
 * How every item but the root key is sealed, in each kind of vault: AES-256-GCM under a key of the root.
 *
 *   "1" | base64url of: nonce, 12 bytes; ciphertext; tag, 16 bytes        additional data: home and name
 *
 * Invariant: a sealed item opens only in its home and under its name. So another keychain gets nothing that it can read,
 * and what it shows is not taken for ours. An older item of the same name can't be detected here.
 */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

const form = '1';
/** Bytes: the length that GCM uses without hashing (NIST SP 800-38D §5.2.1.1). Random ones don't repeat in 2^32 writes. */
const nonceLength = 12;
const tagLength = 16;

/** Where an item belongs. */
export interface ItemPlace {
  readonly homeId: string;
  readonly name: string;
}

export function seal(key: KeyObject, place: ItemPlace, value: string): string {
  const nonce = randomBytes(nonceLength);
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(boundTo(place));
  const sealed = Buffer.concat([nonce, cipher.update(value, 'utf8'), cipher.final(), cipher.getAuthTag()]);
  return form + sealed.toString('base64url');
}

/** Undefined if it was not sealed with this key for this place. */
export function unseal(key: KeyObject, place: ItemPlace, text: string): string | undefined {
  const sealed = Buffer.from(text.slice(form.length), 'base64url');
  const tagAt = sealed.length - tagLength;
  // Exactly this text: base64url has several for the same bytes.
  if (text !== form + sealed.toString('base64url') || tagAt < nonceLength) return undefined;
  const nonce = sealed.subarray(0, nonceLength);
  const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: tagLength });
  decipher.setAAD(boundTo(place)).setAuthTag(sealed.subarray(tagAt));
  const value = decipher.update(sealed.subarray(nonceLength, tagAt));
  try {
    decipher.final();
    return value.toString('utf8');
  } catch {
    return undefined;
  } finally {
    value.fill(0);
  }
}

function boundTo({ homeId, name }: ItemPlace): Buffer {
  return Buffer.from(`keyturn/1 item\n${homeId}\n${name}`);
}
