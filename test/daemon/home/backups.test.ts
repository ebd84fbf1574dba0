/** A whole home under a passphrase put back from a backup. With a keychain the document is refused: test/store/document.test.ts. */
import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { startOn } from '../../support/homes/authority-home.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { passphraseVault } from '../../vault/vaults.ts';

it('an older copy of a whole home under a passphrase is accepted', async () => {
  const [home, copy] = [temporaryFolder(), path.join(temporaryFolder(), 'copy')];
  const server = 'https://early.example';
  const open = async () => {
    const store = passphraseVault(path.join(home, 'items'));
    await store.store.unlock('correct horse');
    return startOn(home, store);
  };
  const broker = await open();
  await broker.exceptions.set(server, 'audience', true);
  execFileSync('cp', ['-a', home, copy]);
  await broker.exceptions.set(server, 'audience', false);
  rmSync(home, { recursive: true });
  execFileSync('cp', ['-a', copy, home]);
  expect((await open()).exceptions.all().map((one) => one.server)).toEqual([server]);
});
