/** A home, its keychain, or both put back from a backup: with the files of a real keyring. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { askBroker } from '../../support/homes/ask-broker.ts';
import { homeOnOwnKeyring } from '../../support/homes/own-keyring-home.ts';
import { deny, startBroker, stopBroker } from '../../support/homes/owner-acts.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { rawItems } from '../../vault/keychain/keyring.ts';

const servers = ['https://one.example/mcp', 'https://two.example/mcp'];

it('is accepted only if the keychain knows its document as the newest one', async () => {
  const { keyring, home } = await homeOnOwnKeyring();
  const places = { home: home.folder, keyring: path.join(keyring.env['XDG_DATA_HOME'] ?? '', 'keyrings') };
  const backup = temporaryFolder();
  const copy = (from: string, to: string): void => {
    rmSync(to, { recursive: true, force: true });
    execFileSync('cp', ['-a', from, to]);
  };
  const keep = (time: string): void => {
    for (const [what, place] of Object.entries(places)) copy(place, path.join(backup, `${what}-${time}`));
  };
  await stopBroker(home);
  keep('early');
  await startBroker(home);
  for (const server of servers) await deny(home, 'cli', server);
  await stopBroker(home);
  keep('late');
  mkdirSync(path.join(backup, 'keyring-new'), { mode: 0o700 });

  const seen: Record<string, unknown> = {};
  for (const [homeOf, keyringOf] of [
    ['early', 'early'],
    ['late', 'late'],
    ['late', 'early'],
    ['early', 'late'],
    ['late', 'new'],
  ] as const) {
    copy(path.join(backup, `home-${homeOf}`), places.home);
    copy(path.join(backup, `keyring-${keyringOf}`), places.keyring);
    await keyring.restartUnlocked();
    await startBroker(home);
    seen[`home ${homeOf}, keychain ${keyringOf}`] = await askBroker(home, 'proxy.list', {}).then(
      () => 'accepted',
      ({ reason, message }) => `${reason}: ${message.includes('not the newest one')}`,
    );
    await stopBroker(home);
  }
  expect(seen).toEqual({
    'home early, keychain early': 'accepted',
    'home late, keychain late': 'accepted',
    'home late, keychain early': 'file_unreadable: true',
    'home early, keychain late': 'file_unreadable: true',
    'home late, keychain new': 'locked: false',
  });
  const items = rawItems(`keyturn/${home.homeId}`, keyring.env);
  onTestFinished(() => items.close());
  for (const name of ['root', 'newest', '_probe']) expect(await items.get(name), name).toBeUndefined();
});
