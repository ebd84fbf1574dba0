/** `keyturn audit tail|export`: who got what when. */
import { tailRows } from '../words/audit-rows.ts';
import { exitCodes, quoted } from '../../base/errors.ts';
import { homePaths } from '../../base/paths.ts';
import { UsageError } from '../terminal/arguments.ts';
import { ask } from '../broker/request.ts';
import { defineCommand } from '../terminal/command.ts';
import { printJson, printPiece, say } from '../terminal/output.ts';

const usualLines = 20;
const maxLines = 1000;

export const command = defineCommand(
  {
    name: 'audit',
    summary: 'who got what and when',
    operands: [{ name: 'tail|export', values: ['tail', 'export'] }],
    options: {
      lines: {
        type: 'string',
        value: 'N',
        summary: 'how many rows tail shows',
        more: ` (default ${usualLines}, at most ${maxLines})`,
      },
      format: {
        type: 'string',
        value: 'FORMAT',
        values: ['jsonl', 'csv'],
        summary: 'what export writes',
        more: ': jsonl (the default) or csv',
      },
      json: { type: 'boolean', summary: "print tail's rows as JSON" },
    },
    about: 'Look at the audit log: who got what and when. It holds no token.',
    terms: {
      tail: 'the last rows',
      export: 'the whole log on standard output',
    },
    examples: ['keyturn audit tail --lines 50', 'keyturn audit export --format csv > audit.csv'],
  },
  async ({ options: { lines, format = 'jsonl', json = false }, operands: [part] }) => {
    return part === 'tail' ? tail(linesFrom(lines), json) : exportLog(format);
  },
);

function linesFrom(text: string | undefined): number {
  if (text === undefined) return usualLines;
  const count = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (count >= 1 && count <= maxLines) return count;
  throw new UsageError(`--lines takes a number from 1 to ${maxLines}, not ${quoted(text)}`);
}

async function tail(count: number, isJson: boolean): Promise<number> {
  const { rows, skipped } = await ask('audit.tail', { count });
  if (isJson) printJson(rows);
  else tailRows(rows);
  saySkipped(skipped);
  return exitCodes.ok;
}

/** Straight from the files: it needs no key, and works where no broker runs. */
async function exportLog(format: 'jsonl' | 'csv'): Promise<number> {
  const { exportTrail } = await import('../../daemon/home/audit-export.ts');
  const { rows, skipped } = await exportTrail(homePaths(), printPiece, format);
  if (process.stderr.isTTY) say(`keyturn: ${rows} rows`);
  saySkipped(skipped);
  return exitCodes.ok;
}

function saySkipped(lines = 0): void {
  if (lines > 0)
    say(`keyturn: skipped ${lines} ${lines === 1 ? 'line' : 'lines'} of the log that can't be read`);
}
