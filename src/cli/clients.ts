/** `keyturn clients`: the paired programs and their permissions. */
import { exitCodes } from '../errors.ts';
import { parse } from './arguments.ts';
import { ask } from './command.ts';
import type { Command } from './command.ts';
import { printJson, printTable, processName, when } from './output.ts';

const help = `Usage: keyturn clients [--json]
Show the programs that are paired, and what each may reach.

      --json  print them as JSON
  -h, --help  show this
`;

export const command: Command = {
  help,
  async run(args) {
    const { values } = parse(args, { json: { type: 'boolean' } }, { names: [], command: 'clients' });
    const { clients } = await ask('client.list', {});
    if (values.json) printJson(clients);
    else {
      printTable(
        ['CLIENT', 'ID', 'SERVER', 'DECISION', 'ACCOUNT', 'SCOPES', 'UNTIL', 'LAST USED'],
        clients.flatMap((client) => rows(client)),
      );
    }
    return exitCodes.ok;
  },
};

type Client = Awaited<ReturnType<typeof ask<'client.list'>>>['clients'][number];

function rows(client: Client): string[][] {
  const used = client.lastUsedAt === undefined ? '-' : when(client.lastUsedAt);
  if (client.permissions.length === 0) return [[client.name, client.clientId, '-', '-', '-', '-', '-', used]];
  return client.permissions.map((permission) => [
    client.name,
    client.clientId,
    permission.resource,
    permission.decision,
    permission.accounts?.join(', ') ?? '-',
    permission.scope ?? 'any',
    untilOf(permission),
    used,
  ]);
}

function untilOf({ until, run, once }: Client['permissions'][number]): string {
  const time = until === undefined ? undefined : when(until);
  if (run === undefined) return time ?? '-';
  const end = time === undefined ? '' : `, until ${time}`;
  return `${once ? 'once, by ' : ''}this run of ${processName(run)}${end}`;
}
