/** How a server's clock is read from its answers, and used where the server judges a time. */
import { describe, expect, it } from 'vitest';
import { clockSkew, ServerClocks, serverTime } from '../../../src/oauth/base/server-clock.ts';
import { now } from '../site.ts';

const hour = 3_600_000;
const issuer = 'https://issuer.example/tenant';

const answer = (time: number, more: Record<string, string> = {}) => {
  const fields: Record<string, string> = { date: new Date(time).toUTCString(), ...more };
  return { get: (name: string) => fields[name] ?? null };
};

function times() {
  const hands = { now, wall: now };
  const serverClocks = new ServerClocks();
  return { hands, now: () => hands.now, wall: () => hands.wall, serverClocks };
}

describe('a server’s clock', () => {
  it.each([5 * hour, -5 * hour])(
    "a server's clock that is %i ms off counts for that server's times",
    (off) => {
      const t = times();
      t.serverClocks.note(`${issuer}/token`, answer(now + off), now);
      expect(serverTime(t, { issuer })).toBe(now + off);
      expect(clockSkew(t, { issuer })).toBe(off);
      expect(clockSkew(t, { issuer: 'https://other.example' })).toBe(0);
    },
  );

  it('the clock of the token endpoint counts if it has another host', () => {
    const t = times();
    t.serverClocks.note(issuer, answer(now), now);
    t.serverClocks.note('https://token.example/', answer(now + hour), now);
    expect(clockSkew(t, { issuer, tokenEndpoint: 'https://token.example/token' })).toBe(hour);
    expect(clockSkew(t, { issuer, tokenEndpoint: 'https://silent.example/token' })).toBe(0);
  });

  it("our own clock counts if the server's differs by less than five seconds", () => {
    const t = times();
    t.serverClocks.note(issuer, answer(now - 4000), now);
    expect(serverTime(t, { issuer })).toBe(now);
  });

  it("a server's clock stays known if somebody sets our clock", () => {
    const t = times();
    t.serverClocks.note(issuer, answer(now), now);
    t.hands.wall -= hour;
    t.hands.now += 1000;
    t.hands.wall += 1000;
    expect(serverTime(t, { issuer })).toBe(now + 1000);
    expect(clockSkew(t, { issuer })).toBe(hour);
  });

  it('reads no clock from a response of a cache or without a date', () => {
    const t = times();
    t.serverClocks.note(issuer, answer(now - hour, { age: '3600' }), now);
    t.serverClocks.note(issuer, { get: () => null }, now);
    expect(clockSkew(t, { issuer })).toBe(0);
  });
});
