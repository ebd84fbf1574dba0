/** `keyturn audit tail|verify|export`: who got what when, and whether the log was tampered with. */
import { tailRows } from '../terminal/audit-rows.ts';
import { exitCodes, KeyturnError, quoted } from '../../base/errors.ts';
import { homePaths } from '../../base/paths.ts';
import { parse, usage } from '../terminal/arguments.ts';
import { ask } from '../broker/command.ts';
import type { Command } from '../broker/command.ts';
import { print, printJson, printPiece, say } from '../terminal/output.ts';

const help = `Usage: keyturn audit tail|verify|export [OPTION]...
Look at the audit log: who got what when. It holds no token.

  tail    the last rows
  verify  check that no row was changed, removed or put in; exits with 5 where one was
  export  the whole log on standard output

      --lines N        how many rows tail shows (default 20, at most 1000)
      --format FORMAT  what export writes: jsonl (the default) or csv
      --json           print tail's rows, or verify's findings, as JSON
  -h, --help           show this

Examples:
  keyturn audit tail --lines 50
  keyturn audit export --format csv > audit.csv
`;

const usualLines = 20;

export const command: Command = {
  help,
  async run(args) {
    const { values, positionals } = parse(
      args,
      { lines: { type: 'string' }, format: { type: 'string' }, json: { type: 'boolean' } },
      { names: ['tail|verify|export'], command: 'audit' },
    );
    const isJson = values.json === true;
    if (positionals[0] === 'tail') return tail(linesFrom(values.lines), isJson);
    if (positionals[0] === 'verify') return verify(isJson);
    if (positionals[0] === 'export') return exportLog(values.format ?? 'jsonl');
    throw usage(`keyturn audit takes tail, verify or export, not ${quoted(positionals[0] ?? '')}`, 'audit');
  },
};

function linesFrom(text: string | undefined): number {
  if (text === undefined) return usualLines;
  const count = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (count >= 1 && count <= 1000) return count;
  throw usage(`--lines takes a number from 1 to 1000, not ${quoted(text)}`, 'audit');
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
      `${rows} rows, unchanged${unprovenRows > 0 ? `; ${unprovenRows} of them not yet under the key` : ''}`,
    );
  return exitCodes.ok;
}

/** Straight from the files: it needs no key, and works where no broker runs. */
async function exportLog(format: string): Promise<number> {
  if (format !== 'jsonl' && format !== 'csv')
    throw usage(`--format takes jsonl or csv, not ${quoted(format)}`, 'audit');
  const { exportTrail } = await import('../../daemon/vault/audit-trail.ts');
  const rows = await exportTrail(homePaths(), printPiece, format);
  if (process.stderr.isTTY) say(`keyturn: ${rows} rows`);
  return exitCodes.ok;
}
