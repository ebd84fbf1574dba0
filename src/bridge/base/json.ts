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

/** Throws a SyntaxError. */
export function parsed(text: string): unknown {
  const value: unknown = JSON.parse(text);
  if (!mayChange.test(text)) return value;
  try {
    return exact.parse(text, (_key, each, { source }) =>
      typeof each === 'number' && source !== undefined && String(each) !== source
        ? exact.rawJSON(source)
        : each,
    );
  } catch {
    // Nested deeper than a reviver goes.
    return value;
  }
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
