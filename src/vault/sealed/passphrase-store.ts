/**
 * A folder of items whose root key is in the folder too, under a passphrase.
 *
 * Invariants: while it is locked it holds no key. The root key is made once, with
 * the first passphrase; a new passphrase wraps the same root key again and replaces one file.
 */
import { createSecretKey, randomBytes, type KeyObject } from 'node:crypto';
import { mutex } from '../../base/mutex.ts';
import { rootItem, type ItemStore } from '../base/item-store.ts';
import { lockedVault } from '../base/trouble.ts';
import { ItemFolder, unreadable } from './item-folder.ts';
import { defaultCost, unwrapRoot, wrapRoot, type ScryptCost } from './root-file.ts';

export interface PassphraseOptions {
  /** Absolute path. */
  readonly folder: string;
  /** The root key opens in this home only. */
  readonly homeId: string;
  /** True once this home had a root key. Throws if that can't be known. */
  readonly hadRoot: () => Promise<boolean>;
  /** For a new passphrase. */
  readonly cost?: ScryptCost;
}

export class PassphraseStore extends ItemFolder implements ItemStore {
  readonly #options: PassphraseOptions;
  readonly #exclusive = mutex();
  #root: KeyObject | undefined;

  constructor(options: PassphraseOptions) {
    super(options.folder);
    this.#options = options;
  }

  override async get(name: string): Promise<string | undefined> {
    return name === rootItem ? this.#shownRoot() : super.get(name);
  }

  /** `unlock` has made it. */
  async createRoot(): Promise<string> {
    return this.#shownRoot();
  }

  async prove(): Promise<void> {
    this.#openRoot();
  }

  /** True if nobody has chosen a passphrase: the next `unlock` sets it. Throws `vault_unreadable`. */
  async isNew(): Promise<boolean> {
    if ((await super.get(rootItem)) !== undefined) return false;
    if ((await this.#options.hadRoot()) || (await this.hasItems()))
      throw unreadable(this.#file, 'it is gone, and with it the key of all other files there', rootItem);
    return true;
  }

  /** Throws `locked` for a wrong passphrase, `invalid_request` for a missing one; it stays as it was then. */
  async unlock(passphrase: string | undefined): Promise<void> {
    await this.#exclusive(async () => {
      if (await this.isNew()) await this.#write(createSecretKey(randomBytes(32)), passphrase);
      this.#root = await this.#read(passphrase);
    });
  }

  /** Throws as `unlock`, and `locked` while it is locked. */
  async changePassphrase(current: string, next: string): Promise<void> {
    await this.#exclusive(async () => {
      this.#openRoot();
      await this.#write(await this.#read(current), next);
    });
  }

  lock(): void {
    this.#root = undefined;
  }

  override async destroy(): Promise<void> {
    this.lock();
    await this.delete(rootItem);
    await super.destroy();
  }

  async close(): Promise<void> {
    this.lock();
  }

  get #file(): string {
    return this.fileOf(rootItem);
  }

  #openRoot(): KeyObject {
    if (this.#root) return this.#root;
    throw lockedVault();
  }

  #shownRoot(): string {
    return this.#openRoot().export().toString('base64url');
  }

  async #read(passphrase: string | undefined): Promise<KeyObject> {
    const content = await super.get(rootItem);
    if (content === undefined) throw unreadable(this.#file, 'it is no longer there', rootItem);
    return unwrapRoot(content, this.#options.homeId, passphrase, this.#file);
  }

  async #write(root: KeyObject, passphrase: string | undefined): Promise<void> {
    const { homeId, cost = defaultCost } = this.#options;
    await this.write(rootItem, await wrapRoot(root, homeId, passphrase, cost));
  }
}
