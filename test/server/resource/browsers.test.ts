/** Pages in browsers, such as the inspector: what they may ask without a token, and what they may read. */
import { describe, expect, it } from 'vitest';
import { Issuer, newKey, resource, rig, tokenOf } from '../parties.ts';

const key = await newKey();
const token = await tokenOf(key);

describe('a page in a browser', () => {
  const origin = 'http://localhost:6274';
  const preflight = (method = 'POST', names = 'authorization,content-type,mcp-protocol-version') =>
    new Request(resource, {
      method: 'OPTIONS',
      headers: { origin, 'access-control-request-method': method, 'access-control-request-headers': names },
    });

  it('asks by a preflight request without a token, and may read what a client needs', async () => {
    const { call, send, handled } = rig(new Issuer(key));
    const asked = await send(preflight());
    expect([asked.status, asked.headers.get('access-control-allow-headers')]).toEqual([
      204,
      'authorization,content-type,mcp-protocol-version',
    ]);
    expect(asked.headers.get('access-control-allow-methods')).toContain('DELETE');
    expect(asked.headers.get('access-control-allow-credentials')).toBeNull();
    expect(handled).toEqual([]);
    for (const own of [undefined, token]) {
      const { headers } = await call(own, { headers: { origin } });
      expect(headers.get('access-control-allow-origin')).toBe('*');
      expect(headers.get('access-control-expose-headers')).toMatch(/WWW-Authenticate.*Mcp-Session-Id/);
    }
  });

  it('of another origin than those allowed is told nothing', async () => {
    const { call, send } = rig(new Issuer(key), { origins: ['https://app.example'] });
    const answers = [await send(preflight()), await call(token, { headers: { origin } })];
    expect(answers.map(({ headers }) => headers.get('access-control-allow-origin'))).toEqual([null, null]);
    const allowed = await call(token, { headers: { origin: 'https://app.example' } });
    expect(allowed.headers.get('access-control-allow-origin')).toBe('https://app.example');
    expect(allowed.headers.get('vary')).toContain('Origin');
  });

  it('gets no other request past the token, and no header of its own making', async () => {
    const { send } = rig(new Issuer(key));
    const plain = await send(new Request(resource, { method: 'OPTIONS', headers: { origin } }));
    expect(plain.status).toBe(401);
    const odd = await send(preflight('POST', 'authorization;evil'));
    expect(odd.headers.get('access-control-allow-headers')).toBeNull();
  });
});
