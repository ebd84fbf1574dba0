/**
 * A restart of the broker, and what its vault needs then.
 *
 * Invariant: no keychain is asked for anything, since that may open a window.
 */
import { type KeychainLook, lookAtKeychain } from '../../daemon/system/keychain-look.ts';
import { ask } from './request.ts';
import { restartBroker } from './restart.ts';

/** What this session lacks, in which the broker runs now: the one before may have had another. */
const withoutKeychain: readonly KeychainLook[] = ['noBus', 'deadBus', 'noService'];

/** Restarts the broker. `lines` say so: the vault and, where that is known, what it needs before it gives anything. */
export async function restartWithNews(): Promise<{ readonly isClosed: boolean; readonly lines: string[] }> {
  await restartBroker();
  const { vault, vaultOpenedBy, vaultSource, vaultState } = await ask('status', {});
  const restarted = `keyturn: the broker was restarted, with the vault ${vault}`;
  const closed = (need: string, hint?: string) => ({
    isClosed: true,
    lines: [`${restarted}; ${need}`, ...(hint === undefined ? [] : [`  hint: ${hint}`])],
  });
  if (vaultSource && !vaultSource.isUsed)
    return closed(vaultState.what ?? 'the vault is locked', vaultState.hint);
  if (vaultOpenedBy === 'passphrase' && vaultState.state !== 'open')
    return closed(`${vaultState.state === 'new' ? 'choose its passphrase' : 'open it'}: keyturn unlock`);
  const isKeychain = vault === 'keychain' || vaultOpenedBy === 'keychain';
  if (isKeychain && withoutKeychain.includes(await lookAtKeychain(process.env)))
    return closed('this terminal has no keychain for it. Where there is one, run: keyturn unlock');
  return { isClosed: false, lines: [restarted] };
}
