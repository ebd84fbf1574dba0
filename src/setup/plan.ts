/**
 * What `keyturn setup` would do with one file: each entry that is there, and the text that would be written.
 *
 * Invariant: reads one file's text and changes nothing. What is shown of an entry holds no value of its headers, and of
 * its variables only those that change how a program runs.
 */
import path from 'node:path';
import { createHash } from 'node:crypto';
import { maxNameLength } from '../ipc/wire/limits.ts';
import type { ConfigFile } from './clients.ts';
import { applied, type Edit, type Format, NotUnderstood, type Place } from './formats/edit.ts';
import { exposedIn, isSecretUrl } from './exposed.ts';
import { commandWords, type FoundApiKey, type Gone, readEntry, type Reading } from './entry.ts';
import { jsonFormat } from './formats/json-format.ts';
import type { OwnCommand } from './own-command.ts';
import { tomlFormat } from './formats/toml-format.ts';
import { tomlString } from './formats/toml-items.ts';
import { changesPrograms } from '../base/system/program-variables.ts';

/** `gone`: the program of a Keyturn that the entry starts, which is no longer there. */
interface FoundEntry extends Gone {
  /** The name of the entry in its client. */
  readonly entry: string;
  /** The names of the members that lead to it, its own name last. */
  readonly keyPath: readonly string[];
}

/** An entry that stays as it is. `exposed`: the names under which it has secrets in plain text. */
export type Left = FoundEntry & Extract<Reading, { kind: 'left' }>;

export interface Switch extends FoundEntry {
  readonly kind: 'switch';
  /** The name under which the bridge pairs. */
  readonly as: string;
  readonly endpoint: string;
  readonly account?: string | undefined;
  readonly key?: FoundApiKey | undefined;
  /** It has no API key, and its server was not asked whether it wants a sign-in (open-servers.ts sets it). */
  readonly isServerUnasked?: true;
  readonly edits: readonly Edit[];
  /** The lines of the entry before and after, as they may be shown. */
  readonly shown: readonly string[];
}

export type BridgedEntry = FoundEntry & Extract<Reading, { kind: 'bridge' }>;

export type Finding = Left | Switch | BridgedEntry;

export const formatOf = ({ entryShape }: ConfigFile): Format =>
  entryShape === 'toml' ? tomlFormat : jsonFormat;

/** Entries of one file: each is looked for in the whole text, and thousands of them would take minutes. */
const maxEntries = 500;

/** Skips entries that start something else. A string: why the whole file stays (another format, too many entries). */
export function findingsIn(config: ConfigFile, text: string, own: OwnCommand): readonly Finding[] | string {
  try {
    const places = formatOf(config).find(text, config.keyPaths);
    if (places.length > maxEntries) return `it has more than ${maxEntries} entries`;
    const keyPaths = places.map(({ keyPath }) => JSON.stringify(keyPath));
    const isDoubled = (keyPath = ''): boolean => keyPaths.indexOf(keyPath) !== keyPaths.lastIndexOf(keyPath);
    return places.flatMap((place, index) => {
      const finding = findingAt(config, text, place, own) ?? [];
      if (!('edits' in finding) || !isDoubled(keyPaths[index])) return finding;
      const { entry, keyPath, gone } = finding;
      // Clients read one of them, and undo could not tell them apart.
      const why = 'its name is there twice';
      return { kind: 'left' as const, entry, keyPath, why, exposed: exposedIn(place.members), gone };
    });
  } catch (error) {
    // Nested deeper than the stack, or too long for a pattern.
    if (error instanceof RangeError) return 'Keyturn can’t read it';
    if (!(error instanceof NotUnderstood)) throw error;
    const before = text.trimEnd().slice(0, error.at ?? 0);
    return `Keyturn can’t read ${error.at === undefined ? 'it' : `its line ${before.split('\n').length}`}`;
  }
}

