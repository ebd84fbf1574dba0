/** `keyturn login URL`: signs in on purpose, even if earlier tries failed. */
import { createInterface } from 'node:readline';
import { quoted } from '../../base/errors.ts';
import { resourceFrom, scopeFrom, waitFrom, UsageError } from '../terminal/arguments.ts';
import { ask, call } from '../broker/request.ts';
import { secretFromStdin } from '../terminal/standard-input.ts';
import { defineCommand } from '../terminal/command.ts';
import { accountOption, jsonOption, scopeOption } from '../terminal/statement.ts';
import { timeoutOption } from '../terminal/token-options.ts';
import type { Connection } from '../../client/connection.ts';
import { connectAsOwner } from '../../client/connect.ts';
import type { ParamsOf } from '../../ipc/protocol/methods.ts';
import { connect, interruptible, throughTakeover } from '../broker/connection.ts';
import { type OwnClient, signInWith, type SettableException } from '../../daemon/own-client.ts';
import { hasSaid, printJson, refuse, say } from '../terminal/output.ts';
import { questionsBefore, watchQuestions } from '../waiting/watch.ts';

export const command = defineCommand(
  {
    name: 'login',
    summary: 'Sign in to an MCP server',
    operands: [{ name: 'URL' }],
    options: {
      scope: scopeOption(
        'ask for this scope instead of those that the server names',
        '. Until `logout`, a later login without it asks for the same',
      ),
      account: accountOption('your name for this account, if you have several'),
      issuer: {
        type: 'string',
        value: 'ISSUER',
        summary: 'the authorization server, if the MCP server names several or none',
      },
      device: { type: 'boolean', summary: 'sign in on another device, with a code (RFC 8628)' },
      paste: {
        type: 'boolean',
        summary: 'sign in elsewhere, and paste the address it ends at',
        more: ' (read from standard input)',
      },
      'client-id': {
        type: 'string',
        value: 'ID',
        summary: 'with this OAuth client, which you registered yourself',
        more: '; it is kept for that authorization server',
      },
      'client-secret-stdin': {
        type: 'boolean',
        summary: "read that client's secret from standard input",
        more: '; it goes only to an authorization server that was shown to you, or that --issuer names',
      },
      'new-client': {
        type: 'boolean',
        summary: 'register Keyturn there again',
        more: ': for a page that shows an error because the server has forgotten Keyturn',
      },
      timeout: timeoutOption('how long to wait for you', '10m'),
      json: jsonOption('the sign-in'),
    },
    about: 'Sign in to an MCP server. Opens your browser, and prints the address too.',
    notes: [
      'A login serves apps that wait, and without --scope adds their scopes. Equal logins share a page, with --new-client a new one.',
      "--device and --paste are for machines that your browser can't reach, over ssh for example.",
    ],
    examples: [
      'keyturn login https://notes.example/mcp --account work',
      'keyturn login https://notes.example/mcp --paste',
      'pass show work/keyturn | keyturn login https://notes.example/mcp --client-id abc --client-secret-stdin',
    ],
  },
  async ({ options, operands: [named] }) => {
    const resource = resourceFrom(named);
    const scope = scopeFrom(options.scope);
    const timeout = waitFrom(options.timeout, '--timeout');
    if (options.device && options.paste) throw new UsageError('--device and --paste exclude each other');
    const method = options.device ? 'device' : options.paste ? 'paste' : 'browser';
    const request = {
      resource,
      method,
      ...scope,
      account: options.account,
      issuer: options.issuer,
      newClient: options['new-client'] || undefined,
      timeout,
    } as const;
    // Somebody stopped the broker on purpose: only the first try starts one.
    const start = async () =>
      throughTakeover(async (isFirst, reached) => {
        const connection = await (isFirst ? connect() : connectAsOwner());
        reached();
        return startSignIn(connection, request);
      });
    const client = await clientFrom(options);
    const { signIn } = await (client ? signInWith({ ask, says }, request, client, start) : start());
    if (options.json) printJson(signIn);
    // Without a terminal only what was shown before gets its end: a page to open elsewhere, or a refused address.
    else if (process.stderr.isTTY || (method !== 'browser' && hasSaid()))
      say(
        `keyturn: you are signed in to ${signIn.endpoint}${signIn.account === undefined ? '' : ` as ${quoted(signIn.account)}`}.`,
      );
  },
);

