/**
 * `keyturn api-key`: API keys, for servers that take a static key instead of a sign-in.
 *
 * Invariant: the key comes in by standard input or is typed without an echo, never as an argument: argv is public.
 * Nothing here prints one.
 */
import { KeyturnError, quoted } from '../../base/errors.ts';
import { resourceFrom, UsageError } from '../terminal/arguments.ts';
import { keyNamed } from '../broker/named-sign-in.ts';
import { ask } from '../broker/request.ts';
import { defineCommand, defineNoun } from '../terminal/command.ts';
import { showApiKeys } from '../words/api-key-rows.ts';
import { printJson, say } from '../terminal/output.ts';
import { askUnseen } from '../terminal/passphrase-prompt.ts';
import { type Input, jsonOption, type Statement } from '../terminal/statement.ts';
import { readStandardInput } from '../terminal/standard-input.ts';

/** The value of `--scheme` for a key without a scheme. No server's scheme has this name. */
const noScheme = 'none';

const statement = {
  name: 'api-key set',
  summary: 'Set or replace the API key for an MCP server',
  operands: [{ name: 'URL' }],
  tooMany:
    'A key never goes on the command line, which other programs can read and your shell remembers. Type it when keyturn asks, or give it on standard input with --api-key-stdin. If this was the key, make another one at the server',
  options: {
    header: {
      type: 'string',
      value: 'NAME',
      summary: 'the header that the API key goes in',
      more: ', e.g. X-Api-Key; without it, that of the stored API key, else Authorization',
    },
    scheme: {
      type: 'string',
      value: 'NAME',
      summary: 'the word before the API key in that header',
      more: `, or ${noScheme}; without it and --header, that of the stored API key; else Bearer in Authorization only`,
    },
    'api-key-stdin': {
      type: 'boolean',
      summary: 'read the API key from standard input',
      more: '; without it, you type it unseen',
    },
    unchecked: {
      type: 'boolean',
      summary: "don't check whether the server offers a sign-in",
      more: '; for one that does and takes API keys as well, or that does not answer now',
    },
  },
  about:
    'Set the API key or personal token of an MCP server that has no sign-in. Only the apps that you allow it get it. A server that offers a sign-in is refused.',
  notes: [
    'A permission for tokens gives no API key. Allow an app the API key with: `keyturn app allow APP URL --api-key`',
  ],
  examples: [
    'keyturn api-key set https://tickets.example/mcp --header X-Api-Key',
    'pass show tickets/key | keyturn api-key set https://tickets.example/mcp --api-key-stdin',
  ],
} as const satisfies Statement;

type Values = Input<typeof statement>['options'];

const setApiKey = defineCommand(statement, async ({ options, operands: [url] }) =>
  set(resourceFrom(url), options),
);

const list = defineCommand(
  {
    name: 'api-key list',
    summary: 'List the API keys and the apps that may have each',
    options: { json: jsonOption('them') },
    about: 'List the servers with an API key, and the apps that may have each. Never prints a key.',
    examples: ['keyturn api-key list'],
  },
  async ({ options }) => {
    const { apiKeys } = await ask('apiKey.list', {});
    if (options.json) printJson(apiKeys);
    else if (apiKeys.length === 0) say('No API keys. Set one with: keyturn api-key set URL');
    else showApiKeys(apiKeys);
  },
);

const remove = defineCommand(
  {
    name: 'api-key remove',
    summary: 'Remove an API key and the permissions for it',
    operands: [{ name: 'URL' }],
    about:
      'Remove an API key and the permissions for it. The server keeps accepting the key until you end it there.',
    examples: ['keyturn api-key remove https://tickets.example/mcp'],
  },
  async ({ operands: [url] }) => {
    await ask('apiKey.remove', { resource: resourceFrom(url) });
  },
);

export const command = defineNoun(
  'api-key',
  'Set, list and remove API keys, for MCP servers without a sign-in',
  { set: setApiKey, list, remove },
  'list',
);

async function set(
  resource: string,
  { header: named, scheme, 'api-key-stdin': isPiped, unchecked }: Values,
): Promise<void> {
  const stored = named === undefined ? keyNamed(resource, (await ask('apiKey.list', {})).apiKeys) : undefined;
  const header = named ?? stored?.header ?? 'Authorization';
  const usual = header.toLowerCase() === 'authorization' ? 'Bearer' : noScheme;
  const word = scheme ?? (stored ? (stored.scheme ?? noScheme) : usual);
  const { methods } = await import('../../ipc/protocol/methods.ts');
  const place = { resource, header, ...(word === noScheme ? {} : { scheme: word }) };
  const { shape } = methods['apiKey.set'].params;
  if (!shape.header.safeParse(header).success)
    throw new UsageError(`--header: ${quoted(header)} is no name of a header`);
  if (!shape.scheme.safeParse(word).success) throw new UsageError(`--scheme: ${quoted(word)} is no scheme`);
  const typed = isPiped
    ? await readStandardInput()
    : await askUnseen(`the API key for ${resource}`, 'A key', '--api-key-stdin');
  // Without the end of its line, which `echo` and editors put there.
  const value = typed.replace(/\r?\n$/, '');
  // Says nothing of what it is: it may be a key with a slip in it.
  if (!shape.value.safeParse(value).success)
    throw new KeyturnError('invalid_request', 'What was given is no API key.', {
      rule: 'A key is one word of visible ASCII characters, at most 8192',
      hint: 'Give the key alone: no spaces, no name of a header, and no word such as Bearer before it (--scheme names that).',
    });
  const { replaced, permissionsStay } = await ask('apiKey.set', {
    ...place,
    value,
    ...(unchecked ? { unchecked: true as const } : {}),
  });
  if (!replaced) return;
  say(
    permissionsStay
      ? 'keyturn: this replaces the key that was there. The apps that may have it get this one from now on.'
      : 'keyturn: this replaces the key that was there. It goes in another way, so the permissions for it have ended.',
  );
}
