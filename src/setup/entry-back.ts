/**
 * One entry goes back to what it said before `keyturn setup`.
 *
 * Invariant: values are compared, not texts: a client that saves its settings writes the same values with its own white
 * space and in its own order. What setup left alone stays as the client has it by now, and so does a member that the
 * client added, unless it says how a command runs.
 */
import { isDeepStrictEqual } from 'node:util';
import type { BackedUpFile } from './backup.ts';
import { commandWords, type Members } from './entry.ts';
import { applied, type Format, lineEnd, NotUnderstood, type Place, placeAt } from './formats/edit.ts';
import { jsonFormat } from './formats/json-format.ts';
import { tomlFormat } from './formats/toml-format.ts';

type Entry = BackedUpFile['entries'][number];

/** `back`: it says already what it said before. `left`: it says something else. `gone`: the file has none. */
export type Standing = 'reversed' | 'back' | 'left' | 'gone';

/** Throws `NotUnderstood` where the text isn't of its format. */
export function entryBack(
  kind: BackedUpFile['format'],
  text: string,
  entry: Entry,
): { readonly standing: Standing; readonly text: string } {
  const format = kind === 'toml' ? tomlFormat : jsonFormat;
  const place = placeAt(format, text, entry.way);
  if (!place) return { standing: 'gone', text };
  const before = membersIn(kind, entry.before, entry.way);
  const after = membersIn(kind, entry.after, entry.way);
  const isOurs = (name: string): boolean => moved(name, place.members, { before, after }) === undefined;
  const ours = after && Object.fromEntries(Object.entries(after).filter(([name]) => isOurs(name)));
  if (text.slice(place.from, place.to) === entry.after || (ours && saysSame(place.members, ours)))
    return { standing: 'reversed', text: reversed(format, text, place, { entry, before, after }) };
  const isBack = before !== undefined && saysAll(place.members, before);
  return { standing: isBack ? 'back' : 'left', text };
}

/** What the text of one entry says. Undefined where it can't be read by itself. */
function membersIn(
  kind: BackedUpFile['format'],
  text: string,
  keyPath: readonly string[],
): Members | undefined {
  const name = keyPath.at(-1) ?? '';
  try {
    return kind === 'toml'
      ? placeAt(tomlFormat, text, keyPath)?.members
      : placeAt(jsonFormat, `{${JSON.stringify(name)}: ${text}}`, [name])?.members;
  } catch (error) {
    if (error instanceof NotUnderstood) return undefined;
    throw error;
  }
}

/** Each member that was written is there with the same value. A client may leave out what is empty. */
const saysAll = (found: Members, written: Members): boolean =>
  Object.entries(written).every(
    ([name, value]) => isDeepStrictEqual(found[name], value) || (isEmpty(value) && isEmpty(found[name])),
  );

/** The same bridge, also where another Node or another place of Keyturn starts it by now. */
function saysSame(found: Members, written: Members): boolean {
  if (saysAll(found, written)) return true;
  const [there, ours] = [behindBridge(found), behindBridge(written)];
  const { command: _command, args: _args, ...others } = written;
  return ours.length > 0 && isDeepStrictEqual(there, ours) && saysAll(found, others);
}

function behindBridge(members: Members): readonly string[] {
  const words = commandWords(members);
  const at = words.indexOf('bridge');
  return at === -1 ? [] : words.slice(at);
}

const isEmpty = (value: unknown): boolean =>
  value === undefined || (typeof value === 'object' && value !== null && Object.keys(value).length === 0);

/** Members that say what is started, and how: they belong to the entry that we wrote. */
const ofCommand = /^(?:type|transport|command|args|env.*|cwd)$/i;

interface Texts {
  readonly before?: Members | undefined;
  readonly after?: Members | undefined;
}

const isPlain = (value: unknown): boolean =>
  typeof value !== 'object' || (Array.isArray(value) && value.every((item) => typeof item !== 'object'));

/**
 * A plain member that setup left alone and the client has changed since, or one that setup added beside the command.
 * Without a value, it is gone.
 */
function moved(name: string, found: Members, { before, after }: Texts): { value: unknown } | undefined {
  if (ofCommand.test(name) || !before || !after || !(name in after)) return undefined;
  if (!(name in before)) return { value: found[name] };
  const [value, now] = [before[name], found[name]];
  const isAlone = isDeepStrictEqual(value, after[name]) && isPlain(value) && isPlain(now);
  return isAlone && !isDeepStrictEqual(value, now) ? { value: now } : undefined;
}

function reversed(
  format: Format,
  text: string,
  place: Place,
  { entry, before = {}, after = {} }: Texts & { readonly entry: Entry },
): string {
  const old = entry.before.replaceAll(/\r?\n/g, lineEnd(text));
  const restored = applied(text, [{ ...place, text: old }]);
  const added = Object.entries(place.members).filter(
    ([name]) => !(name in after) && !(name in before) && !ofCommand.test(name),
  );
  const changed = Object.keys(before).flatMap((name) => {
    const change = moved(name, place.members, { before, after });
    return change ? [[name, change.value] as const] : [];
  });
  const own = Object.fromEntries([...added, ...changed]);
  const anchor = Object.keys(before).find((name) => !(name in own));
  const next = placeAt(format, restored, entry.way);
  if (Object.keys(own).length === 0 || anchor === undefined || !next) return restored;
  const members = { [anchor]: before[anchor], ...own };
  const edits = format.edit(restored, next, { anchor, members });
  return edits ? applied(restored, edits) : restored;
}