interface ClientOptions {
  readonly 'client-id'?: string;
  readonly 'client-secret-stdin'?: boolean;
  readonly 'new-client'?: boolean;
  readonly paste?: boolean;
}

async function clientFrom(options: ClientOptions): Promise<OwnClient | undefined> {
  const { 'client-id': clientId, 'client-secret-stdin': hasSecret = false, paste = false } = options;
  if (clientId === undefined) {
    if (hasSecret) throw new UsageError('--client-secret-stdin goes with --client-id');
    return undefined;
  }
  if (options['new-client']) throw new UsageError('--client-id and --new-client exclude each other');
  if (hasSecret && paste)
    throw new UsageError(
      '--paste and --client-secret-stdin both read standard input: add the client with keyturn oauth-client add',
    );
  return { clientId, clientSecret: hasSecret ? await secretFromStdin() : undefined };
}

async function startSignIn(connection: Connection, request: ParamsOf<'signIn.start'>) {
  return interruptible(connection, async () => {
    const endReading = await watchOwn(connection, request);
    return call(connection, 'signIn.start', request).finally(endReading);
  });
}

/** Shows the sign-in that is about to start. Resolves with what ends the reading of standard input. */
async function watchOwn(connection: Connection, request: ParamsOf<'signIn.start'>): Promise<() => void> {
  let reading: AbortController | undefined;
  const { resource, method } = request;
  const earlier = await questionsBefore(connection);
  const onPage = (id: string): void => {
    // A second page replaces the first, e.g. after the server had forgotten our registration.
    reading?.abort();
    reading = new AbortController();
    // It prints its refusals itself.
    pasteAddress(connection, id, reading.signal).catch(() => undefined);
  };
  // A failure to show the question must not end the sign-in.
  const own = {
    earlier,
    onPage: method === 'paste' ? onPage : undefined,
  };
  watchQuestions(connection, { resource }, own).catch(() => undefined);
  return () => reading?.abort();
}

/**
 * The address that a browser elsewhere ended at, from standard input to the sign-in that waits. It holds a code: it is
 * passed on and never printed. A wrong one is refused and the next line is tried. Reads lines until one is taken, the
 * input ends, or `signal` aborts.
 */
async function pasteAddress(connection: Connection, id: string, signal: AbortSignal): Promise<void> {
  say('keyturn: when the browser shows an address that it cannot open, paste that whole address here:');
  for await (const line of createInterface({ input: process.stdin, signal })) {
    if (line.trim() === '') continue;
    try {
      await call(connection, 'signIn.answer', { id, redirect: line.trim() });
      return;
    } catch (error) {
      if (!signal.aborted) refuse(error);
    }
  }
  if (signal.aborted) return;
  // Nothing can come any more: waiting on would only look like a hang.
  say('keyturn: standard input ended before an address of this sign-in came.');
  await call(connection, 'request.answer', { id, answer: 'deny' });
}

const exceptionLines: Readonly<Record<SettableException, string>> = {
  'no-pkce-metadata':
    'The metadata of its authorization server says nothing of PKCE. Keyturn uses it all the same.',
  'no-resource': 'Its authorization server takes no `resource` parameter. Keyturn leaves it out there.',
};

/** What a sign-in with a client that you registered by hand says. */
const says = {
  redirect: (issuer: string, redirectUri: string): void =>
    say(`keyturn: at ${quoted(issuer)} this client needs the redirect URI ${redirectUri}`),
  exception: (name: SettableException): void =>
    say(`keyturn: ${exceptionLines[name]} (\`keyturn exception\` shows that.)`),
};
