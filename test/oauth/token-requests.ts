/** The two token requests of the unit tests: each sends a code or a refresh token to `/token` of the test's site. */
import { exchangeCode, refresh, type RefreshRequest } from '../../src/oauth/grants/token.ts';
import { registrationAt, serverAt } from './parties.ts';
import type { Site } from './site.ts';

export const resource = 'https://server.example/mcp';

export const good = { access_token: 'acc3ss', token_type: 'Bearer', expires_in: 60 };

/** A token of the right form, with a signature that nobody checks. */
export function jwt(claims: object, header: object = { alg: 'RS256' }): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${part(header)}.${part(claims)}.c2ln`;
}

export function tokenRequests(site: Site) {
  return {
    refreshed: (changes: Partial<RefreshRequest> = {}, http = site.http) => {
      const request = {
        server: serverAt(site.origin),
        registration: registrationAt(site.origin),
        refreshToken: 'refr3sh',
        resource,
        grantedScope: ['a', 'b'],
        ...changes,
      };
      return refresh(request, http);
    },
    exchanged: (changes: { state?: string; nonce?: string; scope?: string[] } = {}) => {
      const started = {
        state: 'st4te',
        codeVerifier: 'v'.repeat(43),
        issuer: site.origin,
        resource,
        redirectUri: 'http://127.0.0.1:4711/callback',
        ...changes,
      };
      const callbackUrl = new URL('http://127.0.0.1:4711/callback?code=c0de&state=st4te');
      const registration = registrationAt(site.origin);
      return exchangeCode({ started, server: serverAt(site.origin), registration, callbackUrl }, site.http);
    },
  };
}

/** The metadata that an authorization server at `origin` serves, as `site.lay` takes it. */
export function metadataOf(origin: string, changes: object = {}) {
  return {
    body: {
      issuer: origin,
      authorization_endpoint: `${origin}/authorize`,
      token_endpoint: `${origin}/token`,
      code_challenge_methods_supported: ['S256'],
      ...changes,
    },
  };
}
