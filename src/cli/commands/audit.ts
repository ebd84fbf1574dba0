/** `keyturn audit`: which app got what and when. */
import { tailRows } from '../words/audit-rows.ts';
import { quoted } from '../../base/errors.ts';
import { homePaths } from '../../base/paths.ts';
import { UsageError } from '../terminal/arguments.ts';
import { ask } from '../broker/request.ts';
import { defineCommand, defineNoun } from '../terminal/command.ts';
import { jsonOption } from '../terminal/statement.ts';
import { printJson, printPiece, say } from '../terminal/output.ts';

const usualLines = 20;
const maxLines = 1000;

const log = defineCommand(
  {
    name: 'audit log',
    summary: 'Show the last rows of the audit log',
    options: {
      lines: {
        type: 'string',
        short: 'n',
        value: 'N',
        summary: 'how many rows',
        more: ` (default ${usualLines}, at most ${maxLines})`,
      },
      json: jsonOption('them'),
    },
    about: 'Show the last rows of the audit log: which app got what and when. It holds no token.',
    examples: ['keyturn audit log -n 50'],
  },
  async ({ options: { lines, json = false } }) => {
    const { rows, skipped } = await ask('audit.tail', { count: linesFrom(lines) });
    if (json) printJson(rows);
    else tailRows(rows);
    saySkipped(skipped);
  },
);

const exportRows = defineCommand(
  {
    name: 'audit export',
    summary: 'Print the whole audit log',
    options: {
      format: {
        type: 'string',
        value: 'FORMAT',
        values: ['jsonl', 'csv'],
        summary: 'jsonl (the default) or csv',
      },
    },
    about: 'Print the whole audit log. Needs no broker.',
    examples: ['keyturn audit export --format csv > audit.csv'],
  },
  // Straight from the files: it needs no key, and works where no broker runs.
  async ({ options: { format = 'jsonl' } }) => {
    const { exportAudit } = await import('../../audit/audit-export.ts');
    const { rows, skipped } = await exportAudit(homePaths().state, printPiece, format);
    if (process.stderr.isTTY) say(`keyturn: ${rows} rows`);
    saySkipped(skipped);
  },
);

export const command = defineNoun(
  'audit',
  'Show or export the audit log: which app got what and when',
  { log, export: exportRows },
  'log',
);

function linesFrom(text: string | undefined): number {
  if (text === undefined) return usualLines;
  const count = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (count >= 1 && count <= maxLines) return count;
  throw new UsageError(`--lines takes a number from 1 to ${maxLines}, not ${quoted(text)}`);
}

function saySkipped(lines = 0): void {
  if (lines > 0)
    say(`keyturn: skipped ${lines} ${lines === 1 ? 'line' : 'lines'} of the log that can't be read`);
}
