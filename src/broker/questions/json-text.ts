/**
 * A string that is JSON already: `JSON.stringify` writes it as it is.
 *
 * To look through a token for characters to escape takes longer than all checks of a request, so that is done once for
 * each token.
 */
export interface JsonText {
  readonly rawJSON: string;
}

/** ECMAScript's JSON.parse source text access, which TypeScript's libraries don't know yet. */
declare global {
  interface JSON {
    rawJSON(text: string): JsonText;
  }
}

export function jsonText(text: string): JsonText {
  return JSON.rawJSON(JSON.stringify(text));
}

/** A message in which strings may stand as JSON. */
export type Written<T> = { readonly [K in keyof T]: T[K] extends string ? T[K] | JsonText : T[K] };
