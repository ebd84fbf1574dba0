/**
 * The OS keychain as a vault.
 *
 * A locked keyring answers "nothing there" to a question about an item it holds, and "nothing removed"
 * to a removal. So no such answer is believed by itself. One witness item per service is stored at first
 * use. We draw a conclusion from what the keychain shows only between two sightings of the witness:
 *
 *   witness seen              the keychain answers, and "nothing there" means absent
 *   witness not seen          store it: a new home's keychain takes it and shows it; a locked one refuses
 *                             or hangs (`locked`), or takes it and doesn't show it (`vault_unreadable`)
 *
 * What this can't see: a keyring that was exchanged for another, open one. It does answer, and it has no
 * such item; so for what our records say exists callers use `read`, which never answers "absent".
 * Invariant: operations on one id run one after another, and none concludes absence without the witness.
 */
import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { quoted } from '../../base/errors.ts';
import { forkWorker, KeychainProcess } from './keychain-process.ts';
import type { SpawnWorker } from './keychain-process.ts';
import { readSlots, removeSlots, writeSlot } from './slots.ts';
import type { Items, Slots } from './slots.ts';
import { VaultError } from '../base/trouble.ts';
import { keyedMutex } from '../../base/mutex.ts';
import { checkId, checkSecret, closedVault } from '../base/vault.ts';
import type { Vault } from '../base/vault.ts';
import type { VaultWatch } from '../base/watch.ts';

export interface KeychainVaultOptions {
  /** Names this home's items in the keychain, e.g. `keyturn/HOMEID`: two homes never share one. */
  readonly service: string;
  /** How to start the worker; by default with Node. */
  readonly spawnWorker?: SpawnWorker;
  /** Sees how its calls end, and says when it may be asked again; absent: it is always asked. */
  readonly watch?: VaultWatch;
  /** Milliseconds. */
  readonly timeouts?: { readonly call: number };
}

/**
 * Milliseconds for one keychain call. The slowest one measured takes 1.5 s, in a keyring of 10,000
 * items; what takes longer than this waits for a person, and callers shouldn't wait with it.
 */
const callTimeout = 10_000;

/** Account names that no id can have, for "_" can't start an id. */
const witnessAccount = '_witness';
const probeAccount = '_probe';

export class KeychainVault implements Vault {
  readonly kind = 'keychain';
  readonly #process: KeychainProcess;
  readonly #items: Items;
  readonly #exclusive = keyedMutex();
  #isEnding = false;

  constructor(options: KeychainVaultOptions) {
    const timeout = options.timeouts?.call ?? callTimeout;
    this.#process = new KeychainProcess(options.spawnWorker ?? forkWorker, timeout, options.watch);
    this.#items = keychainItems(this.#process, options.service);
  }

  async find(id: string): Promise<string | undefined> {
    checkId(id);
    this.#checkOpen();
    const { exists, newest } = await this.#exclusive(id, () => this.#look(id));
    if (exists && !newest)
      throw new VaultError('damaged', `the keychain's item ${quoted(id)} is damaged`, {
        item: id,
        hint: 'sign in again to replace it; nothing was deleted',
      });
    return newest?.secret;
  }

  async read(id: string): Promise<string> {
    const secret = await this.find(id);
    if (secret !== undefined) return secret;
    throw new VaultError('damaged', `the keychain doesn't show ${quoted(id)}, which should be there`, {
      item: id,
      rule: 'vault: an item that our records name counts as unreadable, never as absent',
      hint: 'check that the right keyring is unlocked; if the item was deleted, sign in again',
    });
  }

