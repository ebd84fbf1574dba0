/** Requests to an upstream server: with a token of its own, and never with the one that a client sent. */
import { expect, it } from 'vitest';
import { upstreamFetch } from '../../../src/server/index.ts';
import { Issuer, newKey, resource, rig, tokenOf } from '../parties.ts';

const upstream = 'https://api.example/v1';
const key = await newKey();
const incoming = await tokenOf(key);
const caller = rig(new Issuer(key));
await caller.call(incoming);
const [{ access } = expect.fail('nothing was handled')] = caller.handled;

function recorder() {
  const sent: Request[] = [];
  const fetch: typeof globalThis.fetch = async (input, init) => {
    sent.push(new Request(input, init));
    return new Response('ok');
  };
  return { sent, fetch };
}

it('requests to an upstream carry a token issued for it, and follow no redirect', async () => {
  const { sent, fetch } = recorder();
  const token = await tokenOf(key, { aud: upstream });
  const call = await upstreamFetch(access, { resource: upstream, token, fetch });
  await call(`${upstream}/things`, { method: 'POST', body: 'x' });
  expect(sent[0]?.headers.get('authorization')).toBe(`Bearer ${token}`);
  expect([sent[0]?.redirect, await sent[0]?.text()]).toEqual(['manual', 'x']);
});

it.each([
  ['the token that the client sent', async () => incoming, /the client sent/],
  ['another for this server', async () => tokenOf(key, { aud: resource, jti: 't2' }), /another audience/],
  ['one for a third server', async () => tokenOf(key, { aud: 'https://third.example' }), /another audience/],
])('RS-15: requests to an upstream server are refused with %s', async (_what, make, problem) => {
  await expect(upstreamFetch(access, { resource: upstream, token: await make() })).rejects.toThrow(problem);
});

it.each(['https://evil.example/v1', 'https://api.example/v2', 'http://api.example/v1'])(
  'requests to an upstream server are refused for %s, which is beyond it',
  async (url) => {
    const { sent, fetch } = recorder();
    const call = await upstreamFetch(access, { resource: upstream, token: 'opaque', fetch });
    await expect(call(url)).rejects.toThrow(/not one of the upstream/);
    expect(sent).toEqual([]);
  },
);
