/** Unlock at a real terminal: what it asks, and what it doesn't show. */
import { expect, it } from 'vitest';
import { newHome } from '../../support/home.ts';
import { askBroker } from '../../support/homes/ask-broker.ts';
import { unlock, vaultStateOf } from '../../support/homes/owner-acts.ts';
import { keyturnInTerminal } from '../../support/processes/terminal.ts';

const passphrase = 'correct horse battery';

it('unlock asks on the terminal without an echo, twice if the vault is new', async () => {
  const home = newHome({ env: { KEYTURN_VAULT: 'sealed-file' } });
  const atTerminal = async (question: RegExp, typed: string) => {
    const terminal = keyturnInTerminal(home, 'unlock');
    await terminal.shows(question);
    terminal.type(typed);
    return terminal;
  };
  const first = await atTerminal(/choose a passphrase for the vault: /, `${passphrase}y\u007f\r`);
  await first.shows(/once more: /);
  first.type(`${passphrase}\r`);
  expect(await first.ended).toEqual([0, null]);
  expect(first.shown()).not.toContain('hors');
  expect(await vaultStateOf(home)).toBe('open');
  for (const [typed, code, state] of [
    [`${passphrase}\r`, 0, 'open'],
    ['\u0003', 130, 'locked'],
  ] as const) {
    await askBroker(home, 'vault.lock', {});
    expect(await (await atTerminal(/passphrase of the vault: /, typed)).ended).toEqual([code, null]);
    expect(await vaultStateOf(home)).toBe(state);
  }
  await unlock(home, passphrase);
});
