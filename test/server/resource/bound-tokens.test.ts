/** Tokens that are bound to a key: with a right proof, and with each way in which a proof can be wrong. */
import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { parseChallenges } from '../../../src/oauth/discovery/challenge.ts';
import { Issuer, newKey, part, proofOf, resource, rig, start, thumbprintOf, tokenOf } from '../parties.ts';

const [key, device, thief] = await Promise.all([newKey(), newKey(), newKey()]);
const bound = await tokenOf(key, { cnf: { jkt: await thumbprintOf(device) } });
const plain = await tokenOf(key);

const now = start / 1000;
const scheme = 'DPoP';

function dpopChallenge(answer: Response) {
  const challenges = parseChallenges(answer.headers.get('www-authenticate') ?? '');
  return Object.fromEntries(challenges.find((one) => one.scheme === 'dpop')?.parameters ?? []);
}

describe('a bound token', () => {
  it('RS-17: passes with a proof of its key, and gives the handler neither', async () => {
    const { call, handled } = rig(new Issuer(key));
    const proof = await proofOf(device, bound);
    expect((await call(bound, { scheme, headers: { dpop: proof } })).status).toBe(200);
    expect([...(handled[0]?.request.headers.keys() ?? [])]).toEqual([]);
  });

  it('RS-17: is refused in the Bearer scheme, with a proof or without one', async () => {
    const { call } = rig(new Issuer(key));
    const proof = await proofOf(device, bound);
    for (const headers of [{}, { dpop: proof }] as Record<string, string>[]) {
      const answer = await call(bound, { headers });
      expect(answer.status).toBe(401);
      expect(dpopChallenge(answer)).toMatchObject({
        error: 'invalid_token',
        algs: expect.stringContaining('ES256'),
      });
    }
  });

  type Make = () => string | Promise<string>;
  const { kid: _kid, ...shown } = device.jwk;
  const wrong: readonly (readonly [string, string, Make])[] = [
    ['of another key', 'another key', () => proofOf(thief, bound)],
    [
      'signed by another key than it shows',
      'wrong signature',
      () => proofOf(thief, bound, {}, { jwk: shown }),
    ],
    ['for another method', 'another request', () => proofOf(device, bound, { htm: 'GET' })],
    ['for another path', 'another request', () => proofOf(device, bound, { htu: `${resource}/x` })],
    ['for another token', 'another token', () => proofOf(device, plain)],
    ['without the digest of a token', 'one readable', () => proofOf(device, bound, { ath: undefined })],
    ['without an id', 'one readable', () => proofOf(device, bound, { jti: undefined })],
    ['without a time', 'one readable', () => proofOf(device, bound, { iat: undefined })],
    ['that is too old', 'too old', () => proofOf(device, bound, { iat: now - 61 })],
    ['from the future', 'too old', () => proofOf(device, bound, { iat: now + 6 })],
    ['with d', 'one readable', () => proofOf(device, bound, {}, { jwk: { ...device.jwk, d: 'AAAA' } })],
    [
      'with a MAC',
      'one readable',
      () => {
        const signed = `${part({ alg: 'HS256', typ: 'dpop+jwt', jwk: { kty: 'oct', k: 'AAAA' } })}.${part({})}`;
        return `${signed}.${createHmac('sha256', Buffer.from('AAAA', 'base64url')).update(signed).digest('base64url')}`;
      },
    ],
    ['of 5,000 characters', 'one readable', () => proofOf(device, bound, { x: 'x'.repeat(5000) })],
    ['twice', 'one readable', async () => Promise.all([1, 2].map(() => proofOf(device, bound))).then(String)],
  ];

  it.each(wrong)('RS-17: is refused with a proof %s', async (_what, problem, make) => {
    const { call, handled } = rig(new Issuer(key));
    const answer = await call(bound, { scheme, headers: { dpop: await make() } });
    expect(answer.status).toBe(401);
    expect(dpopChallenge(answer)).toMatchObject({ error: 'invalid_dpop_proof' });
    expect(await answer.text()).toContain(problem);
    expect(handled).toEqual([]);
  });

  it('RS-17: passes once with one proof, also where two requests come at once', async () => {
    const { call, pass } = rig(new Issuer(key));
    const headers = { dpop: await proofOf(device, bound) };
    const statuses = await Promise.all(
      [1, 2, 3].map(async () => (await call(bound, { scheme, headers })).status),
    );
    expect(statuses.toSorted((a, b) => a - b)).toEqual([200, 401, 401]);
    pass(59);
    expect(await (await call(bound, { scheme, headers })).text()).toContain('used before');
    pass(10);
    expect(await (await call(bound, { scheme, headers })).text()).toContain('too old');
  });

  it('RS-17: passes once with a proof whose clock is ahead, until it expires', async () => {
    const { call, pass } = rig(new Issuer(key));
    const headers = { dpop: await proofOf(device, bound, { iat: now + 5 }) };
    const send = async () => (await call(bound, { scheme, headers })).text();
    expect(await send()).toBe('handled');
    pass(65);
    expect(await send()).toContain('used before');
    pass(1);
    expect(await send()).toContain('too old');
  });

  it('RS-17: needs a nonce of this server where one is wanted, and the server gives it', async () => {
    const { call, pass } = rig(new Issuer(key), { dpop: { nonceSeconds: 30 } });
    const send = async (nonce?: string) =>
      call(bound, { scheme, headers: { dpop: await proofOf(device, bound, { nonce }) } });
    const asked = await send();
    expect([asked.status, dpopChallenge(asked)['error']]).toEqual([401, 'use_dpop_nonce']);
    const nonce = asked.headers.get('dpop-nonce') ?? '';
    const passed = await send(nonce);
    expect([passed.status, passed.headers.has('dpop-nonce')]).toEqual([200, true]);
    expect((await send(`${nonce.slice(0, -2)}AA`)).status).toBe(401);
    expect((await send('1.x')).status).toBe(401);
    pass(31);
    expect((await send(nonce)).status).toBe(401);
  });
});

it('RS-17: what is wrong with a request in the scheme of DPoP is in its challenge', async () => {
  const { call } = rig(new Issuer(key), { scopes: { required: ['admin'] } });
  const headers = { dpop: await proofOf(device, bound) };
  const answers = [await call(bound, { scheme, headers }), await call(plain, { scheme }), await call(plain)];
  const errors = answers.map((answer) => dpopChallenge(answer)['error']);
  expect(errors).toEqual(['insufficient_scope', 'invalid_token', undefined]);
});

it('a token without a key is refused where only bound ones are taken', async () => {
  const { call } = rig(new Issuer(key), { dpop: { required: true } });
  for (const answer of [await call(plain), await call(undefined)]) {
    expect(answer.status).toBe(401);
    const challenges = parseChallenges(answer.headers.get('www-authenticate') ?? '');
    expect(challenges.map((one) => one.scheme)).toEqual(['dpop']);
  }
});
