/**
 * Numbers, plurals and times in words, by Intl.
 *
 * Instants are seconds since 1970, as on the wire.
 */
import { locale, plurals, strings } from './strings.ts';
import type { SettingValue } from './views.ts';

const numbers = new Intl.NumberFormat(locale);
const pluralRules = new Intl.PluralRules(locale);
const relative = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' });
const exact = new Intl.DateTimeFormat(locale, { dateStyle: 'full', timeStyle: 'medium' });
const hours = new Intl.DateTimeFormat(locale, { weekday: 'short', hour: '2-digit', minute: '2-digit' });
const lists = new Intl.ListFormat(locale, { type: 'conjunction' });

export const number = (value: number): string => numbers.format(value);

export function counted(value: number, of: keyof typeof plurals): string {
  const form = pluralRules.select(value) === 'one' ? 'one' : 'other';
  return `${number(value)} ${plurals[of][form]}`;
}

export const listed = (items: readonly string[]): string => lists.format(items);

/** Seconds in a unit, with the unit from which on it is used. */
const units = [
  ['year', 365 * 86_400],
  ['month', 30 * 86_400],
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
] as const;

/**
 * `in 5 minutes`, `3 days ago`; below a minute only `now`, so that nothing on the page ticks. Whole units
 * only: nothing lasts longer than it says, and no 60 minutes stand where an hour would.
 */
export function fromNow(at: number, now: number): string {
  const distance = at - now;
  for (const [unit, size] of units) {
    if (Math.abs(distance) >= size) return relative.format(Math.trunc(distance / size), unit);
  }
  return relative.format(0, 'second');
}

export const exactTime = (at: number): string => exact.format(at * 1000);
export const hourOf = (at: number): string => hours.format(at * 1000);

/** `15 minutes`, `8 hours`, for choices. */
export function duration(seconds: number): string {
  const [unit, size] = units.find(([, length]) => seconds >= length && seconds % length === 0) ?? [
    'minute',
    60,
  ];
  return new Intl.NumberFormat(locale, { style: 'unit', unit, unitDisplay: 'long' }).format(seconds / size);
}

/** A setting's value as text. */
export const settingText = (value: SettingValue): string =>
  Array.isArray(value) ? value.join(' ') : String(value);

interface Meaning {
  readonly words: string;
  /** Read out of the name alone. */
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
    if (say) return { words: say(what.replace(/[_-]/g, ' ')), isGuess: true };
  }
  return undefined;
}
