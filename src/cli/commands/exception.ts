/** `keyturn exception`: a rule that is switched off for one server, or one private host that is confirmed. */
import { isIPv6 } from 'node:net';
import { ask } from '../broker/request.ts';
import { defineCommand, defineNoun } from '../terminal/command.ts';
import { hostOf, printJson, printTable, say } from '../terminal/output.ts';
import { jsonOption } from '../terminal/statement.ts';

const rules = ['issuer-mismatch', 'no-resource', 'no-pkce-metadata', 'audience', 'private-address'] as const;

const operands = [{ name: 'SERVER' }, { name: 'RULE', values: rules }] as const;

const terms = {
  'issuer-mismatch': "the server's metadata may name another issuer",
  'no-resource': 'leave out the resource parameter, which it refuses',
  'no-pkce-metadata': 'its metadata may say nothing about PKCE',
  audience: 'its tokens may name another server, which could then use them',
  'private-address': 'the host may have a private address, and servers may lead to it',
} as const;

const add = defineCommand(
  {
    name: 'exception add',
    summary: 'Make an exception from a rule for one server',
    operands,
    about:
      "Switch off one rule for one server that doesn't keep it. SERVER is the URL of an MCP server or an authorization server; for private-address, a host.",
    terms,
    notes: [
      'Each of the first four is a MUST of the MCP authorization specification: ask the operator of the server to fix it. PKCE itself is never switched off.',
    ],
    examples: [
      'keyturn exception add https://login.example/tenant issuer-mismatch',
      'keyturn exception add tools.intern.example private-address',
    ],
  },
  async ({ operands: [server, rule] }) => set(server, rule, true),
);

const remove = defineCommand(
  {
    name: 'exception remove',
    summary: 'Switch a rule on again for a server',
    operands,
    about: 'Switch a rule on again for a server. RULE is as in `keyturn exception list`.',
    examples: ['keyturn exception remove https://login.example/tenant issuer-mismatch'],
  },
  async ({ operands: [server, rule] }) => set(server, rule, false),
);

const list = defineCommand(
  {
    name: 'exception list',
    summary: 'List the exceptions',
    options: { json: jsonOption('them') },
    about: 'List the servers for which a rule is switched off.',
    examples: ['keyturn exception list'],
  },
  async ({ options }) => {
    const { exceptions, homeState } = await ask('status', {});
    const { notVerified } = await import('../../ipc/protocol/methods.ts');
    if (exceptions.length > 0 && homeState.state === 'unchecked') say(`keyturn: ${notVerified}`);
    if (options.json) printJson(exceptions);
    else if (exceptions.length === 0) say('No exceptions: every rule applies to every server.');
    else
      printTable(
        ['SERVER', 'RULE'],
        exceptions.flatMap(({ server, names }) =>
          names.map((name) => [name === 'private-address' ? hostOf(server) : server, name]),
        ),
      );
  },
);

export const command = defineNoun(
  'exception',
  'Make an exception for a server that breaks the specification',
  { add, list, remove },
  'list',
);

async function set(named: string, name: (typeof rules)[number], on: boolean): Promise<void> {
  // A host may be typed without a scheme; an address of IPv6 also without its brackets.
  const isHost = name === 'private-address' && !named.includes('://');
  const server = isHost ? `https://${isIPv6(named) ? `[${named}]` : named}` : named;
  await ask('exception.set', { server, name, on });
}
