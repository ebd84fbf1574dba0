/** The root key of a home: made once, read when first needed, and never made again over one that can't be seen. */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { homePaths, ownerKeyFile, type HomePaths } from '../../../src/base/paths.ts';
import { openHome, prepareFolders } from '../../../src/daemon/home/home.ts';
import { defaultSettings } from '../../../src/daemon/settings/settings.ts';
import { openSecrets, type Secrets } from '../../../src/daemon/vault/secrets.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { scriptedKeychain, type ScriptedKeychain } from '../../vault/keychain/scripted-worker.ts';

let paths: HomePaths;

beforeEach(() => {
  paths = homePaths({ KEYTURN_HOME: temporaryFolder() });
  prepareFolders(paths);
});

/** As a start does. */
async function started(keychain: ScriptedKeychain): Promise<Secrets> {
  const secrets = await openSecrets({
    home: await openHome(paths),
    settings: defaultSettings,
    env: {},
    spawnWorker: keychain.spawn,
    now: () => 0,
  });
  onTestFinished(() => secrets.guard.close());
  return secrets;
}

const sets = ({ asked }: ScriptedKeychain): string[] =>
  asked.flatMap(({ op, ...item }) =>
    op === 'set' || op === 'create' ? [`${op} ${'account' in item ? item.account : ''}`] : [],
  );

describe('the root key', () => {
  it('is the same for every later broker of the home, and is in no file', async () => {
    const keychain = scriptedKeychain();
    const secrets = await started(keychain);
    const [made] = await Promise.all([secrets.root(), secrets.root()]);
    expect((await (await started(keychain)).root()).equals(made)).toBe(true);
    expect(sets(keychain).filter((set) => set.endsWith(' root'))).toEqual(['create root']);
    expect(readFileSync(ownerKeyFile(paths), 'utf8')).not.toContain(made.export().toString('base64url'));
  });

  it('is not made again if the keychain does not show it and there is a document', async () => {
    await (await started(scriptedKeychain())).root();
    const emptied = scriptedKeychain();
    writeFileSync(path.join(paths.state, 'document.json'), '{"mac":"x"}', { mode: 0o600 });
    await expect((await started(emptied)).root()).rejects.toMatchObject({
      reason: 'locked',
      hint: expect.stringContaining('keyturn reset'),
    });
    expect(sets(emptied)).toEqual([]);
  });
});
