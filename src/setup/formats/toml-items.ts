/**
 * Reads a TOML text (v1.0.0) into its assignments and where each stands, so that single lines can be changed.
 *
 * Invariant: it never guesses: a text that it can't follow to the end is refused whole. It writes nothing.
 */
import { NotUnderstood } from './edit.ts';

/** `key = value`, or the header of a table (without a value). */
export interface Item {
  readonly kind: 'table' | 'list' | 'value';
  /** The names of the table's header. */
  readonly table: readonly string[];
  /** The names before `=`; none for a header. */
  readonly key: readonly string[];
  /** Texts, lists and inline tables as they are; anything else as a symbol: see `unreadText`. */
  readonly value: unknown;
  readonly from: number;
  readonly to: number;
}

/** A text of several lines: nothing here reads it. */
const otherValue = Symbol('a value that is not read');

/** Of a number, a date, true or false, as it is written. Undefined for a text of several lines. */
export const unreadText = (value: symbol): string | undefined => Symbol.keyFor(value);

/** Lists and tables within each other, and names of one key: far more than anybody writes, and far less than a stack holds. */
const maxDepth = 100;

const escapes: Readonly<Record<string, string>> = {
  b: '\b',
  t: '\t',
  n: '\n',
  f: '\f',
  r: '\r',
  '"': '"',
  '\\': '\\',
};

/** Throws `NotUnderstood`. */
export function tomlItems(text: string): readonly Item[] {
  const reader = new Reader(text);
  try {
    return reader.items();
  } catch (error) {
    throw error instanceof NotUnderstood ? new NotUnderstood(reader.at) : error;
  }
}

/** One assignment of an inline table. */
interface Pair {
  readonly names: readonly string[];
  readonly value: unknown;
}

/** Dotted keys open a table (TOML 1.0.0, "Inline Table" and "Dotted keys"). */
function tableOf(pairs: readonly Pair[]): Record<string, unknown> {
  const byName = Map.groupBy(pairs, ({ names: [name = ''] }) => name);
  return Object.fromEntries(
    [...byName].map(([name, own]) => {
      const whole = own.find(({ names }) => names.length === 1);
      const inner = (): unknown => tableOf(own.map(({ names, value }) => ({ names: names.slice(1), value })));
      return [name, whole ? whole.value : inner()];
    }),
  );
}

class Reader {
  readonly #text: string;
  #at = 0;
  #depth = 0;

  constructor(text: string) {
    this.#text = text;
  }

  get at(): number {
    return this.#at;
  }

  items(): Item[] {
    const items: Item[] = [];
    let table: readonly string[] = [];
    for (;;) {
      this.#match(/(?:\s|#[^\n]*)*/y);
      const from = this.#at;
      if (from >= this.#text.length) return items;
      const opening = this.#match(/\[\[?/y);
      if (opening !== undefined) {
        table = this.#names();
        if (this.#match(opening === '[' ? /[ \t]*\]/y : /[ \t]*\]\]/y) === undefined)
          throw new NotUnderstood();
        const kind = opening === '[' ? 'table' : 'list';
        items.push({ kind, table, key: [], value: undefined, from, to: this.#at });
      } else {
        const key = this.#names();
        if (this.#match(/[ \t]*=[ \t]*/y) === undefined) throw new NotUnderstood();
        const value = this.#value();
        items.push({ kind: 'value', table, key, value, from, to: this.#at });
      }
      if (this.#match(/[ \t]*(?:#[^\n]*)?(?:\r?\n|$)/y) === undefined) throw new NotUnderstood();
    }
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0];
    if (found !== undefined) this.#at += found.length;
    return found;
  }

  #names(): string[] {
    const names: string[] = [];
    do {
      this.#match(/[ \t]*/y);
      const name = this.#match(/[A-Za-z0-9_-]+/y) ?? this.#string();
      if (name === undefined || names.length === maxDepth) throw new NotUnderstood();
      names.push(name);
    } while (this.#match(/[ \t]*\./y) !== undefined);
    return names;
  }

  #value(): unknown {
    // A text of several lines is followed, and not read.
    if (this.#match(/"""(?:[^\\]|\\[^])*?"""+|'''[^]*?'''+/y) !== undefined) return otherValue;
    const string = this.#string();
    if (string !== undefined) return string;
    if (this.#match(/\[/y) !== undefined) return this.#within(() => this.#list());
    if (this.#match(/\{/y) !== undefined) return this.#within(() => this.#inlineTable());
    const other = this.#match(/[A-Za-z0-9+\-_.:]+(?: [0-9:.+\-Zz]+)?/y);
    if (other === undefined) throw new NotUnderstood();
    return Symbol.for(other);
  }

  #within<T>(read: () => T): T {
    this.#depth += 1;
    if (this.#depth > maxDepth) throw new NotUnderstood();
    const value = read();
    this.#depth -= 1;
    return value;
  }

  #list(): unknown[] {
    const values: unknown[] = [];
    const gap = /(?:\s|#[^\n]*)*/y;
    for (;;) {
      this.#match(gap);
      if (this.#match(/\]/y) !== undefined) return values;
      values.push(this.#value());
      this.#match(gap);
      if (this.#match(/,/y) === undefined && this.#text[this.#at] !== ']') throw new NotUnderstood();
    }
  }

  #inlineTable(): Record<string, unknown> {
    const pairs: Pair[] = [];
    for (;;) {
      this.#match(/[ \t]*/y);
      if (this.#match(/\}/y) !== undefined) return tableOf(pairs);
      const names = this.#names();
      if (this.#match(/[ \t]*=[ \t]*/y) === undefined) throw new NotUnderstood();
      pairs.push({ names, value: this.#value() });
      this.#match(/[ \t]*/y);
      if (this.#match(/,/y) === undefined && this.#text[this.#at] !== '}') throw new NotUnderstood();
    }
  }

  /** On one line. */
  #string(): string | undefined {
    const literal = this.#match(/'[^'\n]*'|"(?:[^"\\\n]|\\.)*"/y);
    return literal === undefined ? undefined : meaningOf(literal);
  }
}

/** Of a string on one line, with its quotation marks. */
function meaningOf(literal: string): string {
  const inner = literal.slice(1, -1);
  if (literal.startsWith("'")) return inner;
  return inner.replaceAll(/\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))/g, unescaped);
}

/** As `meaningOf`; undefined for one that TOML forbids. */
export function tomlString(literal: string): string | undefined {
  try {
    return meaningOf(literal);
  } catch (error) {
    if (error instanceof NotUnderstood) return undefined;
    throw error;
  }
}

function unescaped(_whole: string, short?: string, long?: string, letter = ''): string {
  const digits = short ?? long;
  if (digits !== undefined) {
    const point = Number.parseInt(digits, 16);
    if (point > 0x10_ff_ff) throw new NotUnderstood();
    return String.fromCodePoint(point);
  }
  const meant = Object.hasOwn(escapes, letter) ? escapes[letter] : undefined;
  if (meant === undefined) throw new NotUnderstood();
  return meant;
}
