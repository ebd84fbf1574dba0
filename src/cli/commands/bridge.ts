/**
 * `keyturn bridge URL`: lets an MCP client that starts its servers as programs use an MCP server over HTTP.
 *
 * Invariant: stdout carries the protocol's messages and nothing else.
 * The client gets each refusal too, in its protocol.
 */
import { exitCodes, KeyturnError, reasons } from '../../base/errors.ts';
import { locate } from '../../client/connect.ts';
import { endpointUrl } from '../../client/endpoint-url.ts';
import type { TransportChoice } from '../../bridge/eras/eras.ts';
import type { Connection } from '../../client/connection.ts';
import { appKeyFile } from '../../client/app-key-file.ts';
import { startEntry } from '../apps/entry.ts';
import { entryName } from '../apps/entry-name.ts';
import { headersFrom, withHeaders } from '../apps/extra-headers.ts';
import { translated } from '../../setup/mcp-remote.ts';
import { accountFrom } from '../terminal/arguments.ts';
import { type Command, defineCommand } from '../terminal/command.ts';
import { refuse, say } from '../terminal/output.ts';
import { accountOption, type Statement } from '../terminal/statement.ts';

const statement = {
  name: 'bridge',
  summary: 'Connect an MCP client to an MCP server over stdio',
  operands: [{ name: 'URL' }],
  options: {
    as: {
      type: 'string',
      value: 'NAME',
      summary: 'the app name of this entry',
      more: ' (default: made of the URL and the program that starts it)',
    },
    account: accountOption('which account, if you have several'),
    header: {
      type: 'string',
      value: '"NAME: VALUE"',
      summary: 'send this header too',
      more: '; ${VAR} in it is taken from the environment; may be repeated',
      repeatable: true,
    },
    'header-file': {
      type: 'string',
      value: 'FILE',
      summary: 'send the headers of this file too',
      more: ', one a line; may be repeated',
      repeatable: true,
    },
    'ignore-tool': {
      type: 'string',
      value: 'PATTERN',
      summary: 'leave out tools of this name',
      more: '; * stands for any characters; may be repeated',
      repeatable: true,
    },
    transport: {
      type: 'string',
      value: 'CHOICE',
      values: ['http-first', 'sse-first', 'http-only', 'sse-only'],
      summary: 'which transport to try, and in which order',
      more: ' (default: http-first)',
    },
  },
  about:
    'Connect an MCP client that starts its servers as programs (stdio) to an MCP server over HTTP, with tokens of the broker. The client sees no token.',
  notes: [
    'The first start asks you to pair the entry, to allow it and to sign in. It waits 20 seconds for you; the requests stay open for ten minutes. `keyturn connect` does this before.',
    "It takes the arguments of mcp-remote 0.15.1, and names those that it doesn't need. Those that say who signs in are refused.",
    'One message may have 64 MiB. Errors go to standard error and to the client.',
  ],
  exitCodes: { 0: 'the client is gone', 2: 'usage' },
  examples: [
    'keyturn bridge https://notes.example/mcp --as my-editor',
    'keyturn bridge https://notes.example/mcp --ignore-tool "delete_*"',
  ],
} as const satisfies Statement;

/** The client, or what it starts its servers with. */
const startedBy = process.ppid;

const carry = defineCommand(statement, async ({ operands: [url], options }) => {
  const endpoint = endpointUrl(url);
  const { as, header, 'header-file': files, 'ignore-tool': ignored = [], transport } = options;
  const named = accountFrom(options.account);
  const entry = { name: as ?? entryName(endpoint), resource: endpoint.href, ...named };
  // Throws for a name that can't be paired, before a client speaks.
  appKeyFile(locate().paths, entry.name);
  const headers = await headersFrom({ header, 'header-file': files }, endpoint.href);
  // For a client that shows this, and gives up before the answer to its `initialize` says more.
  const waits = (): void =>
    say(
      `keyturn: ${entry.name} waits for your answer or sign-in at ${entry.resource}. Answer in the Keyturn app, or with: keyturn request`,
    );
  const connection = async (): Promise<Connection> => startEntry(entry, { waits });
  await bridge(endpoint, connection, { headers, ignored, ...named, transport });
  // Connections that were kept open would keep the process alive.
  process.exit(exitCodes.ok);
});

interface Additions {
  readonly account?: string;
  readonly headers: ReadonlyMap<string, string>;
  readonly ignored: readonly string[];
  readonly transport?: TransportChoice | undefined;
}

async function bridge(
  endpoint: URL,
  connection: () => Promise<Connection>,
  { account, headers, ignored, transport }: Additions,
): Promise<void> {
  const [{ runBridge, abortWhenParentExits }, { bridgeFetch }, { ToolFilter }] = await Promise.all([
    import('../../bridge/bridge.ts'),
    import('../../bridge/network.ts'),
    import('../../bridge/tool-filter.ts'),
  ]);
  await runBridge({
    endpoint,
    connection,
    account,
    transport,
    stdin: process.stdin,
    stdout: process.stdout,
    say,
    signal: abortWhenParentExits(startedBy),
    fetchFor: async (broker) => withHeaders(await bridgeFetch(broker, endpoint.href), headers, endpoint.href),
    tools: new ToolFilter(ignored),
  });
}

/** A client shows what its server answers; few show what a server that ended wrote before. */
async function answerWith(error: KeyturnError): Promise<never> {
  refuse(error);
  const refused = async (): Promise<never> => {
    throw error;
  };
  await bridge(new URL('https://localhost/'), refused, { headers: new Map(), ignored: [] });
  process.exit(reasons[error.reason].exit);
}

export const command: Command = {
  statement,
  async run(args, all) {
    try {
      const { args: own, told } = translated(args);
      for (const line of told) say(line);
      return await carry.run(own, all);
    } catch (error) {
      const isForClient = error instanceof KeyturnError && !process.stdin.isTTY;
      if (isForClient) return answerWith(error);
      throw error;
    }
  },
};
