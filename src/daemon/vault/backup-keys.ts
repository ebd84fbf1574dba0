/**
 * Keys for backups of other programs' configuration, which `keyturn setup` changes. A backup can hold secrets that
 * stood there in plain text, and it can be larger than a frame: so its file is sealed under a key of its own, and that
 * key is sealed here.
 *
 * Invariant: a sealed key opens under this home's root key only. The root key itself seals no file.
 */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { KeyturnError } from '../../base/errors.ts';
import { derivedKey } from '../../vault/base/item-store.ts';

export interface BackupKeyParts {
  /** Throws what the vault throws. */
  readonly root: () => Promise<KeyObject>;
  readonly homeId: string;
}

/** Bytes of a nonce and of a tag of AES-GCM (NIST SP 800-38D §8.2.1 and §5.2.1.2). */
const nonceLength = 12;
const tagLength = 16;

export class BackupKeys {
  readonly #parts: BackupKeyParts;

  constructor(parts: BackupKeyParts) {
    this.#parts = parts;
  }

  /** A new key of 32 bytes, and the same key sealed; both base64url. Throws what the vault throws. */
  async seal(): Promise<{ key: string; sealedKey: string }> {
    const key = randomBytes(32);
    const nonce = randomBytes(nonceLength);
    const cipher = createCipheriv('aes-256-gcm', await this.#wrappingKey(), nonce);
    const sealed = Buffer.concat([nonce, cipher.update(key), cipher.final(), cipher.getAuthTag()]);
    return { key: key.toString('base64url'), sealedKey: sealed.toString('base64url') };
  }

  /** Throws `vault_unreadable` for a key that another home sealed, and what the vault throws. */
  async open(sealedKey: string): Promise<{ key: string }> {
    const sealed = Buffer.from(sealedKey, 'base64url');
    const wrapping = await this.#wrappingKey();
    try {
      const decipher = createDecipheriv('aes-256-gcm', wrapping, sealed.subarray(0, nonceLength), {
        authTagLength: tagLength,
      });
      decipher.setAuthTag(sealed.subarray(-tagLength));
      const key = Buffer.concat([
        decipher.update(sealed.subarray(nonceLength, -tagLength)),
        decipher.final(),
      ]);
      return { key: key.toString('base64url') };
    } catch {
      throw anotherHome();
    }
  }

  async #wrappingKey(): Promise<KeyObject> {
    const { root, homeId } = this.#parts;
    return derivedKey(await root(), `backups\n${homeId}`);
  }
}

function anotherHome(): KeyturnError {
  return new KeyturnError('vault_unreadable', 'This home’s vault does not open that backup.', {
    rule: 'A backup opens with the root key under which it was sealed',
    hint: 'It belongs to another home, or to a vault that is gone. Change the entries back by hand.',
  });
}
