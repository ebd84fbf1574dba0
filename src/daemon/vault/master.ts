/**
 * The home's master secret M: 32 random bytes, one vault item, from which every local client's key derives.
 *
 * Invariant: read at the first connection that needs it, never at start-up; made only where home.json says that
 * there was none yet, and no file of the home shows that there was one.
 */
import { createSecretKey, randomBytes } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { quoted } from '../../base/errors.ts';
import { documentName } from '../../store/authority.ts';
import { VaultError } from '../../vault/base/trouble.ts';
import type { Vault } from '../../vault/base/vault.ts';
import { documentExists } from '../home/home.ts';
import type { Home } from '../home/home.ts';

/** The vault's item. */
export const masterItem = 'master';

export class Master {
  readonly #vault: Vault;
  readonly #home: Home;
  #key: Promise<KeyObject> | undefined;

  constructor(vault: Vault, home: Home) {
    this.#vault = vault;
    this.#home = home;
  }

  /** Throws what the vault throws; a failure is not remembered. */
  async key(): Promise<KeyObject> {
    this.#key ??= this.#load();
    try {
      return await this.#key;
    } catch (error) {
      this.#key = undefined;
      throw error;
    }
  }

  /** Lets go of it: the vault is locked. The next `key` reads it again. */
  forget(): void {
    this.#key = undefined;
  }

  async #load(): Promise<KeyObject> {
    // A memory vault starts empty each time; the clients' keys of the last run are void then, as they should be.
    if (this.#home.hasMaster && this.#vault.kind !== 'memory') {
      return keyFrom(await this.#vault.read(masterItem));
    }
    const secret = (await this.#vault.find(masterItem)) ?? (await this.#make());
    // What a memory vault holds is no reason to miss it later, in another vault.
    if (this.#vault.kind !== 'memory') await this.#home.masterWritten();
    return keyFrom(secret);
  }

  async #make(): Promise<string> {
    // Another program could write into home.json that no secret was ever made.
    const hasDocument = this.#vault.kind !== 'memory' && (await documentExists(this.#home.paths));
    if (hasDocument) throw lost(documentName);
    const secret = randomBytes(32).toString('base64url');
    await this.#vault.write(masterItem, secret);
    return secret;
  }
}

function lost(proven: string): VaultError {
  return new VaultError(
    'damaged',
    `the vault doesn't hold this home's master secret, under which ${quoted(proven)} was written`,
    {
      item: masterItem,
      rule: 'vault: an item that our records name counts as unreadable, never as absent',
      hint: 'Check that the right keyring is open, or restore the vault. If it is lost, `keyturn reset --yes` begins a new home.',
    },
  );
}

/** 32 bytes, base64url. Anything else would be another key, and every program's proof would fail without saying why. */
function keyFrom(secret: string): KeyObject {
  if (/^[A-Za-z0-9_-]{43}$/.test(secret)) return createSecretKey(secret, 'base64url');
  throw new VaultError('damaged', 'the vault\'s item "master" has an unknown shape', {
    item: masterItem,
    hint: 'A newer Keyturn may have written it. It was left as it is: restore the vault from a backup.',
  });
}
