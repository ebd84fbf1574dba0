/** The owner's methods about the vault's lock. */
import type { Handlers } from './services.ts';

export const vaultMethods: Pick<Handlers, 'vault.lock' | 'vault.unlock' | 'vault.passphrase'> = {
  'vault.lock': async ({ vaultLock }) => {
    await vaultLock.lock('locked');
    return {};
  },

  'vault.unlock': async ({ vaultLock }, caller, params) => {
    await vaultLock.unlock(params, caller.signal);
    return {};
  },

  'vault.passphrase': async ({ vaultLock }, _caller, { current, next }) => {
    await vaultLock.changePassphrase(current, next);
    return {};
  },
};
