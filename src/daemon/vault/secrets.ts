/**
 * The vault behind its guard, and what needs it: the root key and the audit log.
 *
 * Invariant: touches no keychain. Everybody but the vault's lock uses the vault behind its guard only.
 */
import type { SpawnChild } from '../../base/system/child.ts';
import type { KeyObject } from 'node:crypto';
import path from 'node:path';
import { AuditFile } from '../../audit/audit.ts';
import { VaultGuard } from '../../vault/guard.ts';
import { forkWorker } from '../../vault/keychain/keychain-process.ts';
import { openVault, type LockableVault } from '../../vault/open.ts';
import { SessionBus } from '../../vault/keychain/session-bus.ts';
import { VaultWatch } from '../../vault/base/watch.ts';
import { lookAtKeychain } from '../system/keychain-look.ts';
import { documentExists, type Home } from '../home/home.ts';
import { wrappedBy, type Settings } from '../settings/settings.ts';

export interface SecretsOptions {
  readonly home: Home;
  readonly settings: Settings;
  readonly env: NodeJS.ProcessEnv;
  readonly spawnWorker: SpawnChild | undefined;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

export interface Secrets {
  /** What everybody uses. */
  readonly guard: VaultGuard;
  readonly lockable: LockableVault;
  readonly watch: VaultWatch;
  readonly bus: SessionBus;
  /** The home's root key, from which its other keys derive. Throws what the vault throws. */
  readonly root: () => Promise<KeyObject>;
  readonly trail: AuditFile;
}

/** A vault that a passphrase opens begins locked. */
export async function openSecrets(options: SecretsOptions): Promise<Secrets> {
  const { home, settings, env, spawnWorker = forkWorker, now } = options;
  const watch = new VaultWatch(now);
  const bus = new SessionBus(env);
  const lockable = openVault(settings.vault, {
    service: serviceOf(home),
    homeId: home.homeId,
    hadRoot: () => documentExists(home.paths),
    spawnWorker: () => spawnWorker(bus.environment()),
    watch,
    hasDefault: async () => (await lookAtKeychain(bus.environment())) !== 'noDefault',
    sealed: { folder: path.join(home.paths.state, 'items'), key: wrappedBy(settings.vaultKey) },
  });
  const trail = new AuditFile(home.paths.state, now);
  const guard = new VaultGuard(lockable.vault, watch);
  if (lockable.hasPassphrase) await guard.shut({ isNew: await isNew(lockable, watch) });
  const root = async (): Promise<KeyObject> => {
    const key = await guard.root();
    trail.useRoot(key);
    return key;
  };
  return { guard, lockable, watch, bus, root, trail };
}

/** What the home's items in the keychain are filed under. */
export function serviceOf({ homeId }: Pick<Home, 'homeId'>): string {
  return `keyturn/${homeId}`;
}

/** A file that can't be looked at is no new one: the broker starts all the same, and its state says what is wrong. */
async function isNew(lockable: LockableVault, watch: VaultWatch): Promise<boolean> {
  try {
    return await lockable.isNew();
  } catch (error) {
    watch.failed(error);
    return false;
  }
}
