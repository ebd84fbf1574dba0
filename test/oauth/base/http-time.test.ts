/** Times in HTTP headers, from servers whose clocks are right or an hour off. */
import { describe, expect, it } from 'vitest';
import { freshUntil, retryAfterSeconds } from '../../../src/oauth/base/http-time.ts';
import { now } from '../site.ts';

const hour = 3_600_000;
const day = 24 * hour;

const headers = (fields: Record<string, string>) => ({ get: (name: string) => fields[name] ?? null });

describe('Retry-After', () => {
  it.each([
    ['120', 120],
    [' 0 ', 0],
    ['Tue, 01 Jan 2030 00:01:30 GMT', 90],
    ['99999999999', 86_400],
    ['-5', undefined],
    ['', undefined],
  ])('%j is %s seconds', (value, seconds) => {
    expect(retryAfterSeconds(headers({ 'retry-after': value }), now)).toBe(seconds);
  });

  it('is compared with the Date header of the same response', () => {
    for (const skew of [-hour, 0, hour]) {
      const at = (time: number): string => new Date(time + skew).toUTCString();
      const both = headers({ 'retry-after': at(now + 90_000), date: at(now) });
      expect(retryAfterSeconds(both, now)).toBe(90);
    }
  });
});

const kept = (fields: Record<string, string>): number => freshUntil(headers(fields), now) - now;

it.each<[Record<string, string>, number]>([
  [{}, hour],
  [{ 'cache-control': 'max-age=60' }, 60_000],
  [{ 'cache-control': 'public, Max-Age="60", must-revalidate' }, 60_000],
  [{ 'cache-control': 'max-age=60', age: '50' }, 10_000],
  [{ 'cache-control': 'max-age=60', expires: '0' }, 60_000],
  [{ 'cache-control': 'max-age=-1' }, hour],
  [{ 'cache-control': 'no-store, max-age=60' }, 0],
  [{ 'cache-control': 'no-cache="set-cookie"' }, 0],
  [{ expires: 'Tue, 01 Jan 2030 00:10:00 GMT' }, 600_000],
  [{ expires: 'Tue, 01 Jan 2030 00:10:00 GMT', date: 'Tue, 01 Jan 2030 00:09:00 GMT' }, 60_000],
  [{ expires: 'Fri, 01 Jan 2100 00:00:00 GMT' }, day],
])('M-7: a response with the headers %j may be kept for %i ms', (fields, milliseconds) => {
  expect(kept(fields)).toBe(milliseconds);
});
