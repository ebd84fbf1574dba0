/** The question which of its accounts a program uses at a server, in words for a terminal. */
import { quoted, shellQuoted } from '../../base/errors.ts';

interface Choice {
  /** As the sentence names it. */
  readonly client: string;
  readonly resource: string;
  readonly accounts: readonly string[];
  /** A project file in this folder names the account: only that is to be confirmed. */
  readonly folder: string | undefined;
}

/** Begins in lower case. */
export function choiceQuestion({ client, resource, accounts, folder }: Choice): string {
  const names = accounts.map(quoted).join(', ');
  return folder === undefined
    ? `which account should ${client} use at ${resource}, where a request names none: ${names}?`
    : `should the project file in ${quoted(folder)} choose the account ${names} at ${resource}?`;
}

/** What follows `yes` in an answer, for each account that it may name: nothing where there is none to choose. */
export function choiceOptions({ accounts, folder }: Pick<Choice, 'accounts' | 'folder'>): string[] {
  return folder === undefined ? accounts.map((account) => ` --account ${shellQuoted(account)}`) : [''];
}
