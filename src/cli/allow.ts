/** `keyturn allow CLIENT RESOURCE`: gives a local client a permission. Works before any discovery. */
import { exitCodes } from '../errors.ts';
import { durationFrom, parse, resourceFrom, scopeFrom } from './arguments.ts';
import { ask } from './command.ts';
import type { Command } from './command.ts';

const help = `Usage: keyturn allow CLIENT RESOURCE [OPTION]...
Let a program have tokens for a protected server. CLIENT is a name or id from
\`keyturn clients\`; the command line itself is "cli": allowing it means that any
program you run can have this token.

      --scope "A B"      exactly these scopes; without it, every scope that you
                         grant at the issuer, now or later
      --account ACCOUNT  as this account too, where you have several there;
                         without it, the accounts it works as stay
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
    return exitCodes.ok;
  },
};
