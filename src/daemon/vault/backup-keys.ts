/**
 * Keys for backups of other programs' configuration, which `keyturn setup` changes. A backup can hold secrets that
 * stood there in plain text, and it can be larger than a frame: so its file is sealed under a key of its own, and that
 * key is sealed here.
 *
 * Invariant: a sealed key opens under this home's root key only. The root key itself seals no file.
 */
import { randomBytes, type KeyObject } from 'node:crypto';
import { KeyturnError } from '../../base/errors.ts';
import { derivedKey } from '../../vault/base/item-store.ts';
import { decrypted, encrypted } from '../../vault/base/sealed-item.ts';

export interface BackupKeys {
  /** A new key of 32 bytes, and the same key sealed; both base64url. Throws what the vault throws. */
  seal(): Promise<{ key: string; sealedKey: string }>;
  /** Throws `vault_unreadable` for a key that another home sealed, and what the vault throws. */
  open(sealedKey: string): Promise<{ key: string }>;
}

/** `root` throws what the vault throws. */
export function backupKeys(root: () => Promise<KeyObject>, homeId: string): BackupKeys {
  const wrappingKey = async (): Promise<KeyObject> => derivedKey(await root(), `backups\n${homeId}`);
  return {
    seal: async () => {
      const key = randomBytes(32);
      const sealed = encrypted(await wrappingKey(), key, '');
      return { key: key.toString('base64url'), sealedKey: sealed.toString('base64url') };
    },
    open: async (sealedKey) => {
      const sealed = Buffer.from(sealedKey, 'base64url');
      const key = decrypted(await wrappingKey(), sealed, '', (plain) => plain.toString('base64url'));
      if (key === undefined)
        throw new KeyturnError('vault_unreadable', 'This home’s vault does not open that backup.', {
          rule: 'A backup opens with the root key under which it was sealed',
          hint: 'It belongs to another home, or to a vault that is gone. Change the entries back by hand.',
        });
      return { key };
    },
  };
}
