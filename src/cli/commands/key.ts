/**
 * `keyturn key set|list|remove`: API keys, for servers that take a static key in place of a sign-in.
 *
 * Invariant: the key comes in by standard input or is typed without an echo, never as an argument: argv is public.
 * Nothing here prints one.
 */
import { exitCodes, KeyturnError, quoted } from '../../base/errors.ts';
import { resourceFrom, UsageError } from '../terminal/arguments.ts';
import { ask } from '../broker/request.ts';
import { defineCommand } from '../terminal/command.ts';
import { showKeys } from '../words/key-rows.ts';
import { printJson, say } from '../terminal/output.ts';
import { askSecret } from '../terminal/passphrase-prompt.ts';
import type { Input, Statement } from '../terminal/statement.ts';
import { readStandardInput } from '../terminal/standard-input.ts';

/** The value of `--scheme` for a key without a scheme. No server's scheme has this name. */
const noScheme = 'none';

const statement = {
  name: 'key',
  summary: 'API keys, for servers without a sign-in',
  operands: [
    { name: 'set|list|remove', values: ['set', 'list', 'remove'] },
    { name: 'RESOURCE', optional: true },
  ],
  tooMany:
    'A key never goes on the command line, which other programs can read and your shell remembers. Type it when keyturn asks, or give it on standard input with --stdin. If this was the key, make another one at the server',
  options: {
    header: {
      type: 'string',
      value: 'NAME',
      summary: 'the header that the key goes in',
      more: ', e.g. X-Api-Key; without it, Authorization',
    },
    scheme: {
      type: 'string',
      value: 'NAME',
      summary: 'the word before the key in that header',
      more: `, or ${noScheme}; without it, Bearer in Authorization, and none in another header`,
    },
    stdin: {
      type: 'boolean',
      summary: 'read the key from standard input',
      more: '; without it, you type it unseen',
    },
    unchecked: {
      type: 'boolean',
      summary: "don't ask whether the server offers a sign-in",
      more: '; for one that does and takes keys as well, or that does not answer now',
    },
    json: { type: 'boolean', summary: 'print the list as JSON' },
  },
  usage: [
    'key set RESOURCE [--header NAME] [--scheme NAME] [--stdin] [--unchecked]',
    'key list [--json]',
    'key remove RESOURCE',
  ],
  about:
    'Keep the API key or personal token of a protected server that has no sign-in. It goes to the programs that you allow it for, and from them to this endpoint, in this header.',
  terms: {
    set: 'enter a key, or replace the one there is; refused where the server offers a sign-in',
    list: 'the keys there are, and who may have each; never a key itself',
    remove: 'forget a key and the permissions for it; the server is told nothing',
  },
  notes: [
    'A permission for tokens gives no key. Allow a program the key with: `keyturn allow CLIENT RESOURCE --key`',
  ],
  examples: [
    'pass show tickets/key | keyturn key set https://tickets.example/mcp --header X-Api-Key --stdin',
    'keyturn allow my-editor https://tickets.example/mcp --key',
    'keyturn key remove https://tickets.example/mcp',
  ],
} as const satisfies Statement;

type Values = Input<typeof statement>['options'];

/** What each part takes; an option that would be ignored is refused, since the person meant something by it. */
const optionsOf: Readonly<Record<'set' | 'list' | 'remove', readonly (keyof Values)[]>> = {
  set: ['header', 'scheme', 'stdin', 'unchecked'],
  list: ['json'],
  remove: [],
};

export const command = defineCommand(statement, async ({ options: values, operands: [part, resource] }) => {
  const other = Object.keys(values).find((option) => !optionsOf[part].some((known) => known === option));
  if (other !== undefined) throw new UsageError(`--${other} doesn't go with ${part}`);
  if (part === 'list') {
    if (resource !== undefined) throw new UsageError('list takes no RESOURCE');
    const { keys } = await ask('key.list', {});
    if (values.json) printJson(keys);
    else if (keys.length === 0) say('No API keys. Set one with: keyturn key set RESOURCE --stdin');
    else showKeys(keys);
    return exitCodes.ok;
  }
  if (resource === undefined) throw new UsageError('RESOURCE is missing');
  if (part === 'remove') await ask('key.remove', { resource: resourceFrom(resource) });
  else await set(resourceFrom(resource), values);
  return exitCodes.ok;
});

async function set(
  resource: string,
  { header = 'Authorization', scheme, stdin, unchecked }: Values,
): Promise<void> {
  const usual = header.toLowerCase() === 'authorization' ? 'Bearer' : noScheme;
  const word = scheme ?? usual;
  const { methods } = await import('../../ipc/protocol/methods.ts');
  const place = { resource, header, ...(word === noScheme ? {} : { scheme: word }) };
  const { shape } = methods['key.set'].params;
  if (!shape.header.safeParse(header).success)
    throw new UsageError(`--header: ${quoted(header)} is no name of a header`);
  if (!shape.scheme.safeParse(word).success) throw new UsageError(`--scheme: ${quoted(word)} is no scheme`);
  const value = keyIn(
    stdin ? await readStandardInput() : await askSecret(`the API key for ${resource}`, '--stdin'),
  );
  if (!shape.value.safeParse(value).success) throw notAKey();
  const { replaced, permissionsStay } = await ask('key.set', {
    ...place,
    value,
    ...(unchecked ? { unchecked: true as const } : {}),
  });
  if (!replaced) return;
  say(
    permissionsStay
      ? 'keyturn: this takes the place of the key that was there. The programs that may have it get this one from now on.'
      : 'keyturn: this takes the place of the key that was there. It goes in another way, so the permissions for it have ended.',
  );
}

/** Without the end of its line, which `echo` and editors put there. */
const keyIn = (text: string): string => text.replace(/\r?\n$/, '');

/** Says nothing of what it is: it may be a key with a slip in it. */
function notAKey(): KeyturnError {
  return new KeyturnError('invalid_request', 'What was given is no API key.', {
    rule: 'A key is one word of visible ASCII characters, at most 8192',
    hint: 'Give the key alone: no spaces, no name of a header, and no word such as Bearer before it (--scheme names that).',
  });
}
