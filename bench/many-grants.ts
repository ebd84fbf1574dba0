/**
 * Homes with a sealed file that opens by itself, and many grants in them.
 *
 * Invariant: a grant that is put into a home has its line in the index, its item in the sealed file, and its name in
 * the vault's list, as after a sign-in.
 */
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { homePaths } from '../src/base/paths.ts';
import { rosterItem } from '../src/broker/grants/grant-roster.ts';
import { type Grant, grantSchema, grantVaultId } from '../src/broker/records/grant.ts';
import { RecordLog } from '../src/store/record-log.ts';
import { type SealedFileVault, sealedFileVault } from '../src/vault/sealed/sealed-file.ts';
import { BrokerHome } from './broker-home.ts';

const passphrase = 'correct horse battery staple';

/** The least that a sealed file may ask for: opening it costs some milliseconds, as with a key that is given. */
const cost = { N: 2 ** 14, r: 1, p: 1 };

async function openVault(env: NodeJS.ProcessEnv): Promise<SealedFileVault> {
  const { state } = homePaths(env);
  const vault = sealedFileVault({
    file: path.join(state, 'vault.sealed'),
    key: { kind: 'passphrase', cost },
  });
  await vault.unlock(passphrase);
  return vault;
}

/** Nothing runs in it yet. */
export async function sealedHome(): Promise<BrokerHome> {
  const home = new BrokerHome({ KEYTURN_VAULT: 'sealed-file' });
  const key = path.join(home.folder, 'key');
  writeFileSync(key, passphrase, { mode: 0o600 });
  home.env['KEYTURN_VAULT_KEY'] = `file:${key}`;
  const vault = await openVault(home.env);
  await vault.close();
  return home;
}

/** Adds copies of the home's first grant, of servers that aren't there. No broker may run in the home. */
export async function addGrants(env: NodeJS.ProcessEnv, count: number): Promise<void> {
  await addGrantsOf(
    env,
    Array.from({ length: count }, () => `https://${randomBytes(8).toString('hex')}.example`),
  );
}

/** The same, of these resources. */
export async function addGrantsOf(env: NodeJS.ProcessEnv, resources: readonly string[]): Promise<void> {
  const vault = await openVault(env);
  const log = new RecordLog(path.join(homePaths(env).state, 'grants.jsonl'), grantSchema);
  await log.load();
  const [first] = log.items;
  if (!first) throw new Error('the home has no grant');
  const item = JSON.parse(await vault.read(grantVaultId(first.id))) as { binding: object };
  const roster = JSON.parse(await vault.read(rosterItem)) as { grants: Record<string, string> };
  const copies: Grant[] = resources.map((resource) => {
    const id = randomBytes(8).toString('hex');
    return { ...first, id, endpoints: [resource], resource };
  });
  const grants = { ...roster.grants, ...Object.fromEntries(copies.map(({ id }) => [id, ''])) };
  await vault.write(rosterItem, JSON.stringify({ ...roster, grants }));
  await Promise.all(
    copies.map(async ({ id, endpoints, resource }) => {
      const binding = { ...item.binding, endpoints, resource };
      await vault.write(grantVaultId(id), JSON.stringify({ ...item, binding }));
    }),
  );
  await Promise.all(copies.map(async (grant) => log.put(grant)));
  await vault.close();
}
