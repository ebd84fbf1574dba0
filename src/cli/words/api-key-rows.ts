/** API keys as a table for a user. Never a key itself. */
import type { ResultOf } from '../../ipc/protocol/methods.ts';
import { printTable, when } from '../terminal/output.ts';

export type ListedApiKey = ResultOf<'apiKey.list'>['apiKeys'][number];

/** Prints nothing where there is none. */
export function showApiKeys(keys: readonly ListedApiKey[]): void {
  if (keys.length === 0) return;
  printTable(
    ['SERVER', 'API KEY IN', 'SET', 'STATE', 'APPS'],
    keys.map((key) => [
      key.resource,
      apiKeyPlaceWords(key),
      when(key.setAt),
      stateOf(key),
      key.apps.join(', ') || '-',
    ]),
  );
}

/** `Authorization: Bearer …`: the key itself is known to the vault only. */
export function apiKeyPlaceWords({ header, scheme }: Pick<ListedApiKey, 'header' | 'scheme'>): string {
  return `${header}: ${scheme === undefined ? '' : `${scheme} `}…`;
}

function stateOf({ rejectedAt, unchecked }: ListedApiKey): string {
  const notes = [
    ...(rejectedAt === undefined ? [] : [`rejected by the server ${when(rejectedAt)}`]),
    ...(unchecked ? ['server not asked about a sign-in'] : []),
  ];
  return notes.join(', ') || 'in use';
}
