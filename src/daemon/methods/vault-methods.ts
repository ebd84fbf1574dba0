/** The owner's methods about the vault's lock and keys of backups, and about the pause of all access. */
import { wholeSeconds } from '../../base/clock.ts';
import type { Pause } from '../../broker/records/pause.ts';
import type { ResultOf } from '../../ipc/protocol/methods.ts';
import type { Handlers } from './services.ts';

export const vaultMethods = {
  'vault.lock': ({ vaultLock }) => vaultLock.lock('locked'),

  'vault.unlock': async ({ vaultLock, document }, caller, params) => {
    await vaultLock.unlock(params, caller.signal);
    // So that `status` says what is wrong with the document. The vault is open all the same.
    await document.verify().catch(() => undefined);
  },

  'vault.passphrase': ({ vaultLock }, _caller, { current, next }) =>
    vaultLock.changePassphrase(current, next),

  'backup.seal': ({ backupKeys }) => backupKeys.seal(),

  'backup.open': ({ backupKeys }, _caller, { sealedKey }) => backupKeys.open(sealedKey),

  pause: async (services, _caller, { until }) => {
    const kept = services.pause.begin(until === undefined ? undefined : until * 1000);
    // It is in effect already: what apps have open ends now, even if the vault is slow or can't keep it.
    services.changed();
    return pauseAnswer(await kept);
  },

  resume: ({ pause }) => pause.end(),
} satisfies Partial<Handlers>;

export function pauseAnswer({ since, until }: Pause): ResultOf<'pause'> {
  return { since: wholeSeconds(since), ...(until === undefined ? {} : { until: wholeSeconds(until) }) };
}
