/**
 * What a catalogue of words is, and how its messages become text.
 *
 * A catalogue is a tree of ICU messages: `{name}` stands for an argument, `{count, plural, one {…} other {…}}` for a
 * choice by the language's own rules. English is the pattern; another language has the same keys.
 *
 * Invariant: a missing or superfluous key is a type error, as is a missing or superfluous argument where a message is
 * used. Arguments are text and are never read as messages; nothing is compiled from text at run time (the page's policy
 * forbids it).
 */
import { IntlMessageFormat } from 'intl-messageformat';

/** In a branch of a plural there are several words, or a `#`. */
type Name<T extends string> = T extends '' | `${string}${' ' | '#' | '{' | '…'}${string}` ? never : T;

/** What follows a `{`: the argument as `[name, type]`, if it is one. */
type Argument<T extends string> = T extends `${infer Before}}${string}`
  ? Before extends `${infer Word},${infer Kind}`
    ? Pair<Name<Word>, Kind extends ` select${string}` ? string : number>
    : Pair<Name<Before>, string>
  : never;

type Pair<N, K> = N extends string ? [N, K] : never;

type Arguments<M extends string> = M extends `${string}{${infer Rest}`
  ? Argument<Rest> | Arguments<Rest>
  : never;

type Named<A> = A extends [infer N, unknown] ? N & string : never;

/** The arguments of a message by name. */
export type Values<M extends string> = {
  readonly [N in Named<Arguments<M>>]: Extract<Arguments<M>, [N, unknown]>[1];
};

export interface Message<M extends string> {
  (values: Values<M>): string;
  /**
   * The message in pieces, for arguments that are drawn: text and what was handed in, in the language's order. An
   * argument that chooses is a word.
   */
  parts<T extends object>(values: { readonly [N in Named<Arguments<M>>]: T | string }): readonly (
    | string
    | T
  )[];
}

/** A catalogue as it is used: a message without arguments is its text, any other a function of them. */
export type Bound<T> = T extends string
  ? [Named<Arguments<T>>] extends [never]
    ? string
    : Message<T>
  : { readonly [K in keyof T]: Bound<T[K]> };

/** What another language has to say: every message of `T`, and no more. Its arguments are not compared with those of `T`. */
export type Translation<T> = T extends string ? string : { readonly [K in keyof T]: Translation<T[K]> };

/** `locale`: by its rules plurals are chosen and numbers are written. */
export function bindMessages<T extends object>(messages: Translation<T>, locale: string): Bound<T> {
  return bindTree(messages, locale) as Bound<T>;
}

function bindTree(messages: object, locale: string): unknown {
  return Object.fromEntries(
    Object.entries(messages).map(([key, value]: [string, unknown]) => [key, bind(value, locale)]),
  );
}

function bind(value: unknown, locale: string): unknown {
  if (typeof value === 'string') return bindMessage(value, locale);
  return typeof value === 'object' && value !== null ? bindTree(value, locale) : value;
}

function bindMessage(text: string, locale: string): unknown {
  if (!text.includes('{')) return text;
  let parsed: IntlMessageFormat | undefined;
  // Read at its first use: a window shows few of them.
  const message = (): IntlMessageFormat =>
    (parsed ??= new IntlMessageFormat(text, locale, undefined, { ignoreTag: true }));
  const format = (values: Record<string, string | number>): string => String(message().format(values));
  const parts = (values: Record<string, object | string>): readonly unknown[] =>
    message()
      .formatToParts<object>(values)
      .map(({ value }) => value);
  return Object.assign(format, { parts });
}
