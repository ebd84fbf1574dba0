/** The owner's methods about the vault's lock. */
import type { Handlers } from './host.ts';

export const vaultMethods: Pick<Handlers, 'vault.lock' | 'vault.unlock' | 'vault.passphrase'> = {
  'vault.lock': async ({ desk }) => {
    await desk.lock('locked');
    return {};
  },

  'vault.unlock': async ({ desk }, caller, params) => {
    await desk.unlock(params, caller.signal);
    return {};
  },

  'vault.passphrase': async ({ desk }, _caller, { current, next }) => {
    await desk.changePassphrase(current, next);
    return {};
  },
};
