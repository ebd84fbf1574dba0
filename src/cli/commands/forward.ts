/** `keyturn forward`: sockets by which apps elsewhere ask this broker. */
import { ask } from '../broker/request.ts';
import { defineCommand, defineNoun } from '../terminal/command.ts';
import { printJson, printTable, when } from '../terminal/output.ts';
import { jsonOption } from '../terminal/statement.ts';
import { openForward } from './forward/open.ts';

const list = defineCommand(
  {
    name: 'forward list',
    summary: 'List the open forwards',
    options: { json: jsonOption('them') },
    about: 'List the open forwards, their MCP servers and when each ends.',
    examples: ['keyturn forward list'],
  },
  async ({ options }) => {
    const { forwards } = await ask('forward.list', {});
    if (options.json) printJson(forwards);
    else
      printTable(
        ['FORWARD', 'HOST KEY', 'SERVERS', 'UNTIL', 'CONNECTIONS'],
        forwards.map(({ label, hostKey = '-', resources, until, connections }) => [
          label,
          hostKey,
          resources.join(', '),
          when(until),
          String(connections),
        ]),
      );
  },
);

const close = defineCommand(
  {
    name: 'forward close',
    summary: 'Close a forward',
    operands: [{ name: 'LABEL' }],
    about:
      'Close a forward: its socket and the connections over it end. LABEL is its name in `keyturn forward`.',
    examples: ['keyturn forward close build.example'],
  },
  async ({ operands: [label] }) => {
    await ask('forward.end', { forward: label });
  },
);

export const command = defineNoun(
  'forward',
  'Let apps on another machine or in a sandbox ask for tokens',
  { open: openForward, list, close },
  'list',
);
