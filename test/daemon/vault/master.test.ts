/** The master secret: made once, read when first needed, and never made anew over one that can't be read. */
import { readFileSync } from 'node:fs';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { type Home, homeFile, openHome, prepareFolders } from '../../../src/daemon/home/home.ts';
import { Master } from '../../../src/daemon/vault/master.ts';
import { type HomePaths, homePaths } from '../../../src/base/paths.ts';
import { keychainVault } from '../../../src/vault/keychain/keychain.ts';
import { memoryVault } from '../../../src/vault/memory.ts';
import type { Vault } from '../../../src/vault/base/vault.ts';
import { requireTestKeyring } from '../../vault/keychain/keyring.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

let folder: string;
let paths: HomePaths;

beforeEach(() => {
  folder = temporaryFolder();
  paths = homePaths({ KEYTURN_HOME: folder });
  prepareFolders(paths);
});

function keychainOf(home: Home): Vault {
  requireTestKeyring();
  const vault = keychainVault({ service: `keyturn-test/${home.homeId}` });
  onTestFinished(() => vault.close());
  return vault;
}

describe('the master secret', () => {
  it('the master secret is the same for every later broker of the home, and is in no file', async () => {
    const home = await openHome(paths);
    const vault = keychainOf(home);
    const made = await new Master(vault, home).key();
    const again = await openHome(paths);
    expect(again.hasMaster).toBe(true);
    expect((await new Master(vault, again).key()).equals(made)).toBe(true);
    expect(readFileSync(homeFile(paths), 'utf8')).not.toContain(await vault.read('master'));
    await vault.remove('master');
  });

  it('the master secret that is gone from the keychain is reported, and not replaced: a new one would void every pairing', async () => {
    const home = await openHome(paths);
    const vault = keychainOf(home);
    await new Master(vault, home).key();
    await vault.remove('master');
    const master = new Master(vault, await openHome(paths));
    await expect(master.key()).rejects.toMatchObject({ reason: 'vault_unreadable' });
    expect(await vault.find('master')).toBeUndefined();
    // The refusal isn't remembered: what was restored is read.
    await vault.write('master', Buffer.alloc(32, 1).toString('base64url'));
    expect((await master.key()).export()).toEqual(Buffer.alloc(32, 1));
    await vault.remove('master');
  });

  it('the master secret of a memory vault is new in every run', async () => {
    const home = await openHome(paths);
    const first = await new Master(memoryVault(), home).key();
    const second = await new Master(memoryVault(), await openHome(paths)).key();
    expect(second.equals(first)).toBe(false);
  });
});
