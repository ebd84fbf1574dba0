/**
 * What `keyturn setup` would do with one file: each entry that stands there, and the text that would be written.
 *
 * Invariant: reads one text and changes nothing. Nothing that is shown of an entry holds a value of its headers or
 * variables.
 */
import path from 'node:path';
import { createHash } from 'node:crypto';
import { maxNameLength } from '../ipc/wire/limits.ts';
import type { ConfigFile } from './clients.ts';
import { applied, type Edit, type Format, NotUnderstood, type Place } from './formats/edit.ts';
import { type FoundKey, readEntry, type Reading } from './entry.ts';
import { jsonFormat } from './formats/json-format.ts';
import type { WhyLeft } from './left.ts';
import type { OwnCommand } from './own-command.ts';
import { tomlFormat } from './formats/toml-format.ts';

interface Standing {
  /** The name of the entry in its client. */
  readonly entry: string;
  readonly way: readonly string[];
}

export interface Left extends Standing, WhyLeft {
  readonly kind: 'left';
  /** Names of headers whose secret stands in the open. */
  readonly exposed: readonly string[];
}

export interface Switch extends Standing {
  readonly kind: 'switch';
  /** The name under which the bridge pairs. */
  readonly as: string;
  readonly endpoint: string;
  readonly key?: FoundKey;
  readonly edits: readonly Edit[];
  /** The lines of the entry before and after, as they may be shown. */
  readonly shown: readonly string[];
}

export interface Bridged extends Standing {
  readonly kind: 'bridge';
  /** What it reaches and the name under which it pairs, where it is written as setup writes it. */
  readonly endpoint?: string;
  readonly as?: string;
}

export type Finding = Left | Switch | Bridged;

export const formatOf = ({ dialect }: ConfigFile): Format => (dialect === 'toml' ? tomlFormat : jsonFormat);

/** Undefined for a text that isn't of the file's format. Entries that start something else are left out. */
export function findingsIn(
  config: ConfigFile,
  text: string,
  own: OwnCommand,
): readonly Finding[] | undefined {
  try {
    const places = formatOf(config).find(text, config.ways);
    return places.flatMap((place) => findingAt(config, text, place, own) ?? []);
  } catch (error) {
    if (error instanceof NotUnderstood) return undefined;
    throw error;
  }
}

function findingAt(config: ConfigFile, text: string, place: Place, own: OwnCommand): Finding | undefined {
  const entry = place.way.at(-1) ?? '';
  const standing = { entry, way: place.way };
  const reading = readEntry(place.members);
  if (reading.kind === 'other') return undefined;
  if (reading.kind !== 'switch') return { ...standing, ...reading };
  const as = nameOf(config, place.way);
  const members = membersFor(config, place, reading, as, own);
  const edits = formatOf(config).edit(text, place, { anchor: reading.anchor, members });
  if (!edits) {
    const exposed = reading.key ? [reading.key.header] : [];
    const why = 'it is written in a form that Keyturn doesn’t change';
    return { ...standing, kind: 'left', cause: 'form', why, exposed };
  }
  const { endpoint, key } = reading;
  const shown = shownChange(text, place, edits, own);
  return { ...standing, kind: 'switch', as, endpoint, ...(key ? { key } : {}), edits, shown };
}

function membersFor(
  { dialect }: ConfigFile,
  { members }: Place,
  { endpoint, args, drop, anchor, env }: Extract<Reading, { kind: 'switch' }>,
  as: string,
  own: OwnCommand,
): Record<string, unknown> {
  const [command, ...before] = own.words;
  const bridge = [...before, 'bridge', endpoint, '--as', as, ...args];
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
    ...('type' in members ? { type: isArray ? 'local' : 'stdio' } : {}),
  };
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

/** Texts in quotes that any reader may see, though they stand in the entry's old text. */
const plainText = /^(?:https?:\/\/[^?#@]*|--?[a-z-]+|[A-Za-z0-9_@./-]{1,24})$/;

/** Members whose texts are shown. What stands in any other one could be a secret. */
const shownMembers = new Set(['url', 'serverUrl', 'httpUrl', 'type', 'command', 'args']);

/** The lines that go and those that come, with each value covered that could be a secret. */
function shownChange(text: string, place: Place, edits: readonly Edit[], own: OwnCommand): readonly string[] {
  const end = text.length - place.to;
  const after = applied(text, edits);
  const old = text.slice(place.from, place.to).split(/\r?\n/);
  const fresh = after.slice(place.from, after.length - end).split(/\r?\n/);
  const same = (a: readonly string[], b: readonly string[]): number => {
    const at = a.findIndex((line, index) => line !== b[index]);
    return at === -1 ? a.length : at;
  };
  const first = same(old, fresh);
  const last = Math.min(same(old.toReversed(), fresh.toReversed()), old.length - first, fresh.length - first);
  const values = Object.entries(place.members).filter(([name]) => !shownMembers.has(name));
  const hidden = textsIn(Object.fromEntries(values));
  const isOwn = (value: string): boolean => Object.values(own.env).includes(value);
  const isHidden = (value: string): boolean => !isOwn(value) && hidden.some((part) => value.includes(part));
  const isShown = (value: string): boolean => isOwn(value) || (plainText.test(value) && !isHidden(value));
  return [
    ...old.slice(first, old.length - last).map((line) => `- ${covered(line, isShown)}`),
    ...fresh
      .slice(first, fresh.length - last)
      .map((line) => `+ ${covered(line, (value) => !isHidden(value))}`),
  ];
}

function textsIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return value === '' ? [] : [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

/** Comments are covered too: people put old keys there. */
function covered(line: string, isShown: (value: string) => boolean): string {
  return line.replaceAll(/"(?:[^"\\]|\\.)*"|'[^']*'|(?:\/\/|\/\*|#).*$/g, (literal, offset: number) => {
    if (/^[#/]/.test(literal)) return `${literal.startsWith('#') ? '#' : '//'} …`;
    const isName = /^\s*[:=]/.test(line.slice(offset + literal.length));
    return isName || isShown(literal.slice(1, -1)) ? literal : '"***"';
  });
}
