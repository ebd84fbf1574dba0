/** `keyturn oauth-client add ISSUER`: client information that the user obtained by registering Keyturn there. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { quoted, shellWord } from '../../../base/errors.ts';
import type { ParamsOf } from '../../../ipc/protocol/methods.ts';
import { UsageError } from '../../terminal/arguments.ts';
import { ask } from '../../broker/request.ts';
import { defineCommand } from '../../terminal/command.ts';
import type { Input, Statement } from '../../terminal/statement.ts';
import { print, say } from '../../terminal/output.ts';
import { secretFromStdin } from '../../terminal/standard-input.ts';

const statement = {
  name: 'oauth-client add',
  summary: 'Add an OAuth client that you registered yourself',
  operands: [{ name: 'ISSUER' }],
  options: {
    'client-id': { type: 'string', value: 'ID', summary: 'the client id' },
    'client-secret-stdin': { type: 'boolean', summary: 'read the client secret from standard input' },
    'private-key': {
      type: 'string',
      value: 'FILE',
      summary: 'the private key, PEM or JWK, for private_key_jwt',
    },
    alg: {
      type: 'string',
      value: 'ALG',
      values: ['ES256', 'RS256', 'PS256', 'EdDSA'],
      summary: 'what the private key signs with',
      more: ': ES256, RS256, PS256, EdDSA; by default the one that fits the private key',
    },
    'auth-method': {
      type: 'string',
      value: 'METHOD',
      values: ['none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt'],
      summary: 'how the client authenticates',
      more: ': none, client_secret_basic, client_secret_post, private_key_jwt; by default the one that fits the secret or private key',
    },
    'redirect-uri': {
      type: 'string',
      value: 'URI',
      summary: 'the redirect URI as registered',
      more: ', e.g. http://127.0.0.1:53123/callback; without it one is chosen',
    },
    'grant-type': {
      type: 'string',
      value: 'TYPE',
      values: ['authorization_code', 'client_credentials', 'id-jag', 'jwt-bearer'],
      summary: 'how tokens are obtained',
      more: ': authorization_code (the default), client_credentials, id-jag, jwt-bearer',
    },
    idp: {
      type: 'string',
      value: 'ISSUER',
      summary: "for id-jag: the company's identity provider",
      more: ', where you sign in, or whose ID token is in a file',
    },
    'idp-client-id': {
      type: 'string',
      value: 'ID',
      summary: 'with --id-token-file: the client id at the identity provider',
    },
    'id-token-file': {
      type: 'string',
      value: 'FILE',
      summary: 'for id-jag: the file with the ID token',
      more: ' that another program keeps there; read at each use',
    },
    assertion: {
      type: 'string',
      value: 'SOURCE',
      summary: 'for jwt-bearer: the source of the assertion',
      more: ': file:PATH, command:COMMAND or env:NAME; read at each use',
    },
  },
  usage: ['oauth-client add ISSUER --client-id ID [OPTION]...'],
  about:
    'Add an OAuth client that you registered yourself at an authorization server (ISSUER). Prints the redirect URI that this client needs there.',
  examples: [
    'keyturn oauth-client add https://login.example --client-id abc',
    'pass show work/keyturn | keyturn oauth-client add https://login.example --client-id abc --client-secret-stdin',
    'keyturn oauth-client add https://login.example --client-id job --grant-type jwt-bearer --assertion file:/var/run/secrets/tokens/login',
    'keyturn oauth-client add https://login.example --client-id bot --private-key bot.pem --grant-type client_credentials',
    'pass show work/keyturn | keyturn oauth-client add https://login.example --client-id abc --client-secret-stdin --grant-type id-jag --idp https://idp.example',
  ],
} as const satisfies Statement;

type Values = Input<typeof statement>['options'];

export const addClient = defineCommand(statement, async ({ options, operands: [issuer] }) => {
  const entry = await entryFrom(issuer, options);
  const { redirectUri, replaced } = await ask('oauthClient.add', entry);
  if (redirectUri !== undefined) print(redirectUri);
  if (replaced !== undefined)
    say(
      replaced === entry.clientId
        ? `keyturn: this replaces the client that was entered for ${quoted(replaced)} before.`
        : `keyturn: this replaces the client ${quoted(replaced)}. Keyturn has forgotten that one; it stays registered at the authorization server until you remove it there.`,
    );
  if (await isKnownServer(entry.issuer))
    say(
      `keyturn: ${quoted(entry.issuer)} is an MCP server here. A client is entered at its authorization server, which keyturn sign-in list names. ` +
        `To remove this one: keyturn oauth-client remove ${shellWord(entry.issuer)}`,
    );
});

/** Whether a sign-in or a permission is for this URL. */
async function isKnownServer(url: string): Promise<boolean> {
  const { signIns } = await ask('signIn.list', {});
  const { apps } = await ask('app.list', {});
  const permissions = apps.flatMap((app) => app.permissions);
  return [
    ...signIns.map(({ endpoint }) => endpoint),
    ...permissions.map(({ resource }) => resource),
  ].includes(url);
}

/** The wire's own schema says whether the words given are ones it knows. */
async function entryFrom(issuer: string, values: Values): Promise<ParamsOf<'oauthClient.add'>> {
  const keyFile = values['private-key'];
  const { methods } = await import('../../../ipc/protocol/methods.ts');
  const parsed = methods['oauthClient.add'].params.safeParse({
    issuer,
    clientId: values['client-id'],
    clientSecret: values['client-secret-stdin'] ? await secretFromStdin() : undefined,
    privateKey: keyFile === undefined ? undefined : await textOf(keyFile),
    alg: values.alg,
    authMethod: values['auth-method'],
    redirectUri: values['redirect-uri'],
    grantType: values['grant-type'],
    idp: identityProviderFrom(values),
    assertion: sourceFrom(values.assertion),
  });
  if (parsed.success) return parsed.data;
  const [field] = parsed.error.issues[0]?.path ?? [];
  throw new UsageError(
    field === 'issuer'
      ? 'ISSUER is no URL of an issuer'
      : `--${String(field).replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)} is missing or has a value of a wrong form`,
  );
}

function identityProviderFrom(values: Values): object | undefined {
  const { idp: issuer, 'idp-client-id': clientId, 'id-token-file': file } = values;
  const hasFile = file !== undefined;
  if (issuer === undefined && clientId === undefined && !hasFile) return undefined;
  if (issuer === undefined || hasFile !== (clientId !== undefined)) {
    throw new UsageError('--idp goes alone, or with both --idp-client-id and --id-token-file');
  }
  // The broker reads it later, from wherever it runs.
  return hasFile ? { issuer, clientId, idTokenFile: path.resolve(file) } : { issuer };
}

/** The broker reads the file later, from wherever it runs. */
function sourceFrom(source: string | undefined): string | undefined {
  const [, file] = /^file:(.+)$/s.exec(source ?? '') ?? [];
  return file === undefined ? source : `file:${path.resolve(file)}`;
}

async function textOf(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch {
    throw new UsageError(`${file} can't be read`);
  }
}
