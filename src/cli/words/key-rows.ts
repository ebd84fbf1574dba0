/** API keys as a table for a user. Never a key itself. */
import type { ResultOf } from '../../ipc/protocol/methods.ts';
import { printTable, when } from '../terminal/output.ts';

export type ListedKey = ResultOf<'apiKey.list'>['apiKeys'][number];

/** Prints nothing where there is none. */
export function showKeys(keys: readonly ListedKey[]): void {
  if (keys.length === 0) return;
  printTable(
    ['SERVER', 'API KEY IN', 'SET', 'STATE', 'APPS'],
    keys.map((key) => [
      key.resource,
      keyPlaceWords(key),
      when(key.setAt),
      stateOf(key),
      key.apps.join(', ') || '-',
    ]),
  );
}

/** `Authorization: Bearer …`: the key itself is known to the vault only. */
export function keyPlaceWords({ header, scheme }: Pick<ListedKey, 'header' | 'scheme'>): string {
  return `${header}: ${scheme === undefined ? '' : `${scheme} `}…`;
}

function stateOf({ refusedAt, unchecked }: ListedKey): string {
  const notes = [
    ...(refusedAt === undefined ? [] : [`refused by the server ${when(refusedAt)}`]),
    ...(unchecked ? ['server not asked about a sign-in'] : []),
  ];
  return notes.join(', ') || 'in use';
}
