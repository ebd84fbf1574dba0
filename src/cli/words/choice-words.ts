/** The question which of its accounts an app uses at a server, in words for a terminal. */
import { quoted, shellOption } from '../../base/errors.ts';

interface Choice {
  /** As the sentence names it. */
  readonly client: string;
  readonly resource: string;
  readonly accounts: readonly string[];
}

/** Begins in lower case. */
export function choiceQuestion({ client, resource, accounts }: Choice): string {
  const names = accounts.map(quoted).join(', ');
  return `which account should ${client} use at ${resource}, where a request names none: ${names}?`;
}

/** What follows the id in `request approve`, for each account that it may name. */
export const choiceOptions = (accounts: readonly string[]): string[] =>
  accounts.map((account) => ` ${shellOption('account', account)}`);
