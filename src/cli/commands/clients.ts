/** `keyturn clients`: the paired programs and their permissions. */
import path from 'node:path';
import { exitCodes } from '../../base/errors.ts';
import { ask } from '../broker/request.ts';
import { defineCommand } from '../terminal/command.ts';
import { keyPlaceWords } from '../words/key-rows.ts';
import { printJson, printTable, processName, say, when } from '../terminal/output.ts';

export const command = defineCommand(
  {
    name: 'clients',
    summary: 'the paired programs and what they may reach',
    operands: [],
    options: { json: { type: 'boolean', summary: 'print them as JSON' } },
    about: 'Show the programs that are paired and what each may reach.',
    examples: ['keyturn clients --json'],
  },
  async ({ options }) => {
    const clients = await withLastUse((await ask('client.list', {})).clients);
    if (options.json) printJson({ clients });
    else {
      const refused = (await ask('status', {})).unreadable;
      printTable(
        ['CLIENT', 'ID', 'SERVER', 'DECISION', 'ACCOUNT', 'SCOPES', 'UNTIL', 'LAST USED'],
        clients.flatMap((client) => rows(client, new Set(refused.map(({ file }) => path.basename(file))))),
      );
      for (const { why } of refused.filter(isShownHere)) say(`keyturn: marked entries do not count: ${why}`);
    }
    return exitCodes.ok;
  },
);

type Client = Awaited<ReturnType<typeof ask<'client.list'>>>['clients'][number];

/** Rows of the log that are looked through. */
const searched = 1000;

/** The broker keeps that time for paired programs. For the command line the audit log has it, over restarts too. */
async function withLastUse(clients: readonly Client[]): Promise<readonly Client[]> {
  const cli = clients.find(({ clientId, lastUsedAt }) => clientId === 'cli' && lastUsedAt === undefined);
  if (!cli) return clients;
  const { rows: log } = await ask('audit.tail', { count: searched });
  const used = log.filter(
    ({ client, event }) => client === cli.name && (event === 'token' || event === 'key'),
  );
  if (used.length === 0) return clients;
  const lastUsedAt = Math.floor(Math.max(...used.map(({ time }) => time)) / 1000);
  return clients.map((client) => (client === cli ? { ...cli, lastUsedAt } : client));
}

const files = { clients: 'clients.json', permissions: 'permissions.json' } as const;

const isShownHere = ({ file }: { readonly file: string }): boolean =>
  Object.values<string>(files).includes(path.basename(file));

/** `refused`: names of files that count for nothing. What stands in them is listed all the same, and marked. */
function rows(client: Client, refused: ReadonlySet<string>): string[][] {
  const mark = (file: string): string => (refused.has(file) ? ' (does not count)' : '');
  // The command line is in no file.
  const isPaired = client.clientId !== 'cli';
  const name = `${client.name}${isPaired ? mark(files.clients) : ''}`;
  const used = client.lastUsedAt === undefined ? '-' : when(client.lastUsedAt);
  if (client.permissions.length === 0) return [[name, client.clientId, '-', '-', '-', '-', '-', used]];
  return client.permissions.map((permission) => [
    name,
    client.clientId,
    permission.resource,
    `${permission.decision}${permission.run === undefined ? mark(files.permissions) : ''}`,
    accountsIn(permission),
    permission.key ? `API key, ${keyPlaceWords(permission.key)}` : (permission.scope ?? 'any'),
    untilOf(permission),
    used,
  ]);
}

function accountsIn({ accounts = [], account }: Client['permissions'][number]): string {
  if (accounts.length === 0) return '-';
  return accounts.map((one) => (one === account ? `${one} (chosen)` : one)).join(', ');
}

function untilOf({ until, run, once }: Client['permissions'][number]): string {
  const time = until === undefined ? undefined : when(until);
  if (run === undefined) return time ?? '-';
  const end = time === undefined ? '' : `, until ${time}`;
  return `${once ? 'once, by ' : ''}this run of ${processName(run)}${end}`;
}
