/** People who sign in at an OpenID provider: a real one, and one that answers what it must not. */
import { describe, expect, it } from 'vitest';
import { throwAwayCertificates } from '../../../src/serve/certificate.ts';
import { listenOnLoopback } from '../../../src/serve/tls-listener.ts';
import { upstreamAccounts } from '../../../src/server/authorization/index.ts';
import { type Bend, startUpstream } from '../third-party/rig.ts';
import { authorizationOf, claimsOf, notes, refreshOf, signIn, startServer, tokenFor, walk } from './rig.ts';
import { ofFile } from '../../support/lasting.ts';

const certificates = await throwAwayCertificates();
const authorities = certificates.ca;
const listener = await listenOnLoopback(certificates, 0);
const clientSecret = 'the secret of a confidential client';

describe('an account at a real OpenID provider', () => {
  // Both need the address of the other.
  const upstream = ofFile(async () => {
    const clients = [
      { clientId: 'us', clientSecret, redirectUris: [`${listener.origin}/tenant/login/callback`] },
    ];
    const resources = [{ resource: notes, scopes: { 'notes:read': 'Read your notes' } }];
    return startServer({ resources, clients }, '', { certificates });
  });
  const rig = ofFile(async () => {
    const mayUse = ({ sub }: Readonly<Record<string, unknown>>) => sub !== 'bob';
    const { issuer } = upstream;
    const accounts = upstreamAccounts({ issuer, clientId: 'us', clientSecret, authorities, mayUse });
    return startServer({ accounts }, '/tenant', { certificates, listener });
  });

  it('AS-28: is the issuer and the subject there, in a token that is refreshed', async () => {
    const { body } = await signIn(rig);
    expect(claimsOf(body['access_token'])['sub']).toBe(`${upstream.issuer}#alice`);
    expect((await tokenFor(rig, refreshOf(body['refresh_token']))).status).toBe(200);
    expect(rig.events).toContainEqual(
      expect.objectContaining({ kind: 'signed_in', account: `${upstream.issuer}#alice` }),
    );
  });
});

describe('an answer of a provider', () => {
  const provider = ofFile(async () => startUpstream(certificates));
  const rig = ofFile(async () => {
    const accounts = upstreamAccounts({ issuer: provider.issuer, clientId: 'us', authorities });
    return startServer({ accounts }, '', { certificates });
  });

  const forms = () => provider.state.requests.filter(({ path }) => path === '/token').map(({ form }) => form);

  /** Signs in up to the consent page, or to what stands there instead. */
  async function signInWith(next: Bend): Promise<void> {
    provider.state.bend = next;
    provider.state.requests = [];
    await walk(rig, authorizationOf(rig));
  }

  it('AS-28: that is right signs in, by PKCE, with an exact redirect URI', async () => {
    await signInWith({});
    const { asked } = provider.state;
    expect(asked.get('redirect_uri')).toBe(`${rig.issuer}/login/callback`);
    expect(asked.get('code_challenge_method')).toBe('S256');
    const [form] = forms();
    expect(form?.get('code_verifier')).toMatch(/^[\w-]{43,}$/);
    expect(form?.get('redirect_uri')).toBe(`${rig.issuer}/login/callback`);
  });

  it.each<[string, Bend]>([
    ['another state', { redirect: { state: 'of-nobody' } }],
    ['the same interaction and another state', { stateSuffix: 'x' }],
    ['another issuer', { redirect: { iss: 'https://evil.example' } }],
    ['no issuer, though its metadata promises one', { redirect: { iss: '' } }],
    ['an ID token of another issuer', { claims: { iss: 'https://evil.example' } }],
    ['an ID token for another client', { claims: { aud: 'somebody-else' } }],
    ['an ID token for two clients', { claims: { aud: ['us', 'somebody-else'] } }],
    ['an ID token with another nonce', { claims: { nonce: 'another' } }],
    ['an ID token that has expired', { claims: { exp: 1_000_000 } }],
    ['an ID token signed by another key', { isForeignKey: true }],
    ['no ID token', { token: { id_token: undefined } }],
    ['a subject with a line break', { claims: { sub: 'a\nb' } }],
    ['an error with a script', { redirect: { error: '<script>', error_description: '<script>x</script>' } }],
  ])('AS-28: with %s signs nobody in, and the user gets our page', async (_what, next) => {
    const before = rig.events.filter(({ kind }) => kind === 'signed_in').length;
    const refused = signInWith(next);
    await expect(refused).rejects.toThrow(/can’t be used|No sign-in is waiting|there is none/);
    await expect(refused).rejects.not.toThrow(/script/);
    expect(rig.events.filter(({ kind }) => kind === 'signed_in')).toHaveLength(before);
  });

  it('AS-28: that refuses our secret is named to the operator by its error code', async () => {
    const text = JSON.stringify({ error: 'invalid_client' });
    provider.state.bend = {};
    const next: Bend = {
      answer: ({ path }) => (path === '/token' ? { status: 401, type: 'application/json', text } : undefined),
    };
    await expect(signInWith(next)).rejects.toThrow(/can’t be used/);
    expect(rig.events.at(-1)).toEqual({
      kind: 'refused',
      clientId: 'editor-at-the-desk',
      problem: 'status 401 "invalid_client". Check clientId and clientSecret.',
    });
  });

  it('AS-28: counts in the browser that was sent there only, and once', async () => {
    provider.state.bend = {};
    provider.state.requests = [];
    const owner = rig.browser();
    await owner.open(authorizationOf(rig).url, '/authorize');
    const asked = new URL(owner.sentTo).searchParams;
    provider.state.asked = asked;
    const query = new URLSearchParams({ code: 'c', state: asked.get('state') ?? '', iss: provider.issuer });
    const callback = `${rig.issuer}/login/callback?${query.toString()}`;
    const thief = rig.browser();
    await thief.open(authorizationOf(rig).url, '/authorize');
    expect([(await thief.open(callback)).status, forms().length]).toEqual([400, 0]);
    expect((await owner.open(callback)).status).toBe(200);
    expect((await owner.open(callback)).status).toBe(400);
  });
});

it.each<[string, string, object]>([
  ['an http issuer', 'accounts.issuer', { issuer: 'http://127.0.0.1:4711' }],
  ['a scope without openid', 'accounts.scope', { scope: 'profile' }],
  ['an option that it doesn’t know', 'accounts', { surprise: true }],
])('upstreamAccounts refuses %s, and names the option', (_what, name, changes) => {
  const options = { issuer: 'https://login.example', clientId: 'us', ...changes };
  expect(() => upstreamAccounts(options)).toThrow(`The option ${name}`);
});
