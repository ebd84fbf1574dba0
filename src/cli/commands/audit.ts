/** `keyturn audit tail|verify|export`: who got what when, and whether the log was tampered with. */
import { tailRows } from '../words/audit-rows.ts';
import { exitCodes, KeyturnError, quoted } from '../../base/errors.ts';
import { homePaths } from '../../base/paths.ts';
import { UsageError } from '../terminal/arguments.ts';
import { ask } from '../broker/request.ts';
import { defineCommand } from '../terminal/command.ts';
import { print, printJson, printPiece, say } from '../terminal/output.ts';

const usualLines = 20;
const maxLines = 1000;

export const command = defineCommand(
  {
    name: 'audit',
    summary: 'who got what and when, and whether the log is intact',
    operands: [{ name: 'tail|verify|export', values: ['tail', 'verify', 'export'] }],
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
      json: { type: 'boolean', summary: "print tail's rows, or verify's findings, as JSON" },
    },
    about: 'Look at the audit log: who got what and when. It holds no token.',
    terms: {
      tail: 'the last rows',
      verify: 'check that no row was changed, removed or put in; exits with 5 where one was',
      export: 'the whole log on standard output',
    },
    examples: ['keyturn audit tail --lines 50', 'keyturn audit export --format csv > audit.csv'],
  },
  async ({ options: { lines, format = 'jsonl', json = false }, operands: [part] }) => {
    switch (part) {
      case 'tail':
        return tail(linesFrom(lines), json);
      case 'verify':
        return verify(json);
      case 'export':
        return exportLog(format);
    }
  },
);

function linesFrom(text: string | undefined): number {
  if (text === undefined) return usualLines;
  const count = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (count >= 1 && count <= maxLines) return count;
  throw new UsageError(`--lines takes a number from 1 to ${maxLines}, not ${quoted(text)}`);
}

async function tail(count: number, isJson: boolean): Promise<number> {
  const { rows } = await ask('audit.tail', { count });
  if (isJson) printJson(rows);
  else tailRows(rows);
  return exitCodes.ok;
}

async function verify(isJson: boolean): Promise<number> {
  const verdict = await ask('audit.verify', {});
  if (isJson) printJson(verdict);
  const { rows, unprovenRows, firstProblem } = verdict;
  if (firstProblem) {
    throw new KeyturnError(
      'audit_broken',
      `The audit log was changed at row ${firstProblem.sequence}: ${firstProblem.what}.`,
      {
        rule: 'Each row is chained to the one before it by a key in the vault',
        hint: 'Keep a copy of the log (keyturn audit export), and find out who could write to your state folder.',
      },
    );
  }
  if (!isJson)
    print(
      `${rows} rows, unchanged${unprovenRows > 0 ? `; the vault’s key does not protect ${unprovenRows} of them yet` : ''}`,
    );
  return exitCodes.ok;
}

/** Straight from the files: it needs no key, and works where no broker runs. */
async function exportLog(format: 'jsonl' | 'csv'): Promise<number> {
  const { exportTrail } = await import('../../daemon/vault/audit-trail.ts');
  const rows = await exportTrail(homePaths(), printPiece, format);
  if (process.stderr.isTTY) say(`keyturn: ${rows} rows`);
  return exitCodes.ok;
}
