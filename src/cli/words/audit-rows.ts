/** The audit log in words: its rows as a table, and why rows wait. */
import type { ResultOf } from '../../ipc/protocol/methods.ts';
import { printTable, say, when } from '../terminal/output.ts';

type Row = ResultOf<'audit.tail'>['rows'][number];

/** Of a log that can't be written. */
export function waitingRows({ why, waiting, lost }: NonNullable<ResultOf<'status'>['audit']>): string {
  const rows = waiting === 1 ? '1 row waits' : `${waiting} rows wait`;
  return `${rows} in memory${lost > 0 ? ` and ${lost} are lost` : ''}: ${why}`;
}

export function tailRows(rows: readonly Row[]): void {
  if (rows.length === 0) {
    say('The audit log is empty.');
    return;
  }
  printTable(
    ['WHEN', 'EVENT', 'OUTCOME', 'APP', 'SERVER', 'AUTHORIZATION SERVER', 'SCOPES'],
    // A row for repeats is written after their minute, and stands where the last of them was.
    rows
      .toSorted((one, other) => one.time - other.time)
      .map((row) => [
        when(Math.floor(row.time / 1000)),
        (row.count ?? 1) === 1 ? row.event : `${row.event} ×${row.count}`,
        row.outcome ?? '-',
        row.app ?? '-',
        row.endpoint ?? '-',
        row.issuer ?? '-',
        row.scope?.join(' ') || '-',
      ]),
  );
}
