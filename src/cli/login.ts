/** `keyturn login RESOURCE`: signs in on purpose, whatever failed before. */
import { exitCodes } from '../errors.ts';
import { parse, resourceFrom, scopeFrom, secondsFrom } from './arguments.ts';
import { call, interruptible } from './command.ts';
import type { Command } from './command.ts';
import { connect } from './connection.ts';
import { printJson } from './output.ts';
import { watchQuestions } from './watch.ts';

const help = `Usage: keyturn login RESOURCE [OPTION]...
Sign in at a protected server. Opens your browser; the address is printed too.

      --scope "A B"      ask for these scopes besides those the server names
      --account LABEL    your name for this account, where you have several
      --issuer ISSUER    which authorization server, where the server names several
      --timeout SECONDS  how long to wait for you (default 600)
      --json             print the grant
  -h, --help             show this

Example:
  keyturn login https://notes.example/mcp --account work
`;

export const command: Command = {
  help,
  async run(args) {
    const { values, positionals } = parse(
      args,
      {
        scope: { type: 'string' },
        account: { type: 'string' },
        issuer: { type: 'string' },
        timeout: { type: 'string' },
        json: { type: 'boolean' },
      },
      { names: ['RESOURCE'], command: 'login' },
    );
    const resource = resourceFrom(positionals[0] ?? '');
    const scope = scopeFrom(values.scope);
    const timeout = secondsFrom(values.timeout, '--timeout', 'login');
    const connection = await connect();
    const { grant } = await interruptible(connection, async () => {
      // What the person is told must not decide whether the sign-in succeeds.
      watchQuestions(connection, resource).catch(() => undefined);
      return call(connection, 'login.start', {
        resource,
        ...scope,
        ...(values.account === undefined ? {} : { account: values.account }),
        ...(values.issuer === undefined ? {} : { issuer: values.issuer }),
        ...(timeout === undefined ? {} : { timeout }),
      });
    });
    if (values.json) printJson(grant);
    return exitCodes.ok;
  },
};