  async write(id: string, secret: string): Promise<void> {
    checkId(id);
    checkSecret(secret);
    this.#checkOpen();
    await this.#exclusive(id, async () => {
      const { newest } = await this.#look(id);
      await writeSlot(this.#items, id, secret, newest);
    });
  }

  async remove(id: string): Promise<void> {
    checkId(id);
    this.#checkOpen();
    await this.#exclusive(id, () => this.#clear(id));
  }

  async probe(): Promise<void> {
    this.#checkOpen();
    await this.#exclusive(probeAccount, async () => {
      await this.#seeWitness();
      // Fresh each time, so that what an earlier probe left can't pass for this one's.
      const value = randomBytes(16).toString('base64url');
      await this.#items.set(probeAccount, value);
      if ((await this.#items.get(probeAccount)) !== value) throw notShown();
      if (!(await this.#items.remove(probeAccount))) throw notRemoved(probeAccount);
    });
  }

  /**
   * Lets the person answer what the keychain asks: `timeout` milliseconds for each call, the one under
   * way included. Resolves when a secret could be kept; throws as `probe` does.
   */
  async unlock(timeout: number): Promise<void> {
    await this.#process.withTimeout(timeout, () => this.probe());
  }

  async destroy(ids: readonly string[]): Promise<void> {
    ids.forEach(checkId);
    this.#isEnding = true;
    try {
      for (const id of ids) await this.#exclusive(id, () => this.#clear(id));
      // Last: until here it tells an absent item from a locked keyring.
      for (const account of [probeAccount, witnessAccount]) await this.#items.remove(account);
    } finally {
      this.#process.close();
    }
  }

  async close(): Promise<void> {
    this.#process.close();
  }

  async #clear(id: string): Promise<void> {
    const { newest } = await this.#look(id);
    await removeSlots(this.#items, id, newest);
    const { exists } = await this.#look(id);
    if (exists) throw notRemoved(id);
  }

  /** Nothing may be written behind the back of `destroy`. */
  #checkOpen(): void {
    if (this.#isEnding) throw closedVault();
  }

  /** What the keychain shows under `id`, while it is known to show what it holds. */
  async #look(id: string): Promise<Slots> {
    await this.#seeWitness();
    const slots = await readSlots(this.#items, id);
    await this.#seeWitness();
    return slots;
  }

  async #seeWitness(): Promise<void> {
    if ((await this.#items.get(witnessAccount)) !== undefined) return;
    await this.#items.set(witnessAccount, 'Keyturn reads this to tell an absent item from a locked keyring');
    if ((await this.#items.get(witnessAccount)) === undefined) throw notShown();
  }
}

function keychainItems(process: KeychainProcess, service: string): Items {
  return {
    async get(account) {
      const value = await process.ask({ op: 'get', service, account });
      return asAnswered(z.string().nullable(), value) ?? undefined;
    },
    async set(account, value) {
      const answer = process.ask({ op: 'set', service, account, value });
      asAnswered(z.null(), await answer.catch((error: unknown) => storeRefused(process, service, error)));
    },
    async remove(account) {
      return asAnswered(z.boolean(), await process.ask({ op: 'remove', service, account }));
    },
  };
}

/** The value in the form that this request is answered with. The schema's own error would repeat it. */
function asAnswered<T>(schema: z.ZodType<T>, value: unknown): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new VaultError('crashed', 'the keychain helper process answered in a wrong form');
}

/** A keychain that reads, and doesn't store, isn't absent: it is full, or read-only. Told by asking, not by its words. */
async function storeRefused(process: KeychainProcess, service: string, error: unknown): Promise<never> {
  if (!(error instanceof VaultError) || error.trouble !== 'absent') throw error;
  const reads = await process.ask({ op: 'get', service, account: witnessAccount }).then(
    () => true,
    () => false,
  );
  if (!reads) throw error;
  throw new VaultError('full', `the keychain can be read, but refuses to store: ${error.message}`, {
    hint: 'check that the disk is not full and the keyring can be written; what it holds is unchanged',
  });
}

function notShown(): VaultError {
  return new VaultError('damaged', "the keychain took an item and doesn't show it again", {
    hint: 'check that your keyring is unlocked',
  });
}

function notRemoved(id: string): VaultError {
  return new VaultError('damaged', `the keychain still holds ${quoted(id)} after its removal`, {
    ...(id === probeAccount ? {} : { item: id }),
    hint: 'check that your keyring is unlocked, and try again',
  });
}

/** The OS keychain under `service`. Starts nothing and touches no keychain until the first call. */
export function keychainVault(options: KeychainVaultOptions): KeychainVault {
  return new KeychainVault(options);
}
