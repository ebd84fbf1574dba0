/** Client identities: dynamic registration at a real endpoint. */
import { describe, expect, it } from 'vitest';
import { registrationSchema } from '../../../src/oauth/client/registration.ts';
import { registerDynamically } from '../../../src/oauth/client/dynamic-registration.ts';
import { serverAt } from '../parties.ts';
import { everyWordOf, refusalOf } from '../refusal.ts';
import { now, siteOfFile } from '../site.ts';

const loopback = 'http://127.0.0.1/callback';

const site = await siteOfFile();

const register = (redirectUris: [string, ...string[]] = [loopback], changes = {}) =>
  registerDynamically(serverAt(site.origin, changes), { redirectUris }, site.http);

/** What the server answers to a registration, beside the client's id. */
const lay = (more: object) => site.lay('/register', { status: 201, body: { client_id: 'c1', ...more } });

const sent = (index = 0): unknown => JSON.parse(site.asked[index]?.body ?? '');

describe('registerDynamically', () => {
  it.each([200, 201])('N-6 R-6: accepts status %i, and registers a native public client', async (status) => {
    site.lay('/register', { status, body: { client_id: 'c1' } });
    const { registration, ...secrets } = await register();
    expect(registration).toEqual({
      issuer: site.origin,
      clientId: 'c1',
      source: 'dynamic',
      tokenEndpointAuthMethod: 'none',
      redirectUri: loopback,
      registeredAt: now,
      grantTypes: ['authorization_code', 'refresh_token'],
    });
    expect(secrets).toEqual({});
    expect(registrationSchema.parse(registration)).toEqual(registration);
    expect(sent()).toEqual({
      client_name: 'Keyturn',
      redirect_uris: [loopback],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      application_type: 'native',
    });
  });

  it.each([
    ['2000000000', 2_000_000_000_000],
    ['0', undefined],
    ['never', undefined],
  ])('reads the expiry of a secret that is written as %j', async (end, expected) => {
    lay({ client_secret: 's', client_secret_expires_at: end });
    expect((await register()).registration.secretExpiresAt).toBe(expected);
  });

  const used = 'http://127.0.0.1:4711/p4th/callback';
  it.each([
    ['its own', [used], used],
    ['its own among others', ['https://other.example/', used], used],
    ['localhost, no port', ['http://localhost/p4th/callback'], 'http://localhost:4711/p4th/callback'],
    ['what is no list', 7, used],
  ])('R-7: uses the registered redirect URI in the response: %s', async (_what, uris, expected) => {
    lay({ redirect_uris: uris });
    expect((await register([used])).registration.redirectUri).toBe(expected);
  });

  it.each(['https://other.example/', 'http://127.0.0.1:4711/other', 'http://localhost:3999/p4th/callback'])(
    'R-7: refuses a registration whose only redirect URI is %s',
    async (uri) => {
      lay({ redirect_uris: [uri] });
      const refusal = await refusalOf(() => register([used]));
      expect(refusal).toMatchObject({
        reason: 'registration_failed',
        message: expect.stringContaining('another redirect URI'),
      });
    },
  );

  it('R-9: uses the method that the server states, and keeps secrets out of the record', async () => {
    lay({
      client_secret: 's3cret',
      client_secret_expires_at: 2_000_000_000,
      token_endpoint_auth_method: 'client_secret_post',
      registration_access_token: 'managet0ken',
    });
    const { registration, ...secrets } = await register();
    expect(registration).toMatchObject({
      tokenEndpointAuthMethod: 'client_secret_post',
      secretExpiresAt: 2_000_000_000_000,
    });
    expect(secrets).toEqual({ clientSecret: 's3cret' });
    expect(JSON.stringify(registration)).not.toMatch(/s3cret|managet0ken/);
  });

  it('R-9: a secret without a method means client_secret_basic, and null means none', async () => {
    lay({ client_secret: 's', client_secret_expires_at: 0 });
    expect((await register()).registration).toMatchObject({ tokenEndpointAuthMethod: 'client_secret_basic' });
    lay({ client_secret: 's', token_endpoint_auth_method: '', grant_types: null });
    expect((await register()).registration).toMatchObject({ tokenEndpointAuthMethod: 'client_secret_basic' });
    lay({ client_secret: null });
    expect((await register()).registration).toMatchObject({ tokenEndpointAuthMethod: 'none' });
  });

  it.each([
    { error: 'invalid_redirect_uri' },
    { error: 'invalid_client_metadata', error_description: 'redirect_uris[0]' },
  ])('N-7: tries the next redirect URI after %j', async (error) => {
    site.lay('/register', ({ body }) =>
      body.includes('localhost') ? { status: 201, body: { client_id: 'c1' } } : { status: 400, body: error },
    );
    const { registration } = await register([loopback, 'http://localhost/callback']);
    expect(registration.redirectUri).toBe('http://localhost/callback');
  });

  const asForm = { 'content-type': 'application/x-www-form-urlencoded' };
  const methodOf = (method: string) => ({ client_id: 'c', token_endpoint_auth_method: method });
  it.each([
    ['an error', { status: 400, body: { error: 'access_denied', error_description: '\u202eno' } }],
    ['an error as a form', { status: 400, headers: asForm, body: 'error=access_denied' }],
    ['a redirect', { status: 307, headers: { location: '/other' } }],
    ['no client', { status: 201, body: {} }],
    ['our no method', { status: 201, body: methodOf('private_key_jwt') }],
    ['a method without its secret', { status: 201, body: methodOf('client_secret_basic') }],
  ])('R-6 X-8: fails on %s after one request, with a hint about manual registration', async (_what, page) => {
    site.lay('/register', page);
    const refusal = await refusalOf(() => register([loopback, 'http://localhost/callback']));
    expect(refusal.reason).toBe('registration_failed');
    expect(refusal.hint).toContain('keyturn oauth-client add');
    expect(refusal.message).not.toContain('\u202e');
    expect(site.asked).toHaveLength(1);
  });

  it('shows the error of a response with status 200, without secrets', async () => {
    const words = 'no quota for eyJhbGciOiJIUzI1NiJ9x';
    site.lay('/register', { status: 200, body: { error: 'access_denied', error_description: words } });
    expect((await refusalOf(() => register())).message).toContain('"access_denied" ("no quota for …")');
  });

  it.each([
    [400, { success: false, error: { code: 'BAD_REQUEST', message: 'must use HTTPS' } }],
    [400, { detail: 'must use HTTPS', status: 400 }],
    [403, 'must use HTTPS\n'],
    [500, { message: 'must use HTTPS' }],
    [503, 'must use HTTPS'],
  ])('shows what the server says in a form of its own: %i %j', async (status, body) => {
    site.lay('/register', { status, body });
    expect((await refusalOf(() => register())).message).toContain(`status ${status} ("must use HTTPS")`);
  });

  it.each([
    { token_endpoint_auth_method: 'by s3cret' },
    { redirect_uris: ['https://other.example/managet0ken'] },
  ])('shows no secret of a registration that repeats one in %j', async (fields) => {
    const secrets = { client_secret: 's3cret', registration_access_token: 'managet0ken' };
    const method = { token_endpoint_auth_method: 'client_secret_basic' };
    lay({ ...secrets, ...method, ...fields });
    const refusal = await refusalOf(() => register());
    expect(refusal.message).toContain('…');
    expect(everyWordOf(refusal)).not.toMatch(/s3cret|managet0ken/);
  });

  it('N-7: does not try another redirect URI after any other error', async () => {
    site.lay('/register', {
      status: 400,
      body: { error: 'invalid_client_metadata', error_description: 'name' },
    });
    await refusalOf(() => register([loopback, 'http://localhost/callback']));
    expect(site.asked.map(({ body }) => body.includes('localhost'))).toEqual([false, false]);
  });
});
