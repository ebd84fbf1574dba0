/**
 * The OS keychain as a vault.
 *
 * A locked keyring reports an item that it holds as absent, and a removal as "nothing to remove". So these answers
 * prove nothing by themselves. At first use this vault stores one witness item for each service. It trusts what the
 * keychain shows only if it could read the witness before and after:
 *
 *   witness found             the keychain is open, and an item that it doesn't show is absent
 *   witness not found         store it: the keychain of a new home stores it and shows it; a locked one refuses or
 *                             hangs (`locked`), or accepts it and doesn't show it (`vault_unreadable`)
 *
 * This doesn't detect a keyring that was replaced by another open one, which lacks the item. So if our own records
 * name an item, callers use `read`, which never answers "absent".
 * Invariants: operations on one id run one after another. None reports absence without the witness.
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
  /** The keychain's service name of this home's items, e.g. `keyturn/HOMEID`. Two homes never share one. */
  readonly service: string;
  /** How to start the worker; by default with Node. */
  readonly spawnWorker?: SpawnWorker;
  /** Gets the result of each keychain call, and decides when the keychain may be asked again; without it, always. */
  readonly watch?: VaultWatch;
  /** Whether the keychain has a collection to store in. Asked once it has refused to store; without it, nobody knows. */
  readonly hasDefault?: (() => Promise<boolean>) | undefined;
  /** Milliseconds. */
  readonly timeouts?: { readonly call: number };
}

/**
 * Milliseconds for one keychain call. The slowest one measured took 1.5 s, with 10,000 items. A longer call probably
 * waits for a person, and its callers shouldn't wait too.
 */
const callTimeout = 10_000;

/** Account names that differ from every id, since an id can't start with "_". */
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
    this.#items = keychainItems(this.#process, options);
  }

  async find(id: string): Promise<string | undefined> {
    checkId(id);
    this.#checkOpen();
    const { exists, newest } = await this.#exclusive(id, () => this.#look(id));
    if (exists && !newest)
      throw new VaultError('damaged', `the keychain's item ${quoted(id)} is damaged`, {
        item: id,
        hint: 'Sign in again to replace it. Nothing was deleted.',
      });
    return newest?.secret;
  }

  async read(id: string): Promise<string> {
    const secret = await this.find(id);
    if (secret !== undefined) return secret;
    throw new VaultError('damaged', `the keychain doesn't show ${quoted(id)}, which should be there`, {
      item: id,
      rule: 'vault: an item that our records name counts as unreadable, never as absent',
      hint: 'Check that the right keyring is unlocked. If the item was deleted, sign in again.',
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
      // Random, so that an item that an earlier probe left doesn't count as this one's.
      const value = randomBytes(16).toString('base64url');
      await this.#items.set(probeAccount, value);
      if ((await this.#items.get(probeAccount)) !== value) throw notShown();
      if (!(await this.#items.remove(probeAccount))) throw notRemoved(probeAccount);
    });
  }

  /**
   * Gives the person time to answer the keychain's prompt: `timeout` milliseconds for each call, including the running
   * one. Resolves if the keychain can store a secret; throws as `probe` does.
   */
  async unlock(timeout: number): Promise<void> {
    await this.#process.withTimeout(timeout, () => this.probe());
  }

  /** Throws unless there is a keychain that answers. Asks for an item that isn't there, so no prompt opens. */
  async look(): Promise<void> {
    await this.#items.get(probeAccount);
  }

  async destroy(ids: readonly string[]): Promise<void> {
    ids.forEach(checkId);
    this.#isEnding = true;
    try {
      for (const id of ids) await this.#exclusive(id, () => this.#clear(id));
      // The witness goes last: `#clear` needs it to tell an absent item from a locked keyring.
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

  /** A write during `destroy` would leave an item behind. */
  #checkOpen(): void {
    if (this.#isEnding) throw closedVault();
  }

  /** The slots of `id`, read between two sightings of the witness. */
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

type Place = Pick<KeychainVaultOptions, 'service' | 'hasDefault'>;

function keychainItems(process: KeychainProcess, place: Place): Items {
  const { service } = place;
  return {
    async get(account) {
      const value = await process.ask({ op: 'get', service, account });
      return asAnswered(z.string().nullable(), value) ?? undefined;
    },
    async set(account, value) {
      const answer = process.ask({ op: 'set', service, account, value });
      asAnswered(z.null(), await answer.catch((error: unknown) => storeRefused(process, place, error)));
    },
    async remove(account) {
      return asAnswered(z.boolean(), await process.ask({ op: 'remove', service, account }));
    },
  };
}

/** The value, checked against the schema. Doesn't throw the schema's own error, which may contain the value. */
function asAnswered<T>(schema: z.ZodType<T>, value: unknown): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new VaultError('crashed', 'the keychain helper process answered in a wrong form');
}

/**
 * The error of a refused write: `full` if the keychain can still be read. A read decides that, since the text of the
 * refusal differs between keychains.
 */
async function storeRefused(
  process: KeychainProcess,
  { service, hasDefault }: Place,
  error: unknown,
): Promise<never> {
  if (!(error instanceof VaultError) || error.trouble !== 'absent') throw error;
  if (hasDefault && !(await hasDefault())) {
    throw new VaultError('absent', 'the keychain has no default collection to keep secrets in', {
      hint: 'Log out and in once with your password, or make one (seahorse: "Password keyring", then "Set as default").',
    });
  }
  const reads = await process.ask({ op: 'get', service, account: witnessAccount }).then(
    () => true,
    () => false,
  );
  if (!reads) throw error;
  throw new VaultError('full', `the keychain can be read, but refuses to store: ${error.message}`, {
    hint: 'Check that the disk is not full and the keyring can be written. What it holds is unchanged.',
  });
}

function notShown(): VaultError {
  return new VaultError('damaged', "the keychain took an item and doesn't show it again", {
    hint: 'Check that your keyring is unlocked.',
  });
}

function notRemoved(id: string): VaultError {
  return new VaultError('damaged', `the keychain still holds ${quoted(id)} after its removal`, {
    ...(id === probeAccount ? {} : { item: id }),
    hint: 'Check that your keyring is unlocked, and try again.',
  });
}

/** The OS keychain under `service`. The first call starts the worker; before it no keychain is touched. */
export function keychainVault(options: KeychainVaultOptions): KeychainVault {
  return new KeychainVault(options);
}
