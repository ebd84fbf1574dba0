/** Bounds: tries that a program sets off, waits between requests, tokens in memory. */
import { describe, expect, it } from 'vitest';
import { Backoff } from '../../src/base/backoff.ts';
import { StepUpLimit, TryLimit } from '../../src/broker/step-up-limit.ts';
import { isAlive, isFresh, marginOf, TokenCache } from '../../src/broker/tokens/token-cache.ts';
import { HandClock } from './hand-clock.ts';

const minute = 60_000;

function limit(): { tries: TryLimit; clock: HandClock } {
  const clock = new HandClock();
  return { tries: new TryLimit(() => clock.now()), clock };
}

describe('the limit on tries', () => {
  it('is reached at the third within ten minutes, and stays', () => {
    const { tries, clock } = limit();
    for (const _ of [1, 2]) tries.add('a');
    expect(tries.isExhausted('a')).toBe(false);
    tries.add('a');
    expect(tries.isExhausted('a')).toBe(true);
    clock.advance(24 * 60 * minute);
    tries.add('a');
    expect(tries.isExhausted('a')).toBe(true);
  });

  it('counts each key by itself, and an act of the user clears only its own key', () => {
    const { tries } = limit();
    const keys = ['https://a x ', 'https://a y ', 'https://b x ', 'https://b x https://a '];
    for (const key of keys) for (const _ of [1, 2, 3]) tries.add(key);
    tries.clear('https://a ');
    expect(keys.map((key) => tries.isExhausted(key))).toEqual([false, false, true, true]);
  });
});

it('step-ups are counted by operation, nine in all for a program and a resource', () => {
  const stepUps = new StepUpLimit(() => 0);
  const at = (operation: string, endpoint = 'https://a', appId = 'x') => ({ appId, endpoint, operation });
  for (const _ of [1, 2, 3]) stepUps.add(at('a'));
  expect([at('a'), at('b'), at('')].map((one) => stepUps.isExhausted(one))).toEqual([true, false, false]);
  for (let n = 0; n < 6; n += 1) stepUps.add(at(`operation ${n}`));
  const others = [at('new', 'https://b'), at('new', 'https://a', 'y')];
  expect([at('new'), ...others].map((one) => stepUps.isExhausted(one))).toEqual([true, false, false]);
  stepUps.clear('https://a');
  expect([at('a'), at('new')].map((one) => stepUps.isExhausted(one))).toEqual([false, false]);
});

it('the wait after a failure grows from a second to five minutes, less by chance', () => {
  const clock = new HandClock();
  const backoff = new Backoff(() => clock.now());
  expect(backoff.left('a')).toBe(0);
  for (const maxLength of [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]) {
    backoff.failed('a');
    expect(backoff.left('a')).toBeLessThanOrEqual(maxLength * 1000);
    expect(backoff.left('a')).toBeGreaterThanOrEqual(maxLength * 750);
    clock.advance(maxLength * 1000);
    expect(backoff.left('a')).toBe(0);
  }
  backoff.succeeded('a');
  backoff.failed('a');
  expect(backoff.left('a')).toBeLessThanOrEqual(1000);
});

describe('a token in memory', () => {
  const living = (lifetime: number, chance = 0) => {
    const times = { issuedAt: 0, expiresAt: lifetime };
    return { ...times, margin: marginOf(times, chance) };
  };

  it.each([
    ['an hour', 60 * minute, 55 * minute],
    ['a day', 24 * 60 * minute, 24 * 60 * minute - 5 * minute],
    ['ten minutes', 10 * minute, 8 * minute],
    ['half a minute', minute / 2, (minute / 2) * 0.8],
  ])('that lives for %s is fresh until its margin', (_name, lifetime, until) => {
    expect(isFresh(living(lifetime), until - 1)).toBe(true);
    expect(isFresh(living(lifetime), until)).toBe(false);
    expect(isAlive(living(lifetime), lifetime - 1)).toBe(true);
    expect(isAlive(living(lifetime), lifetime)).toBe(false);
  });

  it('is refreshed a little earlier by chance, never later than its margin', () => {
    const hour = 60 * minute;
    expect(isFresh(living(hour, 1), hour - 5.5 * minute - 1)).toBe(true);
    expect(isFresh(living(hour, 1), hour - 5.5 * minute)).toBe(false);
    const cache = new TokenCache();
    const put = () => cache.put('g', 'a', { accessToken: 't', issuedAt: 0, expiresAt: hour, scope: [] });
    const margins = Array.from({ length: 50 }, () => put().margin);
    for (const margin of margins) expect(margin).toBeGreaterThanOrEqual(5 * minute);
    for (const margin of margins) expect(margin).toBeLessThanOrEqual(5.5 * minute);
    expect(new Set(margins).size).toBeGreaterThan(1);
  });

  it('is fresh if it meets the required minimum, or was just issued', () => {
    const lifetime = 60 * minute;
    expect(isFresh(living(lifetime), 20 * minute, 39 * minute)).toBe(true);
    expect(isFresh(living(lifetime), 20 * minute, 40 * minute)).toBe(false);
    expect(isFresh(living(lifetime), 9_999, 999 * minute)).toBe(true);
    expect(isFresh(living(lifetime), 10_000, 999 * minute)).toBe(false);
    expect(isFresh(living(2000), 1900, 999 * minute)).toBe(false);
    // Of a short life, a fifth is "just".
    expect(isFresh(living(5000), 999, 999 * minute)).toBe(true);
    expect(isFresh(living(5000), 1000, 999 * minute)).toBe(false);
  });

  const fields = { accessToken: 't', issuedAt: 0, expiresAt: 1, scope: [] };

  it('PROMISE-10: the memory makes room for the ninth scope set of a sign-in', () => {
    const cache = new TokenCache();
    for (let n = 0; n < 9; n += 1) cache.put('g', `${n}`, fields);
    cache.put('h', '0', fields);
    expect(cache.of('g')).toHaveLength(8);
    expect(cache.get('g', '0')).toBeUndefined();
    expect(cache.get('h', '0')).toBeDefined();
  });

  it('that was refused is removed and remembered until its sign-in is dropped', () => {
    const cache = new TokenCache();
    const token = cache.put('g', 'a', fields);
    const other = cache.put('g', 'b', { ...fields, accessToken: 'u' });
    expect(cache.holds('g', token)).toBe(true);
    cache.reject('g', token);
    expect(cache.holds('g', token)).toBe(false);
    expect(cache.of('g')).toEqual([other]);
    expect([cache.isRejected('g', 't'), cache.isRejected('g', 'u'), cache.isRejected('h', 't')]).toEqual([
      true,
      false,
      false,
    ]);
    cache.dropSignIn('g');
    expect(cache.of('g')).toEqual([]);
    expect(cache.isRejected('g', 't')).toBe(false);
  });
});
