/**
 * Why something stays as it is, as codes: the command line says it in English sentences, the app in its language.
 *
 * Invariant: a closed list. The app's catalogues have a sentence for each (a test compares them).
 */
export const leftCauses = [
  /** Of a file. */
  'unusable',
  'notUnderstood',
  'versioned',
  /** Of an entry. */
  'form',
  'ownSignIn',
  'servers',
  'arguments',
  'headersElsewhere',
  'url',
  'urlSecret',
  'variable',
  'runs',
  'secrets',
  'noKey',
  'openServer',
  /** Of an entry that should have changed. */
  'changed',
  'otherKey',
  'keyThere',
  'keyFailed',
] as const;

export type LeftCause = (typeof leftCauses)[number];

/** `why` is for the command line. */
export interface WhyLeft {
  readonly cause: LeftCause;
  readonly why: string;
}
