/** Rows of the audit log as a table for a person. */
import type { ResultOf } from '../../ipc/protocol/methods.ts';
import { printTable, say, when } from '../terminal/output.ts';

type Row = ResultOf<'audit.tail'>['rows'][number];

export function tailRows(rows: readonly Row[]): void {
  if (rows.length === 0) {
    say('The audit log is empty.');
    return;
  }
  printTable(
    ['WHEN', 'EVENT', 'OUTCOME', 'PROGRAM', 'SERVER', 'ISSUER', 'SCOPES'],
    // A row for repeats is written after their minute, and stands where the last of them was.
    rows
      .toSorted((one, other) => one.time - other.time)
      .map((row) => [
        when(Math.floor(row.time / 1000)),
        row.count === undefined ? row.event : `${row.event} ×${row.count}`,
        row.outcome ?? '-',
        row.client ?? '-',
        row.endpoint ?? '-',
        row.issuer ?? '-',
        row.scope?.join(' ') || '-',
      ]),
  );
}
