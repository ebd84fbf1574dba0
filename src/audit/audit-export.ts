/**
 * Reads the audit log back: its last rows, or all of them as JSON lines or CSV.
 *
 * Invariant: a line that isn't a row (a crash cut it off, or another program wrote it) is skipped and counted.
 */
import { visible } from '../base/text/visible.ts';
import { readLog } from './audit-files.ts';
import { readRow, rowFields, type StoredRow } from './audit-row.ts';

export interface AuditTail {
  /** Oldest first. */
  readonly rows: StoredRow[];
  /** Lines among them that aren't rows. */
  readonly skipped: number;
}

/** The last `count` rows. With `about`, an id: only rows that name it. Throws `file_unreadable`. */
export async function tailAudit(folder: string, count: number, about?: string): Promise<AuditTail> {
  return readLog(folder, async (files) => {
    const rows: StoredRow[] = [];
    let skipped = 0;
    for (const lines of files.toReversed()) {
      const last: Buffer[] = [];
      for await (const line of lines()) {
        if (about !== undefined && !line.includes(about)) continue;
        last.push(line);
        // In blocks: to shift the list for each line of a long file would be slow.
        if (last.length >= 2 * count) last.splice(0, last.length - count);
      }
      for (const line of last.toReversed()) {
        if (rows.length >= count) return { rows: rows.toReversed(), skipped };
        const row = readRow(line);
        if (row) rows.push(row);
        else skipped += 1;
      }
    }
    return { rows: rows.toReversed(), skipped };
  });
}

export interface ExportCounts {
  readonly rows: number;
  /** Lines that aren't rows. */
  readonly skipped: number;
}

/**
 * Passes the rows to `write` one by one, in order, and waits for each call. JSON lines are the log's own bytes but for
 * characters that can't be seen, which are escapes; CSV follows RFC 4180, with times in UTC. Throws what `write`
 * throws, and `file_unreadable`.
 */
export async function exportAudit(
  folder: string,
  write: (text: string) => void | Promise<void>,
  format: 'jsonl' | 'csv',
): Promise<ExportCounts> {
  return readLog(folder, async (files) => {
    let rows = 0;
    let skipped = 0;
    if (format === 'csv') await write(csvLine(rowFields));
    for (const lines of files) {
      for await (const line of lines()) {
        const row = readRow(line);
        if (row)
          await write(format === 'csv' ? csvLine(cellsOf(row)) : `${visible(line.toString('utf8'))}\n`);
        if (row) rows += 1;
        else skipped += 1;
      }
    }
    return { rows, skipped };
  });
}

function cellsOf(row: StoredRow): string[] {
  return rowFields.map((column) => {
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
