/** Which URLs are used at all. */
import { describe, expect, it } from 'vitest';
import { requireSecureUrl } from '../../../src/oauth/base/secure-url.ts';
import { refusalOf } from '../refusal.ts';

const strict = { allowInsecureLoopback: false };
const lenient = { allowInsecureLoopback: true };

describe('requireSecureUrl', () => {
  const plain = `javascript:alert(1) data:text/html,x file:///etc/passwd http://server.example/token http://localhost.server.example/ http://localhost./
    http://0.0.0.0/ http://128.0.0.1/ http://[::2]/ https://name:word@server.example/ https://server.example/#part /token`;

  it.each([
    ...plain.split(/\s+/),
    'https://server.example/a\tb',
    'https://server.example/\u202e',
    'https://sérver.example/',
    "https://server.example/x\\';{touch,x}",
  ])('X-3: refuses the URL %j even if http on loopback is allowed', async (url) => {
    const refusal = await refusalOf(() => requireSecureUrl(url, 'the token endpoint', lenient));
    expect(refusal.reason).toBe('insecure_url');
  });

  it.each(['http://127.0.0.1:8080/x', 'http://127.1/', 'http://[::1]:80/', 'http://localhost/x'])(
    'accepts the URL %j only if http on loopback is allowed',
    async (url) => {
      expect(requireSecureUrl(url, 'the issuer', lenient).protocol).toBe('http:');
      expect((await refusalOf(() => requireSecureUrl(url, 'the issuer', strict))).reason).toBe(
        'insecure_url',
      );
    },
  );
});
