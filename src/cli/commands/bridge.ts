/**
 * `keyturn bridge URL`: lets a client that starts its servers as programs use a protected server.
 *
 * Invariant: stdout carries the protocol's messages and nothing else. The SDK is loaded here and by no other command.
 */
import { connect } from '../../client/connect.ts';
import { endpointUrl } from '../../client/endpoint-url.ts';
import { exitCodes } from '../../base/errors.ts';
import { UsageError } from '../terminal/arguments.ts';
import { defineCommand } from '../terminal/command.ts';
import { say } from '../terminal/output.ts';
import type { Statement } from '../terminal/statement.ts';

const statement = {
  name: 'bridge',
  summary: 'let a program use a protected server over stdio',
  operands: [{ name: 'URL' }],
  options: {
    as: { type: 'string', value: 'NAME', summary: 'the paired program that this entry is' },
  },
  about:
    'Carry messages between a client that starts its servers as programs and a protected server, with tokens of the broker. The client sees none.',
  notes: [
    'It ends with its standard input, or with the process that started it. One message may have 64 MiB. Trouble goes to standard error, one line each, and to the client as an error of its protocol.',
  ],
  exitCodes: { 0: 'the client is gone', 2: 'usage' },
  examples: ['keyturn bridge https://notes.example/mcp --as my-editor'],
} as const satisfies Statement;

export const command = defineCommand(statement, async ({ operands: [url], options: { as: name } }) => {
  const endpoint = endpointUrl(url);
  if (name === undefined) throw new UsageError('keyturn bridge needs --as NAME');
  const [{ runBridge }, { bridgeFetch }, { whileWanted }] = await Promise.all([
    import('../../bridge/bridge.ts'),
    import('../../bridge/network.ts'),
    import('../../bridge/life.ts'),
  ]);
  await runBridge({
    endpoint,
    connection: async () => connect({ name }),
    stdin: process.stdin,
    stdout: process.stdout,
    say,
    signal: whileWanted(),
    fetch: bridgeFetch(),
  });
  // Connections that were kept open would keep the process alive.
  process.exit(exitCodes.ok);
});
