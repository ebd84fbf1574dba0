/**
 * `keyturn register ISSUER`: client information that the user obtained by registering Keyturn there; and what there is.
 */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { exitCodes, quoted } from '../../base/errors.ts';
import type { ParamsOf } from '../../ipc/protocol/methods.ts';
import { UsageError } from '../terminal/arguments.ts';
import { ask } from '../broker/request.ts';
import { defineCommand } from '../terminal/command.ts';
import type { Input, Statement } from '../terminal/statement.ts';
import { print, say } from '../terminal/output.ts';
import { secretFromStdin } from '../terminal/standard-input.ts';
import { listRegistered, removeRegistered } from '../broker/registered.ts';

const statement = {
  name: 'register',
  summary: 'enter client information you obtained at an issuer',
  operands: [{ name: 'ISSUER', optional: true }],
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
      summary: 'what the key signs with',
      more: ': ES256, RS256, PS256, EdDSA',
    },
    'auth-method': {
      type: 'string',
      value: 'METHOD',
      values: ['none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt'],
      summary: 'how the client authenticates',
      more: ': none, client_secret_basic, client_secret_post, private_key_jwt; by default the one that fits the secret or key',
    },
    'redirect-uri': {
      type: 'string',
      value: 'URI',
      summary: 'the redirect URI as registered',
      more: ', e.g. http://127.0.0.1:53123/callback; without it one is chosen',
    },
    grant: {
      type: 'string',
      value: 'GRANT',
      values: ['authorization_code', 'client_credentials', 'id-jag', 'jwt-bearer'],
      summary: 'how tokens are obtained',
      more: ': authorization_code (the default), client_credentials, id-jag, jwt-bearer',
    },
    idp: {
      type: 'string',
      value: 'ISSUER',
      summary: "for id-jag: the company's identity provider",
      more: ', where you sign in, or whose ID token lies in a file',
    },
    'idp-client-id': {
      type: 'string',
      value: 'ID',
      summary: 'for id-jag with a file: the client id there',
    },
    'id-token-file': {
      type: 'string',
      value: 'FILE',
      summary: 'for id-jag: where another program keeps the ID token',
      more: '; read at each use',
    },
    assertion: {
      type: 'string',
      value: 'SOURCE',
      summary: "for jwt-bearer: where the workload's assertion comes from",
      more: ': file:PATH, command:COMMAND or env:NAME; read at each use',
    },
    list: {
      type: 'boolean',
      summary: 'show the clients there are',
      more: ', those that were registered by themselves too; never a secret',
    },
    json: { type: 'boolean', summary: 'print the list as JSON' },
    remove: {
      type: 'boolean',
      summary: 'remove a client',
      more: ': the one that was entered for ISSUER, or the one of --client-id; refused while a grant needs it',
    },
  },
  usage: [
    'register ISSUER --client-id ID [OPTION]...',
    'register --list [--json]',
    'register ISSUER --remove [--client-id ID]',
  ],
  about:
    'Enter the client information you got by registering Keyturn at an issuer that has no dynamic registration. Prints the redirect URI to register there.',
  examples: [
    'keyturn register https://login.example --client-id abc',
    'pass show work/keyturn | keyturn register https://login.example --client-id abc --client-secret-stdin',
    'keyturn register https://login.example --client-id job --grant jwt-bearer --assertion file:/var/run/secrets/tokens/login',
    'keyturn register https://login.example --client-id bot --private-key bot.pem --alg ES256 --grant client_credentials',
    'pass show work/keyturn | keyturn register https://login.example --client-id abc --client-secret-stdin --grant id-jag --idp https://idp.example',
  ],
} as const satisfies Statement;

type Values = Input<typeof statement>['options'];

export const command = defineCommand(statement, async ({ options: values, operands: [issuer] }) => {
  if (values.list) {
    requireOnly(values, ['list', 'json']);
    if (issuer !== undefined) throw new UsageError('--list takes no ISSUER');
    await listRegistered(values.json ?? false);
    return exitCodes.ok;
  }
  if (values.json) throw new UsageError('--json goes with --list');
  if (issuer === undefined) throw new UsageError('ISSUER is missing');
  if (values.remove) {
    requireOnly(values, ['remove', 'client-id']);
    await removeRegistered(issuer, values['client-id']);
  } else await enter(await entryFrom(issuer, values));
  return exitCodes.ok;
});

/** An option that would be ignored is refused: the person meant something by it. Throws `invalid_request`. */
function requireOnly(values: Values, allowed: readonly (keyof Values)[]): void {
  const known: readonly string[] = allowed;
  const other = Object.keys(values).find((option) => !known.includes(option));
  if (other !== undefined) throw new UsageError(`--${other} doesn't go with --${allowed[0]}`);
}

async function enter(entry: ParamsOf<'registration.set'>): Promise<void> {
  const { redirectUri, replaced } = await ask('registration.set', entry);
  if (redirectUri !== undefined) print(redirectUri);
  if (replaced === undefined) return;
  say(
    replaced === entry.clientId
      ? `keyturn: this replaces the client that was entered for ${quoted(replaced)} before.`
      : `keyturn: this replaces the client ${quoted(replaced)}. Keyturn has forgotten that one; it stays registered at the issuer until you remove it there.`,
  );
}

/** The wire's own schema says whether the words given are ones it knows. */
async function entryFrom(issuer: string, values: Values): Promise<ParamsOf<'registration.set'>> {
  const keyFile = values['private-key'];
  const { methods } = await import('../../ipc/protocol/methods.ts');
  const parsed = methods['registration.set'].params.safeParse({
    issuer,
    clientId: values['client-id'],
    clientSecret: values['client-secret-stdin'] ? await secretFromStdin() : undefined,
    privateKey: keyFile === undefined ? undefined : await textOf(keyFile),
    alg: values.alg,
    authMethod: values['auth-method'],
    redirectUri: values['redirect-uri'],
    grant: values.grant,
    idp: identityProviderFrom(values),
    assertion: sourceFrom(values.assertion),
  });
  if (parsed.success) return parsed.data;
  const [field] = parsed.error.issues[0]?.path ?? [];
  throw new UsageError(
    field === 'issuer'
      ? 'ISSUER is no URL of an issuer'
      : `${optionOf(String(field))} is missing or has a value of a wrong form`,
  );
}

/** `authMethod` → `--auth-method`. */
function optionOf(field: string): string {
  return `--${field.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

function identityProviderFrom(values: Values): object | undefined {
  const { idp: issuer, 'idp-client-id': clientId, 'id-token-file': file } = values;
  const hasFile = file !== undefined;
  if (issuer === undefined && clientId === undefined && !hasFile) return undefined;
  if (issuer === undefined || hasFile !== (clientId !== undefined)) {
    throw new UsageError('--idp stands alone, or with both --idp-client-id and --id-token-file');
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
