/**
 * Files that don't belong together: the settings name another vault than the document, or owner.key another home.
 *
 * Invariant: such a home adopts no file and answers only what shows or ends it, and every refusal says so. Other
 * programs can write every file of a home, so only this can be known before the vault is asked: a home with a document
 * has a root key outside memory, in the vault that the document names. If a vault lacks that key, item-vault.ts refuses.
 */
import { KeyturnError, quoted } from '../../base/errors.ts';
import type { Home } from './home.ts';
import { wrappedBy, type Settings } from '../settings/settings.ts';

/** Undefined if the home's files belong together, as far as they tell. */
export function homeMismatch(
  { document, homeId }: Pick<Home, 'document' | 'homeId'>,
  settings: Pick<Settings, 'vault' | 'vaultKey'>,
): Mismatch | undefined {
  if (document === undefined) return undefined;
  if (document !== 'unreadable' && document.home !== homeId)
    return new Mismatch(
      'owner.key and document.json are of two homes',
      'Put back the one that was replaced, then start the broker again.',
    );
  const kind = vaultName(settings);
  const isOther = settings.vault === 'memory' || (document !== 'unreadable' && document.vault !== kind);
  return isOther ? otherVault(kind) : undefined;
}

/** As the document records it: with its key, since both say where the secrets are. */
export function vaultName({ vault, vaultKey }: Pick<Settings, 'vault' | 'vaultKey'>): string {
  // Where the passphrase comes from is no part of it: the file opens by the same passphrase from anywhere.
  return vault === 'sealed-file' ? `${vault} ${wrappedBy(vaultKey)}` : vault;
}

function otherVault(kind: string): Mismatch {
  return new Mismatch(
    `the settings name the vault ${quoted(kind)}, and the secrets are in another one`,
    'Put settings.json back as it was, and take KEYTURN_VAULT out of the environment; then start ' +
      'the broker again. For another vault use another KEYTURN_HOME.',
  );
}

/** The refusal of every other request to such a home. */
export class Mismatch extends KeyturnError {
  constructor(what: string, hint: string) {
    super('file_unreadable', `Keyturn’s data files don’t match each other: ${what}.`, {
      rule: 'A home keeps its id and its vault; if one of them changed, Keyturn serves nothing',
      hint: `${hint} \`keyturn reset --yes\` ends this home.`,
    });
  }
}
