/** Tokens for a machine without a person. */
import { generateKeyPairSync } from 'node:crypto';

import { describe, expect, it } from 'vitest';

import { Unreachable } from '../../../src/base/errors.ts';
import { requestClientCredentials } from '../../../src/oauth/grants/client-credentials.ts';
import type { ClientCredentialsRequest } from '../../../src/oauth/grants/client-credentials.ts';
import type { Registration } from '../../../src/oauth/client/registration.ts';
import { registrationAt, serverAt } from '../parties.ts';
import { everyWordOf, refusalOf } from '../refusal.ts';
import { now, siteOfFile } from '../site.ts';
import type { Page } from '../site.ts';

const resource = 'https://server.example/mcp';
const good = { access_token: 'acc3ss', token_type: 'Bearer', expires_in: 60 };

const site = await siteOfFile();

function ask(
  method: Registration['tokenEndpointAuthMethod'],
  changes: Partial<ClientCredentialsRequest> = {},
) {
  return requestClientCredentials(
    {
      server: serverAt(site.origin),
      registration: registrationAt(site.origin, { tokenEndpointAuthMethod: method }),
      clientSecret: 's3cret',
      resource,
      scope: ['a'],
      ...changes,
    },
    site.http,
  );
}

const sent = () => Object.fromEntries(new URLSearchParams(site.asked[0]?.body));

describe('client credentials', () => {
  it('P-1: sends client credentials with the resource by client_secret_basic', async () => {
    site.lay('/token', { body: good });
    expect(await ask('client_secret_basic')).toMatchObject({
      accessToken: 'acc3ss',
      expiresAt: now + 60_000,
      scope: ['a'],
    });
    expect(sent()).toEqual({ grant_type: 'client_credentials', resource, scope: 'a' });
    const credentials = Buffer.from('client-1.a_b:s3cret').toString('base64');
    expect(site.asked[0]?.headers['authorization']).toBe(`Basic ${credentials}`);
  });

  it('P-1: sends client credentials with the resource by client_secret_post', async () => {
    site.lay('/token', { body: good });
    await ask('client_secret_post', { scope: [] });
    expect(sent()).toEqual({
      grant_type: 'client_credentials',
      resource,
      client_id: 'client-1.a_b',
      client_secret: 's3cret',
    });
  });

  it('P-1: sends client credentials with the resource by private_key_jwt', async () => {
    site.lay('/token', { body: good });
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    await ask('private_key_jwt', {
      clientSecret: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    });
    expect(sent()).toMatchObject({ grant_type: 'client_credentials', resource, client_id: 'client-1.a_b' });
    expect(sent()['client_assertion']?.split('.')).toHaveLength(3);
  });

  it('drops a refresh token in the response to client credentials', async () => {
    site.lay('/token', { body: { ...good, refresh_token: 'unw4nted' } });
    expect(JSON.stringify(await ask('client_secret_basic'))).not.toContain('unw4nted');
  });

  it('P-1: refuses client credentials for a client without a secret', async () => {
    expect((await refusalOf(() => ask('none'))).reason).toBe('client_rejected');
    expect(site.asked).toEqual([]);
  });

  it.each<[string, Page, string]>([
    ['invalid_client', { status: 401, body: { error: 'invalid_client' } }, 'client_rejected'],
    ['unauthorized_client', { status: 400, body: { error: 'unauthorized_client' } }, 'client_rejected'],
    ['invalid_scope', { status: 400, body: { error: 'invalid_scope' } }, 'scope_insufficient'],
    ['invalid_target', { status: 400, body: { error: 'invalid_target' } }, 'resource_mismatch'],
    ['another error', { status: 400, body: { error: 'nope' } }, 'login_failed'],
    ['another token type', { body: { ...good, token_type: 'mac' } }, 'token_invalid'],
  ])('client credentials fail with a reason after %s', async (_what, page, reason) => {
    site.lay('/token', page);
    const refusal = await refusalOf(() => ask('client_secret_post'));
    expect(refusal.reason).toBe(reason);
    expect(everyWordOf(refusal)).not.toMatch(/s3cret|acc3ss/);
  });

  it.each([
    [['a'], 'Ask for other scopes'],
    [[], 'No scopes were asked for'],
  ])('the hint for invalid_scope depends on the requested scopes (%s)', async (scope, hint) => {
    site.lay('/token', { status: 400, body: { error: 'invalid_scope' } });
    expect((await refusalOf(() => ask('client_secret_post', { scope }))).hint).toContain(hint);
  });

  it.each<[string, Page]>([
    ['a 503', { status: 503, headers: { 'retry-after': '5' } }],
    ['a web page', { headers: { 'content-type': 'text/html' }, body: '<html>' }],
    ['a redirect', { status: 307, headers: { location: '/elsewhere' } }],
    ['400 server_error', { status: 400, body: { error: 'server_error' } }],
  ])('client credentials can be tried again after %s', async (_what, page) => {
    site.lay('/token', page);
    site.lay('/elsewhere', { body: good });
    expect(await refusalOf(() => ask('client_secret_post'))).toBeInstanceOf(Unreachable);
    expect(site.asked).toHaveLength(1);
  });
});