function findingAt(config: ConfigFile, text: string, place: Place, own: OwnCommand): Finding | undefined {
  const entry = place.keyPath.at(-1) ?? '';
  const found = { entry, keyPath: place.keyPath };
  const reading = readEntry(place.members, { own, level: config.level });
  if (reading.kind === 'other') return undefined;
  if (reading.kind !== 'switch') return { ...found, ...reading };
  const { endpoint, account, key, gone, as = appNameOf(config, place.keyPath) } = reading;
  const members = membersFor(config, place, reading, as, own);
  // `anchor`: the member that the new command and arguments replace.
  const edits = formatOf(config).edit(text, place, { anchor: reading.anchor, members });
  if (!edits) {
    const why = 'its configuration format is not supported';
    return { ...found, kind: 'left', why, exposed: exposedIn(place.members), gone };
  }
  const written = members['args'] ?? members['command'];
  const words = Array.isArray(written) ? written.map(String) : [];
  const urls = Object.entries(place.members).flatMap(([name, value]) =>
    shownMembers.has(name) ? stringsIn(value) : [],
  );
  const plain = [...words.filter((_, index) => words[index - 1] !== '--header'), ...urls.filter(isUrl)];
  const shown = shownChange(
    { text, entryShape: config.entryShape, place, edits, isWhole: gone !== undefined },
    [...plain, ...own.words, ...Object.values(own.env)],
  );
  return { ...found, kind: 'switch', as, endpoint, account, key, gone, edits, shown };
}

function membersFor(
  { client, entryShape }: ConfigFile,
  { members }: Place,
  { endpoint, account, args, drop, anchor, env }: Extract<Reading, { kind: 'switch' }>,
  as: string,
  own: OwnCommand,
): Record<string, unknown> {
  const [command, ...before] = own.words;
  const accounts = account === undefined ? [] : [['--account', account].join('=')];
  const bridge = [...before, 'bridge', endpoint, '--as', as, ...accounts, ...args];
  const isArray = entryShape === 'array';
  const variables = { ...env, ...own.env };
  const removed = Object.fromEntries([anchor, ...drop].map((name) => [name, undefined]));
  const hasVariables = Object.keys(variables).length > 0;
  const envName = isArray ? 'environment' : 'env';
  return {
    ...removed,
    command: isArray ? [command, ...bridge] : command,
    ...(isArray ? {} : { args: bridge }),
    ...(hasVariables || envName in members ? { [envName]: hasVariables ? variables : undefined } : {}),
    ...('type' in members ? { type: typeOf(client, isArray) } : {}),
    ...(client === 'codex' && !hasStartTime(members) ? { startup_timeout_sec: 30 } : {}),
  };
}

/** Codex waits for only 10 seconds; a first start that waits for the user takes 20. */
const hasStartTime = (members: Readonly<Record<string, unknown>>): boolean =>
  Object.keys(members).some((name) => name.startsWith('startup_timeout'));

/** Gemini CLI takes a command without a type, and its versions of early 2026 refuse a type `stdio`. */
function typeOf(client: string, isArray: boolean): string | undefined {
  if (client === 'gemini') return undefined;
  return isArray ? 'local' : 'stdio';
}

/** The app name, such as `cursor-notes`. With a hash of file and key path if it is a project's, altered or too long. */
function appNameOf({ client, level, file }: ConfigFile, keyPath: readonly string[]): string {
  const plain =
    (keyPath.at(-1) ?? '').replaceAll(/[^A-Za-z0-9._-]+/g, '-').replaceAll(/^-+|-+$/g, '') || 'server';
  const isUsual =
    level === 'user' && keyPath.length <= 3 && !keyPath.includes('projects') && plain === keyPath.at(-1);
  const name = `${client}-${plain}`;
  if (isUsual && name.length <= maxNameLength) return name;
  const mark = createHash('sha256')
    .update(JSON.stringify([path.resolve(file), keyPath]))
    .digest('hex')
    .slice(0, 6);
  return `${name.slice(0, maxNameLength - mark.length - 1)}-${mark}`;
}

/**
 * The removed lines and the added ones. Masked are values that may be secret, comments and strings of
 * several lines, so that no file can hide what will run. `alwaysShown`: strings that are never masked, such as what
 * Keyturn itself writes.
 */
function shownChange(
  {
    text,
    entryShape,
    place,
    edits,
    isWhole,
  }: Pick<ConfigFile, 'entryShape'> & {
    readonly text: string;
    readonly place: Place;
    readonly edits: readonly Edit[];
    /** Shows unchanged lines too: a stranger may have written the bridge's arguments. */
    readonly isWhole: boolean;
  },
  alwaysShown: readonly string[],
): readonly string[] {
  // An edit may reach beyond the entry, such as over blanks at its ends.
  const from = Math.min(place.from, ...edits.map((edit) => edit.from));
  const to = Math.max(place.to, ...edits.map((edit) => edit.to));
  const after = applied(text, edits);
  const before = text.slice(from, to);
  const then = after.slice(from, after.length - (text.length - to));
  const old = before.split(/\r?\n/);
  const fresh = then.split(/\r?\n/);
  const same = (a: readonly string[], b: readonly string[]): number => {
    const at = isWhole ? 0 : a.findIndex((line, index) => line !== b[index]);
    return at === -1 ? a.length : at;
  };
  const first = same(old, fresh);
  const last = Math.min(same(old.toReversed(), fresh.toReversed()), old.length - first, fresh.length - first);
  const secrets = secretsOf(place.members).filter((value) => !alwaysShown.includes(value));
  // The whole entry: a comment may begin on a line that stays.
  const shown = (whole: string): string[] =>
    masked(whole, entryShape, secrets).replaceAll('\t', '  ').split(/\r?\n/);
  const going = shown(before).slice(first, old.length - last);
  const coming = shown(then).slice(first, fresh.length - last);
  return [...going.map((line) => `- ${line}`), ...coming.map((line) => `+ ${line}`)];
}

