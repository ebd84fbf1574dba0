/**
 * JSON text into values and back.
 *
 * Invariant: a number that a double can't repeat is carried as it was written. An id of that kind gets a text in its
 * place, which only the bridge sees.
 */

interface RawJson {
  readonly rawJSON: string;
}

type Reviver = (key: string, value: unknown, context: { readonly source?: string }) => unknown;

/** What TypeScript's library doesn't declare yet (ECMAScript proposal "JSON.parse source text access"). */
const exact = JSON as unknown as {
  parse(text: string, reviver: Reviver): unknown;
  rawJSON(text: string): RawJson;
  isRawJSON(value: unknown): value is RawJson;
};

/** A number of this look may change on its way through a double. Other texts are read without the slower reviver. */
const mayChange = /[\d.]{16}|\d\.\d*0(?!\d)|\d[eE]|-0/;

/** Undefined: the text is no JSON. */
export function jsonIn(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
    if (!mayChange.test(text)) return value;
    return exact.parse(text, (_key, each, { source }) =>
      typeof each === 'number' && source !== undefined && String(each) !== source
        ? exact.rawJSON(source)
        : each,
    );
  } catch {
    // A value that was read is nested deeper than a reviver goes.
    return value;
  }
}

/** A value of JSON as an object with fields; empty where it is something else. */
export type Fields = Readonly<Record<string, unknown>>;

export function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
}

const aliasPrefix = 'keyturn-number:';

/** Undefined: no id of JSON-RPC. */
export function idOf(value: unknown): string | number | undefined {
  if (typeof value === 'string' || typeof value === 'number') return value;
  return exact.isRawJSON(value) ? `${aliasPrefix}${value.rawJSON}` : undefined;
}

/** The text of an integer that is carried as it was written. */
export function integerText(value: unknown): string | undefined {
  return exact.isRawJSON(value) && /^-?\d+$/.test(value.rawJSON) ? value.rawJSON : undefined;
}

/** The id as the sender of the request wrote it. */
export function ownId(id: string | number): unknown {
  const isAlias = typeof id === 'string' && /^keyturn-number:-?\d[\d.eE+-]*$/.test(id);
  return isAlias ? exact.rawJSON(id.slice(aliasPrefix.length)) : id;
}
