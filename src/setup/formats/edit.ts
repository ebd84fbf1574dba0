/**
 * Changes in a text: which characters give way to which.
 *
 * Invariant: what no edit names stays as it is, byte for byte.
 */
import { isDeepStrictEqual } from 'node:util';

/** Characters `from` up to `to`, without that one, become `text`. */
export interface Edit {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

/** An entry as the file has it: its name, where its text is, and its members. */
export interface Place {
  /** The names of the members that lead to it, its own name last. */
  readonly keyPath: readonly string[];
  readonly from: number;
  readonly to: number;
  readonly members: Readonly<Record<string, unknown>>;
}

/** What an entry should say. `undefined`: the member is removed. */
export interface NewEntry {
  /** The member in whose place `command` and `args` are written. */
  readonly anchor: string;
  readonly members: Readonly<Record<string, unknown>>;
}

/** A text whose entries can be found and changed in place. */
export interface Format {
  /** Entries below the key paths. Throws `NotUnderstood` for a text that isn't of this format. */
  find(text: string, keyPaths: readonly (readonly string[])[]): readonly Place[];
  /** Undefined where an entry is written in a form that can't be changed in place. */
  edit(text: string, place: Place, wanted: NewEntry): readonly Edit[] | undefined;
}

/** The entry at `keyPath`. Throws `NotUnderstood`. */
export const placeAt = (format: Format, text: string, keyPath: readonly string[]): Place | undefined =>
  format.find(text, [keyPath.slice(0, -1)]).find((place) => isDeepStrictEqual(place.keyPath, keyPath));

export const isMembers = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The text isn't of the format that its file should have. Says nothing of the text but where: `at`, in characters. */
export class NotUnderstood extends Error {
  readonly at: number | undefined;

  constructor(at?: number) {
    super();
    this.at = at;
  }
}

/** The line end of a file: an editor, or Codex on Windows, may write CRLF. */
export const lineEnd = (text: string): string => /\r?\n/.exec(text)?.[0] ?? '\n';

/** Edits must not overlap. */
export function applied(text: string, edits: readonly Edit[]): string {
  return edits
    .toSorted((a, b) => b.from - a.from)
    .reduce((result, { from, to, text: put }) => result.slice(0, from) + put + result.slice(to), text);
}
