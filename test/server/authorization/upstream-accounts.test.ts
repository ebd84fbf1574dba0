/** People who sign in at an OpenID provider: a real one, and one that answers what it must not. */
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CookieJar } from '../../../demo/user-agent.ts';
import { throwAwayCertificates } from '../../../src/serve/certificate.ts';
import { listenOnLoopback } from '../../../src/serve/tls-listener.ts';
import type { TlsListener } from '../../../src/serve/tls-listener.ts';
import { upstreamAccounts } from '../../../src/server/authorization/index.ts';
import { authorizationOf, claimsOf, notes, signIn, startServer, tokenRequest, walk } from './rig.ts';
import type { Rig } from './rig.ts';

const clientSecret = 'the secret of a confidential client';

describe('an account at a real OpenID provider', () => {
  let upstream: Rig;
  let rig: Rig;

  beforeAll(async () => {
    const certificates = await throwAwayCertificates();
    // Both need the address of the other.
    const listener = await listenOnLoopback(certificates, 0);
    const issuer = `${listener.origin}/tenant`;
    upstream = await startServer(
      {
        resources: [{ resource: notes, scopes: { 'notes:read': 'Read your notes' } }],
        clients: [{ clientId: 'us', clientSecret, redirectUris: [`${issuer}/login/callback`] }],
      },
      '',
      { certificates },
    );
    const accounts = upstreamAccounts({
      issuer: upstream.issuer,
      clientId: 'us',
      clientSecret,
      authorities: upstream.certificates.ca,
      mayUse: ({ sub }) => sub !== 'bob',
    });
    rig = await startServer({ accounts }, '/tenant', { certificates, listener });
  });
  afterAll(async () => {
    await rig.close();
    await upstream.close();
  });

  it('AS-28: is the issuer and the subject there, in a token that is refreshed', async () => {
    const { body } = await signIn(rig);
    expect(claimsOf(body['access_token'])['sub']).toBe(`${upstream.issuer}#alice`);
    const refreshed = await tokenRequest(rig, {
      grant_type: 'refresh_token',
      refresh_token: String(body['refresh_token']),
      client_id: 'editor-at-the-desk',
    });
    expect(refreshed.status).toBe(200);
    expect(rig.events).toContainEqual(
      expect.objectContaining({ kind: 'signed_in', account: `${upstream.issuer}#alice` }),
    );
  });
});

/** What the provider of this file does differently from one that is right. */
interface Bend {
  /** Behind the state that it was given. */
  readonly stateSuffix?: string;
  /** Parameters of its redirect. */
  readonly redirect?: Readonly<Record<string, string | undefined>>;
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly isForeignKey?: boolean;
  readonly hasNoIdToken?: boolean;
}

