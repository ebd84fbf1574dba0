/**
 * Reads rows for people and their tools: the last few, or all rows of a period as JSON lines or CSV.
 *
 * Invariant: reads the log as it was at one moment. Memory: one line, or for the last rows at most three times
 * `maxTail`.
 */
import { visible } from '../base/text/visible.ts';
import { auditFile, openSnapshot } from './audit-files.ts';
import { readRow } from './audit-row.ts';
import type { StoredRow } from './audit-row.ts';

/** Rows that `tailAudit` returns at most: some hundred kilobytes, well within one frame of the socket. */
const maxTail = 1000;

/**
 * The last `count` rows, oldest first, without lines that aren't rows. With `about`, an id: only rows that name it.
 * Throws `file_unreadable`.
 */
export async function tailAudit(
  folder: string,
  count: number,
  about?: string,
): Promise<readonly StoredRow[]> {
  const wanted = Math.min(count, maxTail);
  let rows: StoredRow[] = [];
  const snapshot = await openSnapshot(auditFile(folder));
  try {
    for (const file of snapshot.files.toReversed()) {
      if (rows.length >= wanted) break;
      const last: Buffer[] = [];
      for await (const { bytes } of file.lines()) {
        if (about !== undefined && !bytes.includes(about)) continue;
        last.push(bytes);
        // In blocks: to shift the list for each line of a long file would be slow.
        if (last.length >= 2 * wanted) last.splice(0, last.length - wanted);
      }
      rows = [...last.map(readRow).filter((row) => row !== undefined), ...rows];
    }
  } finally {
    await snapshot.close();
  }
  return wanted > 0 ? rows.slice(-wanted) : [];
}

export interface ExportChoice {
  /** Milliseconds since 1970, rows of this moment included. */
  readonly since?: number;
  /** Milliseconds since 1970, rows of this moment excluded. */
  readonly until?: number;
  readonly format: 'jsonl' | 'csv';
}

/**
 * Passes the rows to `write` one by one, in order, and waits for each call. JSON lines are the log's own bytes, so that
 * their links still hold, but for characters that can't be seen, which are escapes; CSV follows RFC 4180, with times in
 * UTC. Resolves to the number of rows. Throws what `write` throws, and `file_unreadable`.
 */
export async function exportAudit(
  folder: string,
  write: (text: string) => void | Promise<void>,
  { since = Number.NEGATIVE_INFINITY, until = Number.POSITIVE_INFINITY, format }: ExportChoice,
): Promise<number> {
  const snapshot = await openSnapshot(auditFile(folder));
  let rows = 0;
  try {
    if (format === 'csv') await write(csvLine(columns));
    for (const file of snapshot.files) {
      for await (const { bytes } of file.lines()) {
        const row = readRow(bytes);
        if (!row || row.time < since || row.time >= until) continue;
        await write(format === 'csv' ? csvLine(cellsOf(row)) : `${visible(bytes.toString('utf8'))}\n`);
        rows += 1;
      }
    }
  } finally {
    await snapshot.close();
  }
  return rows;
}

const columns = [
  'sequence',
  'time',
  'event',
  'outcome',
  'client',
  'endpoint',
  'resource',
  'issuer',
  'grant',
  'scope',
  'fingerprint',
  'count',
  'first',
  'last',
  'rows',
] as const;

function cellsOf(row: StoredRow): string[] {
  return columns.map((column) => {
    const value = row[column];
    if (value === undefined) return '';
    if (column === 'time' || column === 'first' || column === 'last') return moment(Number(value));
    return Array.isArray(value) ? value.join(' ') : String(value);
  });
}

/** As a date; a time that no date can hold (somebody wrote the line by hand) stays a number. */
function moment(milliseconds: number): string {
  const date = new Date(milliseconds);
  return Number.isNaN(date.getTime()) ? String(milliseconds) : date.toISOString();
}

/** RFC 4180 §2: cells in quotation marks, lines end in CR LF. */
function csvLine(cells: readonly string[]): string {
  return `${cells.map((cell) => `"${inert(visible(cell)).replaceAll('"', '""')}"`).join(',')}\r\n`;
}

/**
 * A spreadsheet runs a cell that begins like this as a formula, and programs choose their own names. Some take signs of
 * full width for the plain ones (NFKC).
 */
function inert(cell: string): string {
  return /^[=+\-@\u2212]/.test(cell.normalize('NFKC').trimStart()) ? `'${cell}` : cell;
}
