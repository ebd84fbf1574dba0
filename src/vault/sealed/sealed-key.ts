/**
 * The key of a sealed file. It is random, and encrypted (wrapped) by another key, which comes from a passphrase or is
 * stored in the keychain.
 *
 * Invariants: no message contains a passphrase or a key. Only GCM's tag, compared in constant time, shows that a
 * passphrase is wrong. The caller makes the person wait longer after each wrong one.
 */
import {
  createCipheriv,
  createDecipheriv,
  createSecretKey,
  randomBytes,
  scrypt as scryptCallback,
} from 'node:crypto';
import type { KeyObject, ScryptOptions } from 'node:crypto';
import { promisify } from 'node:util';
import { KeyturnError } from '../../base/errors.ts';
import type { ScryptCost, SealedHeader, WrappedKey } from './sealed-header.ts';
import { unreadable } from './sealed-header.ts';
import { VaultError } from '../base/trouble.ts';
import type { Vault } from '../base/vault.ts';

const scrypt = promisify<string, Buffer, number, ScryptOptions, Buffer>(scryptCallback);

/** Where the key comes from that wraps the file's key. */
export type KeySource =
  | {
      readonly kind: 'passphrase';
      /** For a new file or a new passphrase. The default takes a desktop machine about a third of a second. */
      readonly cost?: ScryptCost;
    }
  /** One item of `vault`. The sealed file owns `vault` from now on, and closes it. */
  | { readonly kind: 'keychain'; readonly vault: Vault };

/** One guess takes 128 MiB and a third of a second. OWASP's list of scrypt parameters begins with this choice. */
export const defaultCost: ScryptCost = { N: 2 ** 17, r: 8, p: 1 };

/** Bytes: AES-256. */
const keyLength = 32;
/**
 * Bytes: the length that GCM uses without hashing (NIST SP 800-38D §5.2.1.1). So few keys are wrapped that random
 * nonces don't repeat.
 */
const nonceLength = 12;
const tagLength = 16;

/** Characters. Nobody types more. The limit refuses a whole file that was passed as a passphrase by mistake. */
const maxPassphraseLength = 1024;

/** The id of the keychain's item. */
export const keychainItem = 'sealed-file-key';

/** The key of one log, and the log's random id, to which the wrapped key and every record are bound. */
export interface LogKey {
  /** 16 bytes. */
  readonly id: Buffer;
  readonly key: KeyObject;
}

/** A new log key, wrapped. `id`: of a log that exists already. Throws `invalid_request`, and the keychain's errors. */
export async function newLogKey(
  source: KeySource,
  passphrase: string | undefined,
  id: Buffer = randomBytes(16),
): Promise<{ log: LogKey; header: SealedHeader }> {
  const log: LogKey = { id, key: createSecretKey(randomBytes(keyLength)) };
  const logId = id.toString('base64url');
  if (source.kind === 'keychain') {
    const wrapping = await keychainKey(source.vault, true);
    return { log, header: { logId, key: { kind: 'keychain', wrapped: wrap(wrapping, log, 'keychain') } } };
  }
  const cost = source.cost ?? defaultCost;
  const salt = randomBytes(32);
  const wrapping = await passphraseKey(passphrase, cost, salt);
  const wrapped = wrap(wrapping, log, 'passphrase');
  return {
    log,
    header: { logId, key: { kind: 'passphrase', cost, salt: salt.toString('base64url'), wrapped } },
  };
}

/**
 * The log key in `header`, unwrapped. Throws `locked` for a wrong passphrase, `vault_unreadable` if the file was made
 * with another source or keychain item, and the keychain's errors. `name` is the file's, for the message.
 */
export async function openLogKey(
  header: SealedHeader,
  source: KeySource,
  passphrase: string | undefined,
  name: string,
): Promise<LogKey> {
  const { key } = header;
  if (key.kind !== source.kind) throw otherSource(name, key.kind);
  const id = Buffer.from(header.logId, 'base64url');
  const wrapping =
    key.kind === 'passphrase'
      ? await passphraseKey(passphrase, key.cost, Buffer.from(key.salt, 'base64url'))
      : await keychainKey(source.kind === 'keychain' ? source.vault : undefined, false);
  const opened = unwrap(wrapping, key.wrapped, id, key.kind);
  if (opened) return { id, key: opened };
  if (key.kind === 'passphrase') throw wrongPassphrase();
  throw unreadable(
    name,
    "the keychain's key is not the one it was sealed with",
    'restore file and keyring of the same time; it was left as it is',
  );
}

