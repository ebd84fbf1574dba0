/** How many requests a protected server takes, of whom, and whom nobody else's requests stop. */
import { describe, expect, it } from 'vitest';
import { Issuer, newKey, rig, tokenOf } from '../parties.ts';

const key = await newKey();
const token = await tokenOf(key);

describe('limits', () => {
  const address = '192.0.2.7';
  const limit = { requests: 3, seconds: 60 };

  it('RS-16: stop an address that sends wrong tokens, and let others pass', async () => {
    const { call, pass } = rig(new Issuer(key), { rateLimit: { failedTokens: limit } });
    for (let n = 0; n < 3; n += 1) expect((await call('x', { address })).status).toBe(401);
    const answer = await call(token, { address });
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([429, '20']);
    expect((await call(token, { address: '192.0.2.8' })).status).toBe(200);
    pass(20);
    expect((await call(token, { address })).status).toBe(200);
  });

  it('RS-16: let a token pass that passed before, whatever else its address sends', async () => {
    const { call, pass } = rig(new Issuer(key), { rateLimit: { failedTokens: limit } });
    expect((await call(token, { address })).status).toBe(200);
    for (let n = 0; n < 4; n += 1) await call('x', { address });
    expect((await call(token, { address })).status).toBe(200);
    // It is no longer kept as checked then, and the limit still holds.
    pass(61);
    for (let n = 0; n < 4; n += 1) await call('x', { address });
    expect((await call(token, { address })).status).toBe(200);
    expect((await call(await tokenOf(key, { jti: 't2' }), { address })).status).toBe(429);
    // A token that ended is one of the wrong ones.
    pass(300);
    expect((await call(token, { address })).status).toBe(401);
    for (let n = 0; n < 3; n += 1) await call('x', { address });
    expect((await call(token, { address })).status).toBe(429);
  });

  it('RS-16: count requests of browser pages apart from those of other programs', async () => {
    const { call } = rig(new Issuer(key), { rateLimit: { perAddress: { requests: 1, seconds: 60 } } });
    const sent = async (headers: Record<string, string>) => (await call(token, { address, headers })).status;
    const picture = {
      'sec-fetch-site': 'cross-site',
      'sec-fetch-mode': 'no-cors',
      'sec-fetch-dest': 'image',
    };
    const tab = { 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };
    expect([await sent(picture), await sent(picture)]).toEqual([200, 429]);
    // An older browser.
    expect(await sent({ origin: 'https://evil.example' })).toBe(429);
    expect(await sent({ ...tab, 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'iframe' })).toBe(429);
    expect([await sent(tab), await sent({ 'sec-fetch-mode': 'cors' })]).toEqual([200, 429]);
  });

  it('RS-16: stop an account at a client, whatever its addresses, until its time has come', async () => {
    const { call, pass } = rig(new Issuer(key), { rateLimit: { perClient: limit } });
    for (let n = 0; n < 3; n += 1) expect((await call(token, { address: `192.0.2.${n}` })).status).toBe(200);
    expect((await call(token, { address })).status).toBe(429);
    for (const other of [{ client_id: 'other' }, { sub: 'mallory' }])
      expect((await call(await tokenOf(key, other), { address })).status).toBe(200);
    pass(60);
    for (let n = 0; n < 3; n += 1) expect((await call(token, { address })).status).toBe(200);
    expect((await call(token, { address })).status).toBe(429);
  });
});
