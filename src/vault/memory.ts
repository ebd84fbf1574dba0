/**
 * The vault in memory, which is empty again after a restart: for a first try, for machines without a keychain, and
 * for tests.
 *
 * Invariant: no secret leaves this process's memory. It refuses the same ids and secrets as every other vault.
 */
import { quoted } from '../base/errors.ts';
import { VaultError } from './base/trouble.ts';
import type { Vault } from './base/vault.ts';
import { checkId, checkSecret, closedVault } from './base/vault.ts';

class MemoryVault implements Vault {
  readonly kind = 'memory';
  readonly #secrets = new Map<string, string>();
  #closed = false;

  async find(id: string): Promise<string | undefined> {
    checkId(id);
    this.#checkOpen();
    return this.#secrets.get(id);
  }

  async read(id: string): Promise<string> {
    const secret = await this.find(id);
    if (secret !== undefined) return secret;
    throw new VaultError('damaged', `the memory vault no longer holds ${quoted(id)}`, {
      item: id,
      hint: 'This vault forgets everything when the broker exits: sign in again, or use the keychain.',
    });
  }

  async write(id: string, secret: string): Promise<void> {
    checkId(id);
    checkSecret(secret);
    this.#checkOpen();
    this.#secrets.set(id, secret);
  }

  async remove(id: string): Promise<void> {
    checkId(id);
    this.#checkOpen();
    this.#secrets.delete(id);
  }

  async probe(): Promise<void> {
    this.#checkOpen();
  }

  async destroy(ids: readonly string[]): Promise<void> {
    ids.forEach(checkId);
    this.#closed = true;
    this.#secrets.clear();
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#secrets.clear();
  }

  #checkOpen(): void {
    if (this.#closed) throw closedVault();
  }
}

/** A new, empty vault in memory. */
export function memoryVault(): Vault {
  return new MemoryVault();
}