/** In the variable of an HTTP proxy, the user name before the `@` may be a token. */
const isSecretVariable = (name: string, text: string): boolean =>
  isSecretUrl(text) || (/_proxy$/i.test(name.trim()) && text.includes('@'));

/** Values of an entry that may be secret. Those of variables that change how a program runs must be seen. */
function secretsOf(members: Readonly<Record<string, unknown>>): readonly string[] {
  const words = commandWords(members);
  return [
    ...Object.entries(members).flatMap(([name, value]) =>
      shownMembers.has(name)
        ? []
        : /^env/i.test(name)
          ? Object.entries(Object(value)).flatMap(([variable, set]) =>
              stringsIn(set).filter((text) => !changesPrograms(variable) || isSecretVariable(variable, text)),
            )
          : stringsIn(value),
    ),
    ...words.filter((_, index) => words[index - 1] === '--header').map(valueOf),
  ];
}

/** Members whose strings are shown. Those of any other member could be secrets. */
const shownMembers = new Set(['url', 'serverUrl', 'httpUrl', 'type', 'command', 'args', 'cwd']);

function stringsIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return value === '' ? [] : [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(stringsIn) : [];
}

/**
 * Strings and comments, no wider than the formats have them: a wider pattern would mask what a client reads. So no
 * comment begins with `#` in JSON, or with a slash in TOML, and in JSON a CR ends one.
 */
const literals = {
  json: /"(?:[^"\\\n]|\\.)*"|\/\/[^\r\n]*|\/\*[^]*?(?:\*\/|$)/g,
  toml: /"""(?:[^\\]|\\[^])*?"""+|'''[^]*?'''+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|#[^\n]*/g,
} as const;

/** Has as many lines as `text`. Comments and strings of several lines are masked too: people put old API keys there. */
function masked(text: string, entryShape: ConfigFile['entryShape'], secrets: readonly string[]): string {
  const pattern = entryShape === 'toml' ? literals.toml : literals.json;
  return text.replaceAll(pattern, (literal, offset: number) => {
    const [, begin, end = ''] = /^(#|\/\/|\/\*|"""|''')[^]*?(\*\/)?$/.exec(literal) ?? [];
    if (begin !== undefined)
      return `${begin} …${'\n'.repeat(literal.split('\n').length - 1)}${end && ` ${end}`}`;
    const isKey = /^\s*[:=]/.test(text.slice(offset + literal.length));
    const value = entryShape === 'toml' ? tomlString(literal) : jsonString(literal);
    if (isKey) return literal;
    if (value === undefined || secrets.includes(value)) return JSON.stringify(maskedValue(value));
    return !isUrl(value) && secrets.includes(valueOf(value))
      ? JSON.stringify(`${value.split(':', 1)[0]}: ${maskedValue(valueOf(value))}`)
      : literal;
  });
}

/** Keeps names of variables, since their values go to the server, and the host of an HTTP proxy. */
function maskedValue(value = ''): string {
  const [, scheme, user, host] = /^(https?:\/\/)([^/?#]*)@([^/?#]*)\/?$/i.exec(value) ?? [];
  if (scheme !== undefined) return `${scheme}${maskedValue(user)}@${host}`;
  const parts = value.split(/(\$\{[^}]*\})/);
  const shown = parts.map((part, index) => (index % 2 === 1 ? part : part && '***')).join('');
  return shown || '***';
}

const isUrl = (text: string): boolean => /^https?:/.test(text);

/** Of an argument `NAME: VALUE`. */
const valueOf = (argument: string): string => argument.replace(/^[^:]*:\s*/, '').trim();

/** The string that a literal of JSON stands for; undefined for one that it forbids. */
function jsonString(literal: string): string | undefined {
  try {
    return String(JSON.parse(literal));
  } catch {
    return undefined;
  }
}
