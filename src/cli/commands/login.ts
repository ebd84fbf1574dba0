/** `keyturn login RESOURCE`: signs in on purpose, whatever failed before. */
import { exitCodes } from '../../base/errors.ts';
import { parse, resourceFrom, scopeFrom, secondsFrom, usage } from '../terminal/arguments.ts';
import { call, interruptible } from '../broker/command.ts';
import type { Command } from '../broker/command.ts';
import type { Connection } from '../../client/connection.ts';
import { connectAsOwner } from '../../client/connect.ts';
import type { ParamsOf } from '../../ipc/protocol/protocol.ts';
import { connect, throughTakeover } from '../broker/connection.ts';
import { pasteAddress } from '../broker/paste.ts';
import { printJson } from '../terminal/output.ts';
import { openBefore, watchQuestions } from '../broker/watch.ts';

const help = `Usage: keyturn login RESOURCE [OPTION]...
Sign in at a protected server. Opens your browser; the address is printed too.

      --scope "A B"      ask for these scopes besides those the server names
      --account LABEL    your name for this account, where you have several
      --issuer ISSUER    which authorization server, where the server names several
      --device           sign in on another device, with a code (RFC 8628)
      --paste            sign in elsewhere, and paste the address it ended at
                         (read from standard input)
      --new-client       register Keyturn anew there: for a page that shows an
                         error because the server has forgotten Keyturn
      --timeout SECONDS  how long to wait for you (default 600)
      --json             print the grant
  -h, --help             show this

A second login for a sign-in that waits shows its address again and waits along.
With --new-client both go on at a page of the new client.

--device and --paste are for machines that your browser can't reach, over ssh say.

Examples:
  keyturn login https://notes.example/mcp --account work
  keyturn login https://notes.example/mcp --paste
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
        device: { type: 'boolean' },
        paste: { type: 'boolean' },
        'new-client': { type: 'boolean' },
        timeout: { type: 'string' },
        json: { type: 'boolean' },
      },
      { names: ['RESOURCE'], command: 'login' },
    );
    const resource = resourceFrom(positionals[0] ?? '');
    const scope = scopeFrom(values.scope);
    const timeout = secondsFrom(values.timeout, '--timeout', 'login');
    if (values.device && values.paste) throw usage('--device and --paste exclude each other', 'login');
    const method = values.device ? 'device' : values.paste ? 'paste' : 'browser';
    const request = {
      resource,
      method,
      ...scope,
      ...(values.account === undefined ? {} : { account: values.account }),
      ...(values.issuer === undefined ? {} : { issuer: values.issuer }),
      ...(values['new-client'] ? { newClient: true as const } : {}),
      ...(timeout === undefined ? {} : { timeout }),
    } as const;
    // Whoever stopped the broker meant that: only the first try starts one.
    const { grant } = await throughTakeover(async (isFirst) =>
      signIn(await (isFirst ? connect() : connectAsOwner()), request),
    );
    if (values.json) printJson(grant);
    return exitCodes.ok;
  },
};

async function signIn(connection: Connection, request: ParamsOf<'login.start'>) {
  return interruptible(connection, async () => {
    const over = await watchOwn(connection, request);
    return call(connection, 'login.start', request).finally(over);
  });
}

/** Shows the sign-in that is about to start. Resolves with what ends that, and the reading of standard input. */
async function watchOwn(connection: Connection, request: ParamsOf<'login.start'>): Promise<() => void> {
  let reading: AbortController | undefined;
  const { resource, account, method = 'browser' } = request;
  const { earlier, joined } = await openBefore(connection, { resource, account, method });
  const onPage = (id: string): void => {
    // A second page replaces the first, e.g. after the server had forgotten our registration.
    reading?.abort();
    reading = new AbortController();
    // Its refusals are told where they arise.
    pasteAddress(connection, id, reading.signal).catch(() => undefined);
  };
  // What the person is told must not decide whether the sign-in succeeds.
  watchQuestions(
    connection,
    { resource },
    {
      earlier,
      // Its page is over at once where this login wants a new client.
      ...(joined === undefined || request.newClient ? {} : { joined }),
      ...(method === 'paste' ? { onPage } : {}),
    },
  ).catch(() => undefined);
  return () => reading?.abort();
}
