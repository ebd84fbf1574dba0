/** Unlock at a real terminal: what it asks, and what it doesn't show. */
import { expect, it } from 'vitest';
import { builtBin } from '../../support/built.ts';
import { newHome } from '../../support/home.ts';
import { askBroker } from '../../support/homes/ask-broker.ts';
import { unlock, vaultStateOf } from '../../support/homes/owner-acts.ts';
import { inTerminal } from '../../support/processes/terminal.ts';

const passphrase = 'correct horse battery';

it('unlock asks on the terminal without an echo, twice if the vault is new', async () => {
  const home = newHome({ env: { KEYTURN_VAULT: 'sealed-file' } });
  const atTerminal = () => inTerminal(home, [process.execPath, builtBin, 'unlock']);
  const first = atTerminal();
  await first.shows(/choose a passphrase for the vault: /);
  first.type(`${passphrase}y\u007f\r`);
  await first.shows(/once more: /);
  first.type(`${passphrase}\r`);
  expect(await first.ended).toEqual([0, null]);
  expect(first.shown()).not.toContain('hors');
  expect(await vaultStateOf(home)).toBe('open');

  await askBroker(home, 'vault.lock', {});
  const second = atTerminal();
  await second.shows(/passphrase of the vault: /);
  second.type(`${passphrase}\r`);
  expect(await second.ended).toEqual([0, null]);
  expect(await vaultStateOf(home)).toBe('open');

  await askBroker(home, 'vault.lock', {});
  const third = atTerminal();
  await third.shows(/passphrase of the vault: /);
  third.type('\u0003');
  expect(await third.ended).toEqual([130, null]);
  expect(await vaultStateOf(home)).toBe('locked');
  await unlock(home, passphrase);
});
