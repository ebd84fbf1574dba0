/** `keyturn oauth-client`: the clients that Keyturn is at authorization servers. Never prints a secret. */
import { KeyturnError, quoted } from '../../base/errors.ts';
import type { ResultOf } from '../../ipc/protocol/methods.ts';
import { ask } from '../broker/request.ts';
import { defineCommand, defineNoun } from '../terminal/command.ts';
import { print, printJson, printTable, when } from '../terminal/output.ts';
import { jsonOption } from '../terminal/statement.ts';
import { addClient } from './oauth-client/add.ts';

const list = defineCommand(
  {
    name: 'oauth-client list',
    summary: 'List the OAuth clients',
    options: { json: jsonOption('them') },
    about: 'List the OAuth clients that Keyturn has at authorization servers. Never prints a secret.',
    examples: ['keyturn oauth-client list'],
  },
  async ({ options }) => {
    const { oauthClients } = await ask('oauthClient.list', {});
    if (options.json) return printJson(oauthClients);
    const names = ['AUTHORIZATION SERVER', 'CLIENT ID', 'REGISTERED', 'HOW', 'STATE'];
    printTable([...names, 'AUTH METHOD', 'GRANT TYPE', 'REDIRECT URI'], oauthClients.map(row));
  },
);

const remove = defineCommand(
  {
    name: 'oauth-client remove',
    summary: 'Remove an OAuth client',
    operands: [{ name: 'ISSUER' }],
    options: {
      'client-id': { type: 'string', value: 'ID', summary: 'this client, not the one that you added' },
    },
    about: 'Remove an OAuth client: the one that you added for ISSUER. Refused while a sign-in needs it.',
    examples: ['keyturn oauth-client remove https://login.example'],
  },
  async ({ options, operands: [issuer] }) => {
    // Without a client ID the added one, of which an issuer has one at most.
    await ask('oauthClient.remove', { issuer, clientId: options['client-id'] ?? (await enteredAt(issuer)) });
  },
);

const metadata = defineCommand(
  {
    name: 'oauth-client metadata',
    summary: 'Print a client ID metadata document to host yourself',
    operands: [{ name: 'URL' }],
    about:
      'Print the client ID metadata document to host at URL, an https URL with a path. Servers that take such documents then know Keyturn by this URL.',
    notes: ['Serve it as application/json, and create the home with KEYTURN_CLIENT_METADATA_URL=URL.'],
    examples: ['keyturn oauth-client metadata https://example.com/keyturn.json > keyturn.json'],
  },
  async ({ operands: [url] }) => {
    const { documentRedirectUris } = await import('../../broker/destination/redirect.ts');
    const { clientMetadataDocument } = await import('../../oauth/client/client-metadata.ts');
    const document = clientMetadataDocument(url, documentRedirectUris);
    for (const line of JSON.stringify(document, undefined, 2).split('\n')) print(line);
  },
);

export const command = defineNoun(
  'oauth-client',
  'Add, list and remove OAuth clients; print a metadata document',
  { add: addClient, list, remove, metadata },
  'list',
);

type OAuthClient = ResultOf<'oauthClient.list'>['oauthClients'][number];

const sources = {
  preregistered: 'added',
  metadata_document: 'metadata document',
  dynamic: 'automatically',
} as const satisfies Record<OAuthClient['source'], string>;

function row({
  issuer,
  clientId,
  registeredAt,
  source,
  state,
  authMethod,
  grantType,
  redirectUri,
}: OAuthClient): string[] {
  return [
    issuer,
    clientId,
    when(registeredAt),
    sources[source],
    state ?? 'in use',
    authMethod,
    grantType ?? 'authorization_code',
    redirectUri ?? '-',
  ];
}

async function enteredAt(issuer: string): Promise<string> {
  const { oauthClients } = await ask('oauthClient.list', {});
  const entered = oauthClients.find((one) => one.issuer === issuer && one.source === 'preregistered');
  if (entered) return entered.clientId;
  throw new KeyturnError('not_found', `No client was added for ${quoted(issuer)}.`, {
    hint: '`keyturn oauth-client` lists the clients. For one that was registered automatically: keyturn oauth-client remove ISSUER --client-id ID',
  });
}
