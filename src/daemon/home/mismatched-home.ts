/**
 * Files that don't belong together: another vault, or another id, than the one that this home was written with.
 *
 * Invariant: such a home answers no request and adopts no file, and every refusal says so. Other programs can write
 * every file of a home, so only this can be known before the vault is asked: a home that once had a root key keeps
 * it outside memory, and a document was written when there was one. If a vault lacks that key, item-vault.ts refuses.
 */
import { KeyturnError, quoted } from '../../base/errors.ts';
import { documentExists } from './home.ts';
import type { Home } from './home.ts';
import type { Settings } from '../settings/settings.ts';
import { wrappedBy } from '../settings/settings.ts';

/** True once a vault of this home was opened, as far as its files tell. Start-up only: reads files, and no vault. */
export async function wasOpened({ hasRoot, paths }: Pick<Home, 'hasRoot' | 'paths'>): Promise<boolean> {
  if (hasRoot) return true;
  // One that can't be read is no sign that there never was one.
  return documentExists(paths).catch(() => true);
}

/** Undefined if the home's files belong together, as far as they tell. */
export function homeMismatch(
  home: Pick<Home, 'vault'>,
  { vault, vaultKey }: Pick<Settings, 'vault' | 'vaultKey'>,
  isOpened: boolean,
): Mismatch | undefined {
  const kind = vaultName(vault, vaultKey);
  const isOther = vault === 'memory' || (home.vault !== undefined && home.vault !== kind);
  return isOpened && isOther ? otherVault(kind) : undefined;
}

/** As home.json records it: with its key, since both say where the secrets are. */
export function vaultName(vault: Settings['vault'], vaultKey: Settings['vaultKey']): string {
  // Where the passphrase comes from is no part of it: the file opens by the same passphrase from anywhere.
  return vault === 'sealed-file' ? `${vault} ${wrappedBy(vaultKey)}` : vault;
}

function otherVault(kind: string): Mismatch {
  return new Mismatch(`the settings name the vault ${quoted(kind)}, and the secrets are in another one`);
}

/** The refusal of every request to such a home. */
export class Mismatch extends KeyturnError {
  constructor(what: string) {
    super('file_unreadable', `Keyturn’s data files don’t match each other: ${what}.`, {
      rule: 'A home keeps its id and its vault; if one of them changed, Keyturn serves nothing',
      hint:
        'Put settings.json and home.json back as they were, and take KEYTURN_VAULT out of the environment; then start ' +
        'the broker again. For another vault use another KEYTURN_HOME. `keyturn reset --yes` ends this home.',
    });
  }
}
