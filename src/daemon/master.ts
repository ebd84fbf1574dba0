/**
 * The home's master secret M: 32 random bytes, one vault item, from which every local client's key derives.
 *
 * Invariant: read at the first connection that needs it, never at start-up; made only where the home
 * says that it never was.
 */
import { createSecretKey, randomBytes } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import type { Vault } from '../vault/vault.ts';
import type { Home } from './home.ts';

const vaultId = 'master';

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

  async #load(): Promise<KeyObject> {
    // A memory vault starts empty each time; the clients' keys of the last run are void then, as they should be.
    if (this.#home.hasMaster && this.#vault.kind !== 'memory') {
      return createSecretKey(await this.#vault.read(vaultId), 'base64url');
    }
    const found = await this.#vault.find(vaultId);
    const secret = found ?? randomBytes(32).toString('base64url');
    if (found === undefined) await this.#vault.write(vaultId, secret);
    // What a memory vault holds is no reason to miss it later, in another vault.
    if (this.#vault.kind !== 'memory') await this.#home.masterWritten();
    return createSecretKey(secret, 'base64url');
  }
}
