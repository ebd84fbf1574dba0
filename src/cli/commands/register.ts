/** `keyturn register ISSUER`: client information that the user obtained by registering Keyturn there; and what there is. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { exitCodes, quoted } from '../../base/errors.ts';
import { methods } from '../../ipc/protocol/protocol.ts';
import type { ParamsOf } from '../../ipc/protocol/protocol.ts';
import { parse, usage } from '../terminal/arguments.ts';
import { ask } from '../broker/command.ts';
import type { Command } from '../broker/command.ts';
import { grammar } from '../terminal/grammar.ts';
import { print, say } from '../terminal/output.ts';
import { listRegistered, removeRegistered } from './registered.ts';

const help = `Usage: keyturn register ISSUER --client-id ID [OPTION]...
       keyturn register --list [--json]
       keyturn register ISSUER --remove [--client-id ID]
Enter the client information you got by registering Keyturn at an issuer that
has no dynamic registration. Prints the redirect URI to register there.

      --client-id ID         the client id
      --client-secret-stdin  read the client secret from standard input
      --private-key FILE     the private key, PEM or JWK, for private_key_jwt
      --alg ALG              what the key signs with: ES256, RS256, PS256, EdDSA
      --auth-method METHOD   how the client authenticates: none,
                             client_secret_basic, client_secret_post,
                             private_key_jwt; without it, what secret or key call for
      --redirect-uri URI     the redirect URI as registered, e.g.
                             http://127.0.0.1:53123/callback; without it one is chosen
      --grant GRANT          how tokens are obtained: authorization_code (the
                             default), client_credentials, id-jag
      --idp ISSUER           for id-jag: the company's identity provider
      --idp-client-id ID     for id-jag: the client id there
      --id-token-file FILE   for id-jag: where the ID token lies; read at each use
      --list                 show the clients there are, those that were registered
                             by themselves too; never a secret
      --json                 print the list as JSON
      --remove               remove a client: the one that was entered for ISSUER, or
                             the one of --client-id; refused while a grant needs it
  -h, --help                 show this

Examples:
  keyturn register https://login.example --client-id abc
  pass show work/keyturn | keyturn register https://login.example --client-id abc --client-secret-stdin
  keyturn register https://login.example --client-id bot --private-key bot.pem --alg ES256 --grant client_credentials
`;

const options = {
  'client-id': { type: 'string' },
  'client-secret-stdin': { type: 'boolean' },
  'private-key': { type: 'string' },
  alg: { type: 'string' },
  'auth-method': { type: 'string' },
  'redirect-uri': { type: 'string' },
  grant: { type: 'string' },
  idp: { type: 'string' },
  'idp-client-id': { type: 'string' },
  'id-token-file': { type: 'string' },
  list: { type: 'boolean' },
  json: { type: 'boolean' },
  remove: { type: 'boolean' },
} as const;

type Values = ReturnType<typeof parse<typeof options>>['values'];

export const command: Command = {
  help,
  async run(args) {
    const { values, positionals } = parse(args, options, {
      names: ['ISSUER'],
      atLeast: 0,
      command: 'register',
    });
    const [issuer] = positionals;
    if (values.list) {
      requireOnly(values, ['list', 'json']);
      if (issuer !== undefined) throw usage('--list takes no ISSUER', 'register');
      await listRegistered(values.json ?? false);
      return exitCodes.ok;
    }
    if (values.json) throw usage('--json goes with --list', 'register');
    if (issuer === undefined) throw usage('ISSUER is missing', 'register');
    if (values.remove) {
      requireOnly(values, ['remove', 'client-id']);
      await removeRegistered(issuer, values['client-id']);
    } else await enter(await entryFrom(issuer, values));
    return exitCodes.ok;
  },
};

/** What would be ignored was meant for something. Throws `invalid_request`. */
function requireOnly(values: Values, allowed: readonly (keyof Values)[]): void {
  const known: readonly string[] = allowed;
  const other = Object.keys(values).find((flag) => !known.includes(flag));
  if (other !== undefined) throw usage(`--${other} doesn't go with --${allowed[0]}`, 'register');
}

async function enter(entry: ParamsOf<'registration.set'>): Promise<void> {
  const { redirectUri, replaced } = await ask('registration.set', entry);
  if (redirectUri !== undefined) print(redirectUri);
  if (replaced === undefined) return;
  say(
    replaced === entry.clientId
      ? `keyturn: this takes the place of what was entered for ${quoted(replaced)} before.`
      : `keyturn: this takes the place of the client ${quoted(replaced)}, which Keyturn has forgotten. It stays registered at the issuer until you end it there.`,
  );
}

/** The wire's own schema says whether the words given are ones it knows. */
async function entryFrom(issuer: string, values: Values): Promise<ParamsOf<'registration.set'>> {
  const keyFile = values['private-key'];
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
  });
  if (parsed.success) return parsed.data;
  const [field] = parsed.error.issues[0]?.path ?? [];
  throw usage(
    field === 'issuer' ? 'ISSUER is no URL of an issuer' : problemOf(String(field), values),
    'register',
  );
}

/** Repeats a value only where those that there are can be listed: another one may be a secret in the wrong place. */
function problemOf(field: string, values: Values): string {
  const name = flagOf(field);
  const { values: known } =
    grammar.find((entry) => entry.name === 'register')?.flags.find((flag) => `--${flag.name}` === name) ?? {};
  const given = { alg: values.alg, authMethod: values['auth-method'], grant: values.grant }[field];
  if (known !== undefined && given !== undefined)
    return `${name} takes ${known.join(', ')}; not ${quoted(given)}`;
  return `${name} is missing or has a value of a wrong form`;
}

/** `authMethod` → `--auth-method`. */
function flagOf(field: string): string {
  return `--${field.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

function identityProviderFrom(values: Values): object | undefined {
  const { idp: issuer, 'idp-client-id': clientId, 'id-token-file': file } = values;
  const given = [issuer, clientId, file].filter((value) => value !== undefined).length;
  if (given === 0) return undefined;
  if (given < 3 || file === undefined) {
    throw usage('--idp, --idp-client-id and --id-token-file belong together', 'register');
  }
  // The broker reads it later, from wherever it runs.
  return { issuer, clientId, idTokenFile: path.resolve(file) };
}

async function textOf(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch {
    throw usage(`${file} can't be read`, 'register');
  }
}

async function secretFromStdin(): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
  const secret = Buffer.concat(chunks)
    .toString('utf8')
    .replace(/\r?\n$/, '');
  if (secret === '') throw usage('--client-secret-stdin found nothing on standard input', 'register');
  return secret;
}