async function passphraseKey(
  passphrase: string | undefined,
  cost: ScryptCost,
  salt: Buffer,
): Promise<KeyObject> {
  if (!passphrase || passphrase.length > maxPassphraseLength)
    throw new KeyturnError('invalid_request', 'the vault opens with a passphrase', {
      rule: `vault: a passphrase has 1 to ${maxPassphraseLength} characters`,
      hint: 'Unlock it with: keyturn unlock',
    });
  return keyFromPassphrase(passphrase, cost, salt);
}

/** A key of 32 bytes, by scrypt. `cost` has passed `scryptCostSchema`. */
export async function keyFromPassphrase(
  passphrase: string,
  cost: ScryptCost,
  salt: Buffer,
): Promise<KeyObject> {
  // Some letters have two forms in Unicode (RFC 8265 §4.2.2). With another keyboard the owner may type the other form.
  const text = passphrase.normalize('NFC');
  // Node's default limit is 32 MiB. The header's schema has already limited N and r; 1 MiB more covers scrypt's
  // overhead.
  const maxmem = 128 * cost.N * cost.r + 1024 * 1024;
  return secretKey(await scrypt(text, salt, keyLength, { ...cost, maxmem }));
}

async function keychainKey(vault: Vault | undefined, mayMake: boolean): Promise<KeyObject> {
  if (!vault) throw new KeyturnError('internal', 'a key in the keychain needs a keychain');
  const found = mayMake ? await vault.find(keychainItem) : await vault.read(keychainItem);
  const text = found ?? randomBytes(keyLength).toString('base64url');
  if (found === undefined) await vault.write(keychainItem, text);
  const key = Buffer.from(text, 'base64url');
  if (key.length === keyLength) return secretKey(key);
  throw new VaultError('damaged', "the keychain's key for the sealed file is damaged", {
    item: keychainItem,
    hint: 'Restore the keyring from a backup. The sealed file was left as it is.',
  });
}

function wrap(wrapping: KeyObject, log: LogKey, kind: KeySource['kind']): WrappedKey {
  const nonce = randomBytes(nonceLength);
  const cipher = createCipheriv('aes-256-gcm', wrapping, nonce).setAAD(wrapContext(log.id, kind));
  const sealed = Buffer.concat([cipher.update(log.key.export()), cipher.final(), cipher.getAuthTag()]);
  return { nonce: nonce.toString('base64url'), sealed: sealed.toString('base64url') };
}

function unwrap(
  wrapping: KeyObject,
  wrapped: WrappedKey,
  id: Buffer,
  kind: KeySource['kind'],
): KeyObject | undefined {
  const sealed = Buffer.from(wrapped.sealed, 'base64url');
  const decipher = createDecipheriv('aes-256-gcm', wrapping, Buffer.from(wrapped.nonce, 'base64url'), {
    authTagLength: tagLength,
  });
  decipher.setAAD(wrapContext(id, kind)).setAuthTag(sealed.subarray(keyLength));
  const key = decipher.update(sealed.subarray(0, keyLength));
  try {
    decipher.final();
  } catch {
    key.fill(0);
    return undefined;
  }
  return secretKey(key);
}

function wrapContext(id: Buffer, kind: string): Buffer {
  return Buffer.concat([Buffer.from(`keyturn/1 sealed-file key\n${kind}\n`), id]);
}

/** Moves the bytes into a KeyObject and clears this copy. */
function secretKey(bytes: Buffer): KeyObject {
  const key = createSecretKey(bytes);
  bytes.fill(0);
  return key;
}

function wrongPassphrase(): VaultError {
  return new VaultError('locked', 'this passphrase does not open the vault', {
    hint: 'Unlock it with the passphrase that the vault was made with: keyturn unlock',
  });
}

function otherSource(name: string, kind: KeySource['kind']): KeyturnError {
  const where = kind === 'keychain' ? 'lies in the keychain' : 'comes from a passphrase';
  return unreadable(name, `its key ${where}, and the settings say otherwise`, 'correct the settings');
}
