/**
 * What the name of a scope says: in words, and how much it lets an app do.
 *
 * Invariant: a name is a guess, and the risk is guessed upwards: one word that changes or deletes is enough.
 */
import { strings } from './strings.ts';

/** RFC 6749 §3.3: names with spaces between them. */
export function scopeNames(scope: string | undefined): string[] {
  return [...new Set((scope ?? '').split(' ').filter((name) => name !== ''))];
}

interface Meaning {
  readonly words: string;
  /** A guess from the name only. */
  readonly isGuess: boolean;
}

/** Names as most servers make them: what it is about and what may be done, in either order. */
const twoParts = /^([a-z][a-z0-9_-]{0,30})[:./]([a-z][a-z0-9_-]{0,30})$/;

/** What a scope means where everybody agrees on it, or how its name reads; undefined for any other. */
export function scopeMeaning(scope: string): Meaning | undefined {
  const agreed = Object.hasOwn(strings.scopes, scope) ? strings.scopes[scope] : undefined;
  if (agreed !== undefined) return { words: agreed, isGuess: false };
  const [, first = '', second = ''] = twoParts.exec(scope) ?? [];
  for (const [verb, what] of [[second, first] as const, [first, second] as const]) {
    const say = Object.hasOwn(strings.scopeVerbs, verb) ? strings.scopeVerbs[verb] : undefined;
    if (say) return { words: say({ what: what.replace(/[_-]/g, ' ') }), isGuess: true };
  }
  return undefined;
}

/** Words of a name, the gravest first. */
const risks = [
  ['deletes', /\b(?:delete|remove|destroy)\b/],
  ['controls', /\b(?:admin|manage|full)\b/],
  ['changes', /\b(?:write|edit|update|create|send|modify|readwrite)\b/],
] as const;

/** `Files.ReadWrite.All` and `https://host/auth/mail.send`, too: the host says nothing of what may be done. */
const wordsOf = (name: string): string =>
  name
    .replace(/^https?:\/\/[^/]*/, '')
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .replace(/[^a-z]+/g, ' ');

export function riskOf(name: string): (typeof risks)[number][0] | undefined {
  const words = wordsOf(name);
  return risks.find(([, sign]) => sign.test(words))?.[0];
}

function rank(name: string): number {
  if (scopeMeaning(name)?.isGuess === false) return 4;
  const risk = riskOf(name);
  if (risk !== undefined) return risk === 'changes' ? 1 : 0;
  return /\b(?:read|view|list|readonly)\b/.test(wordsOf(name)) ? 3 : 2;
}

/** Those that let an app do most first, and one that says nothing before one that only reads; else as they came. */
export function byRisk(names: readonly string[]): string[] {
  return names.toSorted((one, other) => rank(one) - rank(other));
}
