/**
 * A refusal as a sentence of a catalogue, by its reason and the case of it (src/base/errors.ts).
 *
 * Invariant: the broker's own sentences, which are English, are no part of it.
 */
export interface RefusalWords {
  readonly refusals: Readonly<Record<string, string>> & { readonly internal: string };
  readonly refusalCases: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

/** For a reason of a newer broker what `internal` says. */
export function refusalSentence(
  { refusals, refusalCases }: RefusalWords,
  { reason, case: kind = '' }: { readonly reason: string; readonly case?: string },
): string {
  const ofCase = own(own(refusalCases, reason) ?? {}, kind);
  return ofCase ?? own(refusals, reason) ?? refusals.internal;
}

function own<T>(table: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}
