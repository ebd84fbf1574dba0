/**
 * A home's document over a vault that lasts, opened as a broker opens it at its start: no
 * process, no socket, and every rule that says which file counts.
 */
import { createSecretKey, randomBytes } from 'node:crypto';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { Apps } from '../../../src/broker/records/app.ts';
import { ExceptionRecords } from '../../../src/broker/records/exception.ts';
import { Permissions } from '../../../src/broker/records/permission.ts';
import { homeRecords } from '../../../src/daemon/home/home-record.ts';
import { openHome, prepareFolders } from '../../../src/daemon/home/home.ts';
import { homePaths } from '../../../src/base/paths.ts';
import { documentText } from '../../../src/store/document-text.ts';
import { ItemVault } from '../../../src/vault/item-vault.ts';
import type { Vault } from '../../../src/vault/base/vault.ts';
import type { HomeOptions } from '../../vault/doubles.ts';
import { bound, fresh, memoryKeychain } from '../../vault/doubles.ts';
import { homeIdIn } from './keychain-items.ts';

export interface AuthorityBroker {
  readonly records: ReturnType<typeof homeRecords>;
  readonly apps: Apps;
  readonly permissions: Permissions;
  readonly exceptions: ExceptionRecords;
  /** What `keyturn status` lists as unreadable. */
  troubles(): string[];
}

/** A keychain that no broker's end empties. */
export function lastingVault(home: Partial<HomeOptions> = {}): Vault {
  const vault = new ItemVault({ kind: 'keychain', store: memoryKeychain(), ...fresh, ...home });
  return { ...bound(vault), close: async () => undefined };
}

/** What a broker that starts now on this folder counts. */
export async function startOn(folder: string, vault: Vault): Promise<AuthorityBroker> {
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
    troubles: () => (document.trouble ? [document.trouble.why] : []),
  };
}

const fileIn = (folder: string, name: string): string => path.join(folder, 'state', name);

/** What another program of the same user does with the files of a home. */
export function intruder(folder: string) {
  const copies = new Map<string, Buffer>();
  return {
    /** Keeps copies of the files as they are now. */
    keeps(...names: string[]): void {
      for (const name of names) copies.set(name, readFileSync(fileIn(folder, name)));
    },
    /** Puts its copies back. */
    restores(...names: string[]): void {
      for (const name of names) {
        const bytes = copies.get(name);
        if (!bytes) throw new Error(`it has no copy of ${name}`);
        writeFileSync(fileIn(folder, name), bytes, { mode: 0o600 });
      }
    },
    deletes(...names: string[]): void {
      for (const name of names) rmSync(fileIn(folder, name));
    },
    writes(name: string, text: string): void {
      writeFileSync(fileIn(folder, name), text, { mode: 0o600 });
    },
    /** Writes a whole document of this home, the next after the present one, which another key signs. */
    forges(state: Record<string, object[]>): void {
      const home = homeIdIn(path.join(folder, 'config', 'owner.key')) ?? '';
      const file = fileIn(folder, 'authority.json');
      const present = existsSync(file) ? /"id":"([^"]+)"/.exec(readFileSync(file, 'utf8'))?.[1] : undefined;
      const head = { home, vault: 'keychain', number: 9, id: 'x', after: [present ?? 'x'] };
      const key = createSecretKey(randomBytes(32));
      this.writes('authority.json', documentText(head, new Map(Object.entries(state)), key));
    },
  };
}
