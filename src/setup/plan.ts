/**
 * What `keyturn setup` would do with one file: each entry that is there, and the text that would be written.
 *
 * Invariant: reads one text and changes nothing. What is shown of an entry holds no value of its headers, and of its
 * variables only those that change how a program runs.
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
import { changesPrograms } from '../base/system/program-variables.ts';

interface Standing extends Gone {
  /** The name of the entry in its client. */
  readonly entry: string;
  readonly way: readonly string[];
}

export type Left = Standing & Extract<Reading, { kind: 'left' }>;

export interface Switch extends Standing {
  readonly kind: 'switch';
  /** The name under which the bridge pairs. */
  readonly as: string;
  readonly endpoint: string;
  readonly account?: string | undefined;
  readonly key?: FoundApiKey | undefined;
  /** It has no key, and whether its server wants a sign-in isn't known. */
  readonly isUnasked?: true;
  readonly edits: readonly Edit[];
  /** The lines of the entry before and after, as they may be shown. */
  readonly shown: readonly string[];
}

export type BridgedEntry = Standing & Extract<Reading, { kind: 'bridge' }>;

export type Finding = Left | Switch | BridgedEntry;

export const formatOf = ({ dialect }: ConfigFile): Format => (dialect === 'toml' ? tomlFormat : jsonFormat);

/** Entries of one file: each is looked for in the whole text, and thousands of them would take minutes. */
const maxEntries = 500;

/** Entries that start something else are left out. Of a text that isn't of its format, or has too many entries: why it is left. */
export function findingsIn(config: ConfigFile, text: string, own: OwnCommand): readonly Finding[] | string {
  try {
    const places = formatOf(config).find(text, config.ways);
    if (places.length > maxEntries) return `it has more than ${maxEntries} entries`;
    const names = places.map(({ way }) => JSON.stringify(way));
    const isDoubled = (name = ''): boolean => names.indexOf(name) !== names.lastIndexOf(name);
    return places.flatMap((place, index) => {
      const finding = findingAt(config, text, place, own) ?? [];
      if (!('edits' in finding) || !isDoubled(names[index])) return finding;
      const { entry, way, gone } = finding;
      // Clients read one of them, and undo could not tell them apart.
      const why = 'its name is there twice';
      return { kind: 'left' as const, entry, way, why, exposed: exposedIn(place.members), gone };
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
  const entry = place.way.at(-1) ?? '';
  const standing = { entry, way: place.way };
  const reading = readEntry(place.members, { own, scope: config.scope });
  if (reading.kind === 'other') return undefined;
  if (reading.kind !== 'switch') return { ...standing, ...reading };
  const { endpoint, account, key, gone, as = nameOf(config, place.way) } = reading;
  const members = membersFor(config, place, reading, as, own);
  const edits = formatOf(config).edit(text, place, { anchor: reading.anchor, members });
  if (!edits) {
    const why = 'its configuration format is not supported';
    return { ...standing, kind: 'left', why, exposed: exposedIn(place.members), gone };
  }
  const written = members['args'] ?? members['command'];
  const words = Array.isArray(written) ? written.map(String) : [];
  const urls = Object.entries(place.members).flatMap(([name, value]) =>
    shownMembers.has(name) ? textsIn(value) : [],
  );
  const plain = [...words.filter((_, index) => words[index - 1] !== '--header'), ...urls.filter(isUrl)];
  const shown = shownChange({ text, dialect: config.dialect, place, edits, isWhole: gone !== undefined }, [
    ...plain,
    ...own.words,
    ...Object.values(own.env),
  ]);
  return { ...standing, kind: 'switch', as, endpoint, account, key, gone, edits, shown };
}

function membersFor(
  { client, dialect }: ConfigFile,
  { members }: Place,
  { endpoint, account, args, drop, anchor, env }: Extract<Reading, { kind: 'switch' }>,
  as: string,
  own: OwnCommand,
): Record<string, unknown> {
  const [command, ...before] = own.words;
  const accounts = account === undefined ? [] : [['--account', account].join('=')];
  const bridge = [...before, 'bridge', endpoint, '--as', as, ...accounts, ...args];
  const isArray = dialect === 'array';
  const variables = { ...env, ...own.env };
  const gone = Object.fromEntries([anchor, ...drop].map((name) => [name, undefined]));
  const hasVariables = Object.keys(variables).length > 0;
  const envName = isArray ? 'environment' : 'env';
  return {
    ...gone,
    command: isArray ? [command, ...bridge] : command,
    ...(isArray ? {} : { args: bridge }),
    ...(hasVariables || envName in members ? { [envName]: hasVariables ? variables : undefined } : {}),
    ...('type' in members ? { type: typeOf(client, isArray) } : {}),
  };
}

/** Gemini CLI takes a command without a type, and its versions of early 2026 refuse a type `stdio`. */
function typeOf(client: string, isArray: boolean): string | undefined {
  if (client === 'gemini') return undefined;
  return isArray ? 'local' : 'stdio';
}

/** `cursor-notes`. Of a project, or of one folder: with a mark of that folder. */
function nameOf({ client, scope, file }: ConfigFile, way: readonly string[]): string {
  const plain =
    (way.at(-1) ?? '').replaceAll(/[^A-Za-z0-9._-]+/g, '-').replaceAll(/^-+|-+$/g, '') || 'server';
  const isUsual = scope === 'user' && way.length <= 3 && !way.includes('projects') && plain === way.at(-1);
  const name = `${client}-${plain}`;
  if (isUsual && name.length <= maxNameLength) return name;
  const mark = createHash('sha256')
    .update(JSON.stringify([path.resolve(file), way]))
    .digest('hex')
    .slice(0, 6);
  return `${name.slice(0, maxNameLength - mark.length - 1)}-${mark}`;
}

/**
 * The lines that go and those that come. Only values that may be secret are covered, so that nobody's file can hide
 * what will run. `never`: texts that Keyturn itself writes, which are always shown.
 */
function shownChange(
  {
    text,
    dialect,
    place,
    edits,
    isWhole,
  }: Pick<ConfigFile, 'dialect'> & {
    readonly text: string;
    readonly place: Place;
    readonly edits: readonly Edit[];
    /** Lines that stay too: a stranger may have written the bridge's. */
    readonly isWhole: boolean;
  },
  never: readonly string[],
): readonly string[] {
  const end = text.length - place.to;
  const after = applied(text, edits);
  const old = text.slice(place.from, place.to).split(/\r?\n/);
  const fresh = after.slice(place.from, after.length - end).split(/\r?\n/);
  const same = (a: readonly string[], b: readonly string[]): number => {
    const at = isWhole ? 0 : a.findIndex((line, index) => line !== b[index]);
    return at === -1 ? a.length : at;
  };
  const first = same(old, fresh);
  const last = Math.min(same(old.toReversed(), fresh.toReversed()), old.length - first, fresh.length - first);
  const secrets = secretsOf(place.members).filter((value) => !never.includes(value));
  // The whole entry: a comment may begin on a line that stays.
  const shown = (whole: string): string[] =>
    covered(whole, dialect, secrets).replaceAll('\t', '  ').split(/\r?\n/);
  const going = shown(text.slice(place.from, place.to)).slice(first, old.length - last);
  const coming = shown(after.slice(place.from, after.length - end)).slice(first, fresh.length - last);
  return [...going.map((line) => `- ${line}`), ...coming.map((line) => `+ ${line}`)];
}

/** The name of a user, in the URL of a proxy or without a scheme, may be a token. */
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
              textsIn(set).filter((text) => !changesPrograms(variable) || isSecretVariable(variable, text)),
            )
          : textsIn(value),
    ),
    ...words.filter((_, index) => words[index - 1] === '--header').map(valueOf),
  ];
}

