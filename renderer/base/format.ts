/**
 * Numbers, plurals and times in words, by Intl.
 *
 * Instants are seconds since 1970, as on the wire.
 */
import { locale, strings } from './strings.ts';
import type { SettingValue } from './views.ts';

const numbers = new Intl.NumberFormat(locale);
const relative = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' });
const exact = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short' });
const hours = new Intl.DateTimeFormat(locale, { weekday: 'short', hour: 'numeric', minute: '2-digit' });
const times = new Intl.DateTimeFormat(locale, { hour: 'numeric', minute: '2-digit' });
const lists = new Intl.ListFormat(locale, { type: 'conjunction' });

export const formatNumber = (value: number): string => numbers.format(value);

/** What can be counted, in words. */
export type CountUnit = keyof typeof strings.counts;

export const formatCount = (count: number, of: CountUnit): string => strings.counts[of]({ count });

export const formatList = (items: readonly string[]): string => lists.format(items);

/** Seconds in a unit, and how many of it are the next one. */
const units = [
  { unit: 'minute', size: 60, most: 60 },
  { unit: 'hour', size: 3600, most: 24 },
  { unit: 'day', size: 86_400, most: 30 },
  { unit: 'month', size: 30 * 86_400, most: 12 },
  { unit: 'year', size: 365 * 86_400, most: Number.POSITIVE_INFINITY },
] as const;

/**
 * `in 5 minutes`, `3 days ago`: the nearest whole number, in the smallest unit that has not reached the next
 * one by it, so that an hour less a second is an hour. Below a minute only `now`, so that nothing ticks.
 */
export function formatRelative(at: number, now: number): string {
  const distance = at - now;
  if (Math.abs(distance) >= 60) {
    for (const { unit, size, most } of units) {
      const count = Math.round(distance / size);
      if (Math.abs(count) < most) return relative.format(count, unit);
    }
  }
  return relative.format(0, 'second');
}

export const formatExact = (at: number): string => exact.format(at * 1000);
export const formatTime = (at: number): string => times.format(at * 1000);
export const formatHour = (at: number): string => hours.format(at * 1000);

/** Months and years differ in length: a duration is told in days. */
const durationUnits = [{ unit: 'second', size: 1 }, ...units.slice(0, 3)] as const;

/** `90 seconds`, `15 minutes`, `8 hours`, `30 days`: in the largest unit that goes into it. */
export function formatDuration(seconds: number): string {
  const { unit, size } = durationUnits.findLast((one) => seconds % one.size === 0) ?? durationUnits[0];
  return new Intl.NumberFormat(locale, { style: 'unit', unit, unitDisplay: 'long' }).format(seconds / size);
}

/** A setting's value as text. */
export const formatSetting = (value: SettingValue): string =>
  Array.isArray(value) ? value.join(' ') : String(value);
