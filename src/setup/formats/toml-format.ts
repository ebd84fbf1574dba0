/**
 * Entries of TOML files, changed in place: tables `[mcp_servers.NAME]` and their own tables.
 *
 * Invariant: only whole assignments change; comments, order and white space stay. An entry in another form (an inline
 * table, dotted keys, tables that don't follow each other) is found, and never changed. No library does this: those
 * that keep comments are young or have one user, so the few forms that clients write are read here by hand.
 */
import { isDeepStrictEqual } from 'node:util';
import { type Edit, type Format, isMembers, lineEnd, type Place } from './edit.ts';
import { type Item, tomlItems, unreadText } from './toml-items.ts';

export const tomlFormat: Format = {
  find(text, keyPaths) {
    const items = tomlItems(text);
    return keyPaths.flatMap((keyPath) => [
      ...namesBelow(items, keyPath).map((name) => placeOf(items, [...keyPath, name])),
      ...items.flatMap((item) => inlinePlaces(item, keyPath)),
    ]);
  },

  edit(text, place, { anchor, members }) {
    const items = tomlItems(text);
    const own = items.filter((item) => startsWith(fullName(item), place.keyPath));
    const inside = items.filter(({ from }) => from >= place.from && from < place.to);
    const isPlain = own.every(
      ({ kind, table, key }) => kind !== 'list' && startsWith(table, place.keyPath) && key.length < 2,
    );
    // TOML has each name once, whether of a table or of a value.
    const names = own.map((item) => JSON.stringify(fullName(item)));
    const isDoubled = new Set(names).size < names.length;
    if (!isPlain || isDoubled || inside.length !== own.length) return undefined;
    if (!Object.values(members).every(isWritable)) return undefined;
    const edits: Edit[] = [];
    const added: string[] = [];
    const anchored = valueAt(own, [...place.keyPath, anchor]);
    if (!anchored) return undefined;
    for (const [name, wanted] of Object.entries(members)) {
      const keyPath = [...place.keyPath, name];
      const value = valueAt(own, keyPath);
      const table = own.filter((item) => startsWith(item.table, keyPath));
      if (name === anchor) continue;
      if (value && wanted !== undefined) {
        if (!isDeepStrictEqual(value.value, wanted)) edits.push(assigned(value, name, wanted));
      } else if (value) edits.push(wholeLine(text, value.from, value.to));
      else if (table.length > 0) edits.push(...tableEdits(text, table, wanted));
      else if (wanted !== undefined) added.push(`${name} = ${written(wanted)}`);
    }
    const kept = members[anchor];
    const lines = kept === undefined ? added : [`${anchor} = ${written(kept)}`, ...added];
    return [...edits, { from: anchored.from, to: anchored.to, text: lines.join(lineEnd(text)) }];
  },
};

const fullName = ({ table, key }: Item): readonly string[] => [...table, ...key];
const startsWith = (names: readonly string[], keyPath: readonly string[]): boolean =>
  keyPath.every((name, index) => names[index] === name);

const valueAt = (items: readonly Item[], keyPath: readonly string[]): Item | undefined =>
  items.find((item) => item.kind === 'value' && isDeepStrictEqual(fullName(item), keyPath));

function namesBelow(items: readonly Item[], keyPath: readonly string[]): readonly string[] {
  const names = items.flatMap((item) => {
    const name = startsWith(fullName(item), keyPath) ? fullName(item)[keyPath.length] : undefined;
    return name === undefined ? [] : [name];
  });
  return [...new Set(names)];
}

function placeOf(items: readonly Item[], keyPath: readonly string[]): Place {
  const own = items.filter((item) => startsWith(fullName(item), keyPath));
  const members: Record<string, unknown> = {};
  for (const item of own) {
    const [name, ...more] = fullName(item).slice(keyPath.length);
    if (item.kind !== 'value') continue;
    if (name === undefined) Object.assign(members, item.value);
    else if (more.length === 0) members[name] = item.value;
    else members[name] = { ...Object(members[name]), [more.join('.')]: item.value };
  }
  const from = Math.min(...own.map((item) => item.from));
  return { keyPath, from, to: Math.max(from, ...own.map((item) => item.to)), members };
}

/** The entries of one inline table that holds them all, such as `mcp_servers = { … }`. `edit` changes none of them. */
function inlinePlaces(item: Item, keyPath: readonly string[]): readonly Place[] {
  const name = fullName(item);
  if (item.kind !== 'value' || !startsWith(keyPath, name)) return [];
  const held = keyPath.slice(name.length).reduce<unknown>((value, step) => memberOf(value, step), item.value);
  if (!isMembers(held)) return [];
  return Object.entries(held).flatMap(([entry, members]) =>
    isMembers(members) ? [{ keyPath: [...keyPath, entry], from: item.from, to: item.to, members }] : [],
  );
}

const memberOf = (value: unknown, name: string): unknown =>
  isMembers(value) && Object.hasOwn(value, name) ? value[name] : undefined;

/** A table of its own, such as `[mcp_servers.NAME.env]`: its lines one by one. `wanted` undefined: all of it goes. */
function tableEdits(text: string, items: readonly Item[], wanted: unknown): readonly Edit[] {
  if (typeof wanted !== 'object' || wanted === null)
    return items.map(({ from, to }) => wholeLine(text, from, to));
  const edits: Edit[] = [];
  const values = items.filter(({ kind }) => kind === 'value');
  for (const item of values) {
    const [name = ''] = item.key;
    const value = Object.entries(wanted).find(([other]) => other === name)?.[1];
    if (value === undefined) edits.push(wholeLine(text, item.from, item.to));
    else if (value !== item.value) edits.push(assigned(item, name, value));
  }
  const missing = Object.entries(wanted).filter(([name]) => !values.some(({ key }) => key[0] === name));
  const header = items.find(({ kind }) => kind === 'table');
  const lines = missing.map(([name, value]) => `${lineEnd(text)}${keyOf(name)} = ${written(value)}`).join('');
  return header && lines !== '' ? [...edits, { from: header.to, to: header.to, text: lines }] : edits;
}

const assigned = ({ from, to }: Item, name: string, value: unknown): Edit => ({
  from,
  to,
  text: `${keyOf(name)} = ${written(value)}`,
});

const keyOf = (name: string): string => (/^[A-Za-z0-9_-]+$/.test(name) ? name : JSON.stringify(name));

function isWritable(value: unknown): boolean {
  if (typeof value === 'symbol') return unreadText(value) !== undefined;
  return typeof value !== 'object' || value === null || Object.values(value).every(isWritable);
}

/** Text in JSON's quotes is text of TOML too, but for DEL, which TOML wants escaped. */
const quotedText = (value: unknown): string =>
  typeof value === 'symbol'
    ? (unreadText(value) ?? '')
    : JSON.stringify(value).replaceAll('\u007f', String.raw`\u007f`);

function written(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(quotedText).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return quotedText(value);
  const pairs = Object.entries(value).map(([name, item]) => `${keyOf(name)} = ${quotedText(item)}`);
  return `{ ${pairs.join(', ')} }`;
}

function wholeLine(text: string, from: number, to: number): Edit {
  const rest = /^[ \t]*\r?\n/.exec(text.slice(to))?.[0] ?? '';
  const before = rest === '' ? '' : (/(?<![ \t])[ \t]*$/.exec(text.slice(0, from))?.[0] ?? '');
  return { from: from - before.length, to: to + rest.length, text: '' };
}
