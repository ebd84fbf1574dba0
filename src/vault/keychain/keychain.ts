/**
 * The OS keychain as a store of items.
 *
 * Invariant: an item that isn't shown is `undefined`, whether it is absent or locked; `item-vault.ts` decides what that
 * means.
 */
import type { SpawnChild } from '../../base/system/child.ts';
import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { quoted } from '../../base/errors.ts';
import { rootItem, type Items, type ItemStore } from '../base/item-store.ts';
import { VaultError } from '../base/trouble.ts';
import type { VaultWatch } from '../base/watch.ts';
import { forkWorker, KeychainProcess, type WithoutId } from './keychain-process.ts';
import { inParts } from './parts.ts';

export interface KeychainOptions {
  /** The keychain's service name of this home's items, e.g. `keyturn/HOMEID`. Two homes never share one. */
  readonly service: string;
  /** How to start the worker; by default with Node. */
  readonly spawnWorker?: SpawnChild;
  /** Gets the result of each keychain call, and decides when the keychain may be asked again; without it, always. */
  readonly watch?: VaultWatch;
  /** Whether the keychain has a collection to store in. Asked when it refused to store; without it, nobody knows. */
  readonly hasDefault?: (() => Promise<boolean>) | undefined;
  /** Milliseconds. */
  readonly timeouts?: { readonly call: number };
  /** By default this machine's. */
  readonly platform?: NodeJS.Platform;
}

/**
 * Milliseconds for one keychain call. The slowest one measured took 1.5 s, with 10,000 items. A longer call probably
 * waits for a user, and its callers shouldn't wait too.
 */
const callTimeout = 10_000;

/** Differs from every name, since a name can't begin with "_". */
const probeItem = '_probe';

/** The first call starts the worker; before it no keychain is touched. */
export function keychainStore(options: KeychainOptions) {
  const { service, spawnWorker = forkWorker, watch, timeouts, platform = process.platform } = options;
  const worker = new KeychainProcess(spawnWorker, timeouts?.call ?? callTimeout, watch);
  const ask = (request: ItemRequest): Promise<string | undefined> => shownBy(worker, request, options);
  const whole: Items = {
    get: (account) => ask({ op: 'get', account }),
    set: (account, value) => ask({ op: 'set', account, value }),
    replace: (account, before, value) => ask({ op: 'replace', account, before: before ?? null, value }),
    delete: (account) => ask({ op: 'delete', account }),
  };
  const items = platform === 'win32' ? inParts(whole) : whole;
  const prove = async (): Promise<void> => {
    // Random, so that an item that an earlier one left doesn't count as this one's.
    const value = randomBytes(16).toString('base64url');
    const shown = await items.set(probeItem, value);
    const left = await items.delete(probeItem);
    if (shown === value && left === undefined) return;
    throw new VaultError('damaged', "the keychain accepted a write but doesn't return it", {
      hint: 'Check that your keyring is unlocked.',
    });
  };
  return {
    ...items,
    createRoot: (fresh) => ask({ op: 'create', account: rootItem, probe: probeItem, value: fresh }),
    prove,
    /** Gives the user `timeout` milliseconds to answer each question of the keychain, including the running one. */
    withTimeout: <T>(timeout: number, work: () => Promise<T>) => worker.withTimeout(timeout, work),
    /** Throws unless there is a keychain that answers. Asks for an item that isn't there, so no prompt opens. */
    look: async () => void (await items.get('_never')),
    destroy: async (names) => {
      await prove();
      const listed = worker.ask({ op: 'list', service });
      const others = await listed.catch(() => []);
      for (const name of new Set([rootItem, ...names, ...z.array(z.string()).parse(others)])) {
        if ((await items.delete(name)) !== undefined)
          throw new VaultError('damaged', `the keychain still holds ${quoted(name)} after its deletion`, {
            item: name,
            hint: 'Check that your keyring is unlocked, and try again.',
          });
      }
      // It may have been locked in between: then what isn't shown is still there.
      await prove();
      await listed;
    },
    close: async () => worker.close(),
  } satisfies ItemStore & Record<string, unknown>;
}

/** What the item shows at the end. */
async function shownBy(
  worker: KeychainProcess,
  request: ItemRequest,
  options: KeychainOptions,
): Promise<string | undefined> {
  const asked = worker.ask({ ...request, service: options.service });
  const isWrite = request.op !== 'get' && request.op !== 'delete';
  const shown = isWrite
    ? await asked.catch((error: unknown) => notStored(worker, error, options))
    : await asked;
  if (typeof shown === 'string') return shown;
  if (shown === null) return undefined;
  // Not the schema's own error, which may contain the value.
  throw new VaultError('crashed', 'the keychain helper process answered in a wrong form');
}

/**
 * The error of a refused write: `full` if the keychain can still be read. A read decides that, since the text of the
 * refusal differs between keychains.
 */
async function notStored(
  worker: KeychainProcess,
  error: unknown,
  { service, hasDefault }: KeychainOptions,
): Promise<never> {
  if (!(error instanceof VaultError) || error.kind !== 'absent') throw error;
  if (hasDefault && !(await hasDefault())) {
    throw new VaultError('absent', 'the keychain has no default collection to keep secrets in', {
      hint: 'Log out and in once with your password, or make one (seahorse: "Password keyring", then "Set as default"); or, in a home that holds nothing yet: keyturn settings set vault sealed-file',
    });
  }
  try {
    await worker.ask({ op: 'get', service, account: rootItem });
  } catch {
    throw error;
  }
  throw new VaultError('full', `the keychain can be read, but refuses to store: ${error.message}`, {
    hint: 'Check that the disk is not full and the keyring can be written. What it holds is unchanged.',
  });
}

/** A request about one item, without its service. The condition distributes over the union. */
type ItemRequest<T = WithoutId> = T extends { account: string } ? Omit<T, 'service'> : never;
