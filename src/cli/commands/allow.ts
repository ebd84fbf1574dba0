/** `keyturn allow CLIENT RESOURCE`: gives a local client a permission. Works before any discovery. */
import { exitCodes } from '../../base/errors.ts';
import { accountNote } from '../terminal/account-note.ts';
import { durationFrom, parse, resourceFrom, scopeFrom } from '../terminal/arguments.ts';
import { ask } from '../broker/command.ts';
import type { Command } from '../broker/command.ts';
import { say } from '../terminal/output.ts';

const help = `Usage: keyturn allow CLIENT RESOURCE [OPTION]...
Let a program have tokens for a protected server. CLIENT is a name or id from
\`keyturn clients\`; the command line itself is "cli": allowing it means that any
program you run can have this token.

      --scope "A B"      exactly these scopes; without it, every scope that you
                         grant at the issuer, now or later
      --account ACCOUNT  as this account too, where you have several there; the
                         scopes and the end that stand stay, unless you name
                         others. Without a permission there: every scope, until
                         you end it, unless --scope and --for say less
      --for TIME         for so long: 90s, 30m, 8h, 2d; without it, until you
                         end it
  -h, --help             show this

Examples:
  keyturn allow cli https://notes.example/mcp
  keyturn allow my-editor https://notes.example/mcp --scope notes:read --for 8h
`;

export const command: Command = {
  help,
  async run(args) {
    const { values, positionals } = parse(
      args,
      { scope: { type: 'string' }, account: { type: 'string' }, for: { type: 'string' } },
      { names: ['CLIENT', 'RESOURCE'], command: 'allow' },
    );
    const [client = '', resource = ''] = positionals;
    const now = Math.floor(Date.now() / 1000);
    await ask('permission.set', {
      client,
      resource: resourceFrom(resource),
      decision: 'allow',
      ...scopeFrom(values.scope),
      ...(values.account === undefined ? {} : { account: values.account }),
      ...(values.for === undefined ? {} : { until: now + durationFrom(values.for, '--for', 'allow') }),
    });
    // For a person at a terminal; a script knows what it says.
    if (values.account === undefined && process.stderr.isTTY) await sayAccount(client, resource);
    return exitCodes.ok;
  },
};

async function sayAccount(client: string, resource: string): Promise<void> {
  const { clients } = await ask('client.list', {});
  const { grants } = await ask('grant.list', {});
  say(`keyturn: ${accountNote({ client, resource }, clients, grants)}`);
}