/** Members whose texts are shown. What is in any other one could be a secret. */
const shownMembers = new Set(['url', 'serverUrl', 'httpUrl', 'type', 'command', 'args', 'cwd']);

function textsIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return value === '' ? [] : [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

/**
 * Texts and comments. In JSON no comment begins with `#`, and a lone CR ends one; in TOML none begins with a slash: else one
 * could hide what is no comment.
 */
const literals = {
  json: /"(?:[^"\\\n]|\\.)*"|\/\/[^\r\n]*|\/\*[^]*?(?:\*\/|$)/g,
  toml: /"""(?:[^\\]|\\[^])*?"""+|'''[^]*?'''+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|#[^\n]*/g,
} as const;

/** The text with as many lines. Comments and texts of several lines are covered too: people put old keys there. */
function covered(text: string, dialect: ConfigFile['dialect'], secrets: readonly string[]): string {
  const pattern = dialect === 'toml' ? literals.toml : literals.json;
  return text.replaceAll(pattern, (literal, offset: number) => {
    const [, begin, end = ''] = /^(#|\/\/|\/\*|"""|''')[^]*?(\*\/)?$/.exec(literal) ?? [];
    if (begin !== undefined)
      return `${begin} …${'\n'.repeat(literal.split('\n').length - 1)}${end && ` ${end}`}`;
    const isName = /^\s*[:=]/.test(text.slice(offset + literal.length));
    const value = textOf(literal);
    if (isName) return literal;
    if (value === undefined || secrets.includes(value)) return JSON.stringify(hidden(value));
    return !isUrl(value) && secrets.includes(valueOf(value))
      ? JSON.stringify(`${value.split(':', 1)[0]}: ${hidden(valueOf(value))}`)
      : literal;
  });
}

/** The names of variables stay: what is in those goes to the server. The host of a proxy must be seen too. */
function hidden(value = ''): string {
  const [, scheme, user, host] = /^(https?:\/\/)([^/?#]*)@([^/?#]*)\/?$/i.exec(value) ?? [];
  if (scheme !== undefined) return `${scheme}${hidden(user)}@${host}`;
  const parts = value.split(/(\$\{[^}]*\})/);
  const shown = parts.map((part, index) => (index % 2 === 1 ? part : part && '***')).join('');
  return shown || '***';
}

const isUrl = (text: string): boolean => /^https?:/.test(text);

/** Of an argument `NAME: VALUE`. */
const valueOf = (argument: string): string => argument.replace(/^[^:]*:\s*/, '').trim();

/** What a literal of JSON or TOML says. Undefined if it has escapes of TOML alone. */
function textOf(literal: string): string | undefined {
  if (literal.startsWith("'")) return literal.slice(1, -1);
  try {
    return String(JSON.parse(literal));
  } catch {
    return undefined;
  }
}
