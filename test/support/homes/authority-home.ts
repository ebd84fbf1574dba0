/** A home's document over a vault that lasts, opened by every rule of a broker's start, without a process. */
import { Apps } from '../../../src/broker/records/app.ts';
import { ExceptionRecords } from '../../../src/broker/records/exception.ts';
import { Permissions } from '../../../src/broker/records/permission.ts';
import { homeRecords } from '../../../src/daemon/home/home-record.ts';
import { openHome, prepareFolders } from '../../../src/daemon/home/home.ts';
import { homePaths } from '../../../src/base/paths.ts';
import { ItemVault } from '../../../src/vault/item-vault.ts';
import type { Vault } from '../../../src/vault/base/vault.ts';
import { type HomeOptions, bound, fresh, memoryKeychain } from '../../vault/doubles.ts';

/** A keychain that no broker's end empties. */
export function lastingVault(home: Partial<HomeOptions> = {}): Vault {
  const vault = new ItemVault({ kind: 'keychain', store: memoryKeychain(), ...fresh, ...home });
  return { ...bound(vault), close: async () => undefined };
}

/** What a broker that starts now on this folder counts. */
export async function startOn(folder: string, vault: Vault) {
  const paths = homePaths({ KEYTURN_HOME: folder });
  prepareFolders(paths);
  const home = await openHome(paths);
  const place = { home: home.homeId, vault: 'keychain' };
  const records = homeRecords({ folder: paths.state, place, vault, root: () => vault.root() });
  const { document } = records;
  await document.load().catch(() => undefined);
  await records.document.verify();
  return {
    records,
    apps: new Apps(records.apps),
    permissions: new Permissions(records.permissions),
    exceptions: new ExceptionRecords(records.exceptions),
    /** What `keyturn status` lists as unreadable. */
    troubles: () => (document.trouble ? [document.trouble.why] : []),
  };
}

export type AuthorityBroker = Awaited<ReturnType<typeof startOn>>;