describe('an answer of a provider', () => {
  let rig: Rig;
  let provider: TlsListener;
  let bend: Bend = {};
  let asked = new URLSearchParams();
  let forms: URLSearchParams[] = [];

  beforeAll(async () => {
    const certificates = await throwAwayCertificates();
    provider = await listenOnLoopback(certificates, 0);
    const issuer = provider.origin;
    const [own, foreign] = await Promise.all([generateKeyPair('ES256'), generateKeyPair('ES256')]);
    const jwk = { ...(await exportJWK(own.publicKey)), kid: 'k', alg: 'ES256', use: 'sig' };
    const idToken = async (): Promise<string> =>
      new SignJWT({
        nonce: asked.get('nonce') ?? '',
        sub: 'alice',
        email: 'alice@mail.example',
        iss: issuer,
        aud: 'us',
        ...bend.claims,
      })
        .setProtectedHeader({ alg: 'ES256', kid: 'k' })
        .setIssuedAt()
        .setExpirationTime(typeof bend.claims?.['exp'] === 'number' ? bend.claims['exp'] : '5m')
        .sign(bend.isForeignKey ? foreign.privateKey : own.privateKey);
    const answers: Record<string, (body: string) => object | Promise<object>> = {
      '/.well-known/openid-configuration': () => ({
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        jwks_uri: `${issuer}/keys`,
        response_types_supported: ['code'],
        subject_types_supported: ['public'],
        id_token_signing_alg_values_supported: ['ES256'],
        authorization_response_iss_parameter_supported: true,
      }),
      '/keys': () => ({ keys: [jwk] }),
      '/token': async (body) => {
        forms.push(new URLSearchParams(body));
        return {
          access_token: 'an-upstream-token',
          token_type: 'bearer',
          ...(bend.hasNoIdToken ? {} : { id_token: await idToken() }),
        };
      },
    };
    provider.serve((request, response) => {
      void (async () => {
        const url = new URL(request.url ?? '/', issuer);
        if (url.pathname === '/authorize') {
          asked = url.searchParams;
          const back = new URL(asked.get('redirect_uri') ?? '');
          const parameters = {
            code: 'c',
            state: `${asked.get('state') ?? ''}${bend.stateSuffix ?? ''}`,
            iss: issuer,
            ...bend.redirect,
          };
          for (const [name, value] of Object.entries(parameters))
            if (value !== undefined) back.searchParams.set(name, value);
          response.writeHead(302, { location: back.href }).end();
          return;
        }
        let body = '';
        for await (const chunk of request) body += String(chunk);
        response.setHeader('content-type', 'application/json');
        response.end(JSON.stringify(await answers[url.pathname]?.(body)));
      })();
    });
    const accounts = upstreamAccounts({
      issuer,
      clientId: 'us',
      scope: 'openid email',
      authorities: certificates.ca,
    });
    rig = await startServer({ accounts }, '', { certificates });
  });
  afterAll(async () => {
    await rig.close();
    await provider.close();
  });

  /** Signs in up to the consent page, or to what stands there instead. */
  async function signInWith(next: Bend): Promise<void> {
    bend = next;
    forms = [];
    await walk(rig, authorizationOf(rig));
  }

  it('AS-28: that is right signs in, by PKCE, with an exact redirect URI', async () => {
    await signInWith({});
    expect(asked.get('redirect_uri')).toBe(`${rig.issuer}/login/callback`);
    expect(asked.get('code_challenge_method')).toBe('S256');
    const [form] = forms;
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
    ['an ID token without a nonce', { claims: { nonce: undefined } }],
    ['an ID token that has expired', { claims: { exp: 1_000_000 } }],
    ['an ID token signed by another key', { isForeignKey: true }],
    ['no ID token', { hasNoIdToken: true }],
    ['no subject', { claims: { sub: undefined } }],
    ['a subject with a line break', { claims: { sub: 'a\nb' } }],
    ['a subject of 256 characters', { claims: { sub: 'a'.repeat(256) } }],
    ['an error with a script', { redirect: { error: '<script>', error_description: '<script>x</script>' } }],
  ])('AS-28: with %s signs nobody in, and the person gets a page of ours', async (_what, next) => {
    const before = rig.events.filter(({ kind }) => kind === 'signed_in').length;
    const refused = signInWith(next);
    await expect(refused).rejects.toThrow(/can’t be used|No sign-in is waiting|there is none/);
    await expect(refused).rejects.not.toThrow(/script/);
    expect(rig.events.filter(({ kind }) => kind === 'signed_in')).toHaveLength(before);
  });

  it('AS-28: counts in the browser that was sent there only, and once', async () => {
    bend = {};
    const owner = new Browser();
    await owner.open(authorizationOf(rig).url, '/authorize');
    const callback = answerTo(owner);
    const thief = new Browser();
    await thief.open(authorizationOf(rig).url, '/authorize');
    expect([(await thief.open(callback)).status, forms.length]).toEqual([400, 0]);
    asked = new URL(owner.sentTo).searchParams;
    expect((await owner.open(callback)).status).toBe(200);
    expect((await owner.open(callback)).status).toBe(400);
  });

  /** What the provider sends a browser back to that it has just sent there. */
  function answerTo({ sentTo }: Browser): string {
    const state = new URL(sentTo).searchParams.get('state') ?? '';
    const query = new URLSearchParams({ code: 'c', state, iss: provider.origin });
    return `${rig.issuer}/login/callback?${query.toString()}`;
  }

  /** A browser that stops before an address that has this in it. */
  class Browser {
    readonly #jar = new CookieJar();
    /** The address before which it stopped. */
    sentTo = '';

    async open(from: string, stop?: string): Promise<{ status: number }> {
      let url = from;
      for (;;) {
        const response = await rig.request(url, { headers: { cookie: this.#jar.header(new URL(url)) } });
        this.#jar.keep(new URL(url), response.headers.getSetCookie());
        const location = response.headers.get('location');
        if (location === null) return response;
        url = new URL(location, url).href;
        if (stop !== undefined && url.includes(stop)) {
          this.sentTo = url;
          return response;
        }
      }
    }
  }
});

describe('upstreamAccounts', () => {
  it.each<[string, string, object]>([
    ['an http issuer', 'accounts.issuer', { issuer: 'http://127.0.0.1:4711' }],
    ['no client', 'accounts.clientId', { clientId: '' }],
    ['a scope without openid', 'accounts.scope', { scope: 'profile' }],
    ['an option that it doesn’t know', 'accounts', { surprise: true }],
  ])('refuses %s, and names the option', (_what, name, changes) => {
    const options = { issuer: 'https://login.example', clientId: 'us', ...changes };
    expect(() => upstreamAccounts(options)).toThrow(`The option ${name}`);
  });
});
