/** A home or its keyring put back from a backup: what is accepted, what is refused, and that a refusal stores nothing. */
import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, beforeEach, expect, it, onTestFinished } from 'vitest';
import { forkWorker } from '../../../src/vault/keychain/keychain-process.ts';
import { startOn } from '../../support/homes/authority-home.ts';
import type { AuthorityBroker } from '../../support/homes/authority-home.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { ownKeyring, rawItems, requireTestKeyring } from '../../vault/keychain/keyring.ts';
import type { KeyringSession } from '../../vault/keychain/keyring.ts';
import { closedLater, keychainVault, passphraseVault, said } from '../../vault/vaults.ts';

beforeAll(requireTestKeyring);

const service = 'keyturn-test/backups';
const item = `s-${'A'.repeat(22)}`;

let [home, keyrings]: [string, string] = ['', ''];
let session: KeyringSession;
beforeEach(() => void (home = temporaryFolder()));

/** A folder as it is now; the answer puts it back. */
function backup(folder: string): () => void {
  const copy = path.join(temporaryFolder(), 'copy');
  const copied = (from: string, to: string): Buffer => execFileSync('cp', ['-a', from, to]);
  copied(folder, copy);
  return () => {
    rmSync(folder, { recursive: true });
    copied(copy, folder);
  };
}

const waive = ({ overrides }: AuthorityBroker, name: string): Promise<void> =>
  overrides.set(`https://${name}.example`, 'audience', true);
const waived = ({ overrides }: AuthorityBroker): string[] => overrides.all().map(({ server }) => server);
const [early, late] = ['https://early.example', 'https://late.example'];

/** The keyring as a broker sees it that starts now. */
const vault = (hadRoot = true) =>
  closedLater(
    keychainVault(
      { service, spawnWorker: () => forkWorker(session.env) },
      { homeId: 'home', hadRoot: async () => hadRoot },
    ),
  );

/** Two backups, and three changes and a new item after them. */
async function saved() {
  session = await ownKeyring();
  onTestFinished(() => session.end());
  keyrings = path.join(session.env['XDG_DATA_HOME'] ?? '', 'keyrings');
  const first = vault(false);
  const broker = await startOn(home, first);
  await waive(broker, 'early');
  const back = { home: backup(home), keyring: backup(keyrings) };
  for (const name of ['late', 'later', 'latest']) await waive(broker, name);
  await first.set(item, 'token');
  await first.close();
  return back;
}

it('home and keyring of one time are accepted', async () => {
  const back = await saved();
  back.home();
  back.keyring();
  await session.restartUnlocked();
  const broker = await startOn(home, vault());
  expect(waived(broker)).toEqual([early]);
  await waive(broker, 'late');
  expect(waived(await startOn(home, vault()))).toEqual([early, late]);
});

it.each(['home', 'keyring'] as const)('only the %s: the document is refused', async (which) => {
  (await saved())[which]();
  await session.restartUnlocked();
  const file = path.join(home, 'state', 'authority.json');
  const before = readFileSync(file, 'utf8');
  const broker = await startOn(home, vault());
  expect(() => waived(broker)).toThrow('is not the newest one');
  await expect(waive(broker, 'evil')).rejects.toMatchObject({ reason: 'file_unreadable' });
  expect(readFileSync(file, 'utf8')).toBe(before);
  expect(await said(vault(), item)).toBe(which === 'home' ? 'token' : 'absent');
});

it('a new keyring shows nothing of the home, and gets nothing of it', async () => {
  await saved();
  const kept = async (): Promise<string[]> => {
    const items = rawItems(service, session.env);
    onTestFinished(() => items.close());
    const found = await Promise.all(names.map(async (name) => [name, await items.get(name)] as const));
    return found.flatMap(([name, value]) => (value === undefined ? [] : [name]));
  };
  const names = ['root', 'newest', '_probe', item];
  expect(await kept()).toEqual(['root', 'newest', item]);
  rmSync(keyrings, { recursive: true });
  await session.restartUnlocked();
  await expect(startOn(home, vault())).rejects.toMatchObject({ reason: 'locked' });
  expect(await kept()).toEqual([]);
});

it('an older copy of a whole home under a passphrase is accepted', async () => {
  const open = async () => {
    const store = passphraseVault(path.join(home, 'items'));
    await store.store.unlock('correct horse');
    return startOn(home, store);
  };
  const broker = await open();
  await waive(broker, 'early');
  const back = backup(home);
  await broker.overrides.set(early, 'audience', false);
  back();
  expect(waived(await open())).toEqual([early]);
});
