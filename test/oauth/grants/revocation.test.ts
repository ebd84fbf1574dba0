/** Revocation at a real endpoint. */
import { describe, expect, it } from 'vitest';
import { Unreachable } from '../../../src/base/errors.ts';
import { revokeToken, type RevocationRequest } from '../../../src/oauth/grants/revocation.ts';
import { registrationAt, serverAt } from '../parties.ts';
import { everyWordOf, refusalOf } from '../refusal.ts';
import { siteOfFile } from '../site.ts';

const site = await siteOfFile();

function revoke(changes: Partial<RevocationRequest> = {}) {
  const request = { server: serverAt(site.origin), registration: registrationAt(site.origin) };
  return revokeToken({ ...request, token: 't0ken', hint: 'refresh_token', ...changes }, site.http);
}

describe('revokeToken', () => {
  it('X-7: a revocation is confirmed if the server confirms it', async () => {
    site.lay('/revoke', {});
    expect(await revoke()).toBe('confirmed');
    expect(Object.fromEntries(new URLSearchParams(site.asked[0]?.body))).toEqual({
      token: 't0ken',
      token_type_hint: 'refresh_token',
      client_id: 'client-1.a_b',
    });
  });

  it('a revocation is not offered without an endpoint', async () => {
    const { revocationEndpoint: _none, ...server } = serverAt(site.origin);
    expect(await revoke({ server })).toBe('not_offered');
    expect(site.asked).toEqual([]);
  });

  it.each([
    [400, 'unsupported_token_type'],
    [401, 'invalid_client'],
  ])('W-3: a revocation is not offered to a public client that gets %i %s', async (status, error) => {
    site.lay('/revoke', { status, body: { error } });
    expect(await revoke()).toBe('not_offered');
  });

  it('a revocation fails as client_rejected if the secret is no longer accepted', async () => {
    site.lay('/revoke', { status: 401, body: { error: 'invalid_client' } });
    const registration = registrationAt(site.origin, { tokenEndpointAuthMethod: 'client_secret_basic' });
    expect((await refusalOf(() => revoke({ registration, clientSecret: 's' }))).reason).toBe(
      'client_rejected',
    );
  });

  it.each([200, 511])('a sign-in page of a network with %i confirms no revocation', async (status) => {
    const body = '<!doctype html><p>Welcome to our Wi-Fi';
    site.lay('/revoke', { status, headers: { 'content-type': 'text/html' }, body });
    const error = await refusalOf(() => revoke());
    expect(error).toBeInstanceOf(Unreachable);
    expect(error.hint).toContain('sign-in page of a network');
  });

  it.each([302, 503])('X-7 X-8: the result of a revocation is unknown after %i', async (status) => {
    site.lay('/revoke', { status, headers: { location: '/elsewhere', 'retry-after': '3' } });
    const error = await refusalOf(() => revoke());
    expect(error).toBeInstanceOf(Unreachable);
    expect(error.retryAfter).toBe(3);
    expect(everyWordOf(error)).not.toContain('t0ken');
    expect(site.asked).toHaveLength(1);
  });
});
