/**
 * `keyturn dev-server`: an authorization server and an MCP server on this computer, to try a client against.
 *
 * Invariant: it needs no broker and no home. It ends with an interrupt, and leaves nothing but a folder that was named.
 */
import { KeyturnError, shellWord } from '../../base/errors.ts';
import { isSingle } from '../../base/system/single.ts';
import type { Servers } from '../../serve/servers.ts';
import { defineCommand } from '../terminal/command.ts';
import { jsonOption } from '../terminal/statement.ts';
import { print, say } from '../terminal/output.ts';

export const command = defineCommand(
  {
    name: 'dev-server',
    summary: 'Run a test MCP server and authorization server',
    options: {
      config: {
        type: 'string',
        value: 'FILE',
        summary: 'a configuration, as JSON',
        more: ' (docs/servers/dev-server.md)',
      },
      events: { type: 'boolean', summary: 'print what the servers do as lines of JSON on standard error' },
      json: jsonOption('the addresses'),
    },
    about:
      'Run an MCP server and its authorization server on the loopback address until you interrupt them. Sign-ins there need no password.',
    notes: [
      'It needs the package oidc-provider beside Keyturn: `npm install oidc-provider@9`.',
      'Clients have to trust its certificate authority: set NODE_EXTRA_CA_CERTS to the file that it names.',
    ],
    exitCodes: { 0: 'ended by an interrupt' },
    examples: ['keyturn dev-server', 'keyturn dev-server --config dev-server.json --events'],
  },
  async ({ options: { config, json = false, events = false } }) => {
    if (isSingle)
      throw new KeyturnError('invalid_request', 'The one-file program has no test servers.', {
        hint: 'In a clone of Keyturn: npx keyturn dev-server',
      });
    const { parseConfiguration, readConfiguration } = await import('../../serve/configuration.ts');
    const configuration =
      config === undefined ? parseConfiguration({}, 'The default') : readConfiguration(config);
    const { startServers } = await import('../../serve/servers.ts');
    const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
    const ended = new Promise<void>((resolve) => {
      for (const signal of signals) process.on(signal, () => resolve());
    });
    const servers = await startServers(configuration, (event) => {
      if (events) say(JSON.stringify(event));
    });
    try {
      if (json) print(JSON.stringify(addresses(servers)));
      else for (const line of guide(servers, configuration.authorizationServer.accounts)) print(line);
      await ended;
    } finally {
      await servers.close();
    }
  },
);

function addresses({ issuer, resource, upstream, authorityFile }: Servers) {
  return { issuer, resource, upstream, authorities: authorityFile };
}

function guide(
  { issuer, resource, upstream, authorityFile }: Servers,
  accounts: readonly string[],
): string[] {
  return [
    `Authorization server  ${issuer}`,
    `MCP server            ${resource}`,
    ...(upstream === undefined ? [] : [`Upstream issuer       ${upstream}`]),
    `Accounts              ${accounts.join(', ')} (without a password)`,
    `Authority             ${authorityFile}`,
    '',
    'In a second terminal, with a home of its own:',
    `  export NODE_EXTRA_CA_CERTS=${shellWord(authorityFile)} KEYTURN_HOME=$(mktemp -d) KEYTURN_VAULT=memory`,
    `  keyturn app allow cli ${shellWord(resource)}`,
    `  keyturn token ${shellWord(resource)}`,
    '',
    'Interrupt (Ctrl-C) to end the servers.',
  ];
}
