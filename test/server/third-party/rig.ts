/**
 * The third-party flow: an upstream that does what a test wants, our server, a protected server and browsers. One set
 * serves a file, and only a test moves our clock.
 */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { Agent, fetch, type RequestInit } from 'undici';
import { throwAwayCertificates } from '../../../src/serve/certificate.ts';
import { listenOnLoopback } from '../../../src/serve/tls-listener.ts';
import { trustingFetch } from '../../../src/serve/trusting-fetch.ts';
import { jwt, protect, protectedServer } from '../../../src/server/index.ts';
import { memoryStorage, sealedStorage, thirdPartyServer } from '../../../src/server/third-party/index.ts';
import type { SessionEvent, Storage, ThirdPartyOptions } from '../../../src/server/third-party/index.ts';
import {
  type Asked,
  authorizationOf,
  claimsOf,
  editor,
  exchangeOf,
  notes,
  redirectUri,
  tokenFor,
} from '../authorization/rig.ts';
import { Browser } from '../browser.ts';

const upstreamSecret = 'the secret of this server upstream';

/** What the upstream does differently from one that is right. */
export interface Bend {
  /** Parameters of its redirect; undefined leaves one out. */
  readonly redirect?: Readonly<Record<string, string | undefined>>;
  /** Members of its token answers. */
  readonly token?: Readonly<Record<string, unknown>>;
  /** Behind the state that it was given. */
  readonly stateSuffix?: string;
  /** Signs its ID token with a key that it doesn't publish. */
  readonly isForeignKey?: boolean;
  readonly metadata?: { readonly issuer: string };
  /** Claims of its ID token. */
  readonly claims?: Readonly<Record<string, unknown>>;
  /** In place of an answer of this path: a status, or none at all. */
  readonly fault?: { readonly path: string; readonly status: number | 'hangs' | 'redirects' };
  readonly introspection?: Readonly<Record<string, unknown>>;
  readonly refusesRenewal?: boolean;
  /** Its own answer to a request; undefined leaves it to the others. */
  readonly answer?: (
    request: UpstreamRequest,
  ) => { readonly status?: number; readonly type: string; readonly text: string } | undefined;
}

export interface UpstreamRequest {
  readonly path: string;
  readonly form: URLSearchParams;
  readonly body: string;
  readonly authorization: string | undefined;
}

/** An upstream authorization server and its API. */
export async function startUpstream(certificates: Awaited<ReturnType<typeof throwAwayCertificates>>) {
  const listener = await listenOnLoopback(certificates, 0);
  const issuer = listener.origin;
  const [{ privateKey, publicKey }, foreign] = await Promise.all([
    generateKeyPair('ES256'),
    generateKeyPair('ES256'),
  ]);
  const jwk = { ...(await exportJWK(publicKey)), kid: 'k', alg: 'ES256', use: 'sig' };
  const state = {
    bend: {} as Bend,
    offers: {
      introspection: true,
      revocation: true,
      challengeMethods: ['S256'] as readonly string[] | undefined,
    },
    requests: [] as UpstreamRequest[],
    asked: new URLSearchParams(),
    count: 0,
  };
  const idToken = async (): Promise<string> =>
    new SignJWT({
      nonce: state.asked.get('nonce') ?? '',
      sub: 'alice',
      iss: issuer,
      aud: 'us',
      ...state.bend.claims,
    })
      .setProtectedHeader({ alg: 'ES256', kid: 'k' })
      .setIssuedAt()
      .setExpirationTime(typeof state.bend.claims?.['exp'] === 'number' ? state.bend.claims['exp'] : '5m')
      .sign(state.bend.isForeignKey ? foreign.privateKey : privateKey);
  const isSignIn = (form: URLSearchParams): boolean =>
    form.get('grant_type') === 'authorization_code' &&
    (state.asked.get('scope') ?? '').split(' ').includes('openid');
  const token = async (form: URLSearchParams): Promise<object> => {
    state.count += 1;
    return {
      access_token: `upstream-access-${state.count}`,
      refresh_token: `upstream-refresh-${state.count}`,
      token_type: 'bearer',
      expires_in: 600,
      ...(isSignIn(form) ? { id_token: await idToken() } : {}),
      ...state.bend.token,
    };
  };
  const metadata = () => ({
    issuer,
    ...state.bend.metadata,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    jwks_uri: `${issuer}/keys`,
    response_types_supported: ['code'],
    id_token_signing_alg_values_supported: ['ES256'],
    code_challenge_methods_supported: state.offers.challengeMethods,
    authorization_response_iss_parameter_supported: true,
    ...(state.offers.introspection ? { introspection_endpoint: `${issuer}/introspect` } : {}),
    ...(state.offers.revocation ? { revocation_endpoint: `${issuer}/revoke` } : {}),
  });
  const answers: Record<string, (form: URLSearchParams) => object | Promise<object>> = {
    '/.well-known/oauth-authorization-server': metadata,
    '/.well-known/openid-configuration': () => ({ ...metadata(), subject_types_supported: ['public'] }),
    '/keys': () => ({ keys: [jwk] }),
    '/token': token,
    '/introspect': () => ({ active: true, client_id: 'us', ...state.bend.introspection }),
    '/revoke': () => ({}),
    '/api/notes': () => ({ notes: [] }),
  };
  listener.serve((request: IncomingMessage, response: ServerResponse) => {
    void (async () => {
      const url = new URL(request.url ?? '/', issuer);
      if (url.pathname.endsWith('/authorize')) {
        state.asked = url.searchParams;
        const back = new URL(state.asked.get('redirect_uri') ?? '');
        const parameters = {
          code: 'c',
          state: `${state.asked.get('state') ?? ''}${state.bend.stateSuffix ?? ''}`,
          iss: issuer,
          ...state.bend.redirect,
        };
        for (const [name, value] of Object.entries(parameters))
          if (value !== undefined) back.searchParams.set(name, value);
        response.writeHead(302, { location: back.href }).end();
        return;
      }
      let body = '';
      for await (const chunk of request) body += String(chunk);
      const form = new URLSearchParams(body);
      const heard = { path: url.pathname, form, body, authorization: request.headers.authorization };
      state.requests.push(heard);
      const { fault } = state.bend;
      if (fault?.path === url.pathname) {
        if (fault.status === 'hangs') return;
        if (fault.status === 'redirects') response.writeHead(307, { location: `${issuer}/elsewhere` }).end();
        else response.writeHead(fault.status).end();
        return;
      }
      const own = state.bend.answer?.(heard);
      if (own) {
        // RFC 6749 §5.2 wants the challenge.
        if (own.status === 401) response.setHeader('www-authenticate', 'Basic realm="upstream"');
        response.writeHead(own.status ?? 200, { 'content-type': own.type }).end(own.text);
        return;
      }
      response.setHeader('content-type', 'application/json');
      if (state.bend.refusesRenewal && form.get('grant_type') === 'refresh_token') {
        response.writeHead(400).end(JSON.stringify({ error: 'invalid_grant' }));
        return;
      }
      response.end(JSON.stringify(await answers[url.pathname]?.(form)));
    })();
  });
  return { ...listener, issuer, state };
}

export async function startFlow(
  options: Partial<ThirdPartyOptions> = {},
  changes: Partial<ThirdPartyOptions['upstream']> = {},
) {
  const certificates = await throwAwayCertificates();
  const upstream = await startUpstream(certificates);
  const listener = await listenOnLoopback(certificates, 0);
  const issuer = listener.origin;
  const clock = { stoppedAt: Date.now(), ahead: 0 };
  const now = (): number => clock.stoppedAt + clock.ahead * 1000;
  const events: (Omit<SessionEvent, 'kind'> & { readonly kind: string })[] = [];
  const below: Storage = memoryStorage();
  const storage = sealedStorage(below, [{ id: 'one', key: randomBytes(32) }]);
  const full: ThirdPartyOptions = {
    issuer,
    resource: {
      resource: notes,
      name: 'Notes',
      scopes: { 'notes:read': 'Read your notes', 'notes:write': 'Change your notes' },
    },
    upstream: {
      issuer: upstream.issuer,
      clientId: 'us',
      clientSecret: upstreamSecret,
      resource: `${upstream.issuer}/api`,
      scopes: { 'notes:read': ['read'], 'notes:write': ['read', 'write'] },
      extraScopes: ['openid', 'offline_access'],
      authorities: certificates.ca,
      ...changes,
    },
    clients: [
      { clientId: editor, name: 'Editor', redirectUris: [redirectUri] },
      { clientId: 'other', name: 'Other', redirectUris: ['https://other.example/callback'] },
    ],
    storage,
    authorities: certificates.ca,
    onEvent: (event) => events.push(event),
    now,
    ...options,
  };
  const server = await thirdPartyServer(full);
  listener.serve(server.handler);
  const trusting = trustingFetch(certificates.ca);
  const guard = protectedServer({
    resource: notes,
    authorizationServers: [issuer],
    tokens: jwt(),
    scopes: { required: ['notes:read'] },
    checkSession: server.checkSession,
    fetch: trusting.fetch,
  });
  const handle = protect(guard, async (_request, access) => {
    const call = await server.upstream(access);
    return call(`${upstream.issuer}/api/notes`);
  });
  const dispatcher = new Agent({ connect: { ca: certificates.ca } });
  return {
    issuer,
    ca: certificates.ca,
    server,
    upstream,
    options: full,
    below,
    storage,
    clock,
    events,
    browser: () => new Browser(dispatcher),
    /** The status of a call with this token, which calls the upstream. */
    async call(token: unknown): Promise<number> {
      const headers = { authorization: `Bearer ${String(token)}` };
      return (await handle(new Request(notes, { method: 'POST', headers }))).status;
    },
    request: async (path: string, init?: RequestInit) =>
      fetch(new URL(path, issuer), { dispatcher, ...init }),
    async close() {
      await server.close();
      await trusting.close();
      await dispatcher.destroy();
      await listener.close();
      await upstream.close();
    },
  };
}

export type Flow = Awaited<ReturnType<typeof startFlow>>;

/** What came back to the client of one sign-in. */
export async function authorize(flow: Flow, asked: Asked = {}, browser = flow.browser()) {
  const authorization = authorizationOf(flow, asked);
  await browser.submit(await browser.open(authorization.url), { decision: 'allow' });
  const { sentTo } = browser;
  return { authorization, back: new URL(sentTo === '' ? 'about:blank' : sentTo).searchParams };
}

/** What a protected server knows of a token of this sign-in when it asks whether its session goes on. */
export const checkedToken = ({ issuer }: Pick<Flow, 'issuer'>, { claims }: Pick<Tokens, 'claims'>) => ({
  issuer,
  subject: String(claims['sub']),
  clientId: editor,
  scopes: [],
  expiresAt: 0,
  claims,
});

export interface Tokens {
  readonly access: string;
  readonly refresh: string;
  readonly claims: Readonly<Record<string, unknown>>;
  readonly session: string;
}

export async function signIn(flow: Flow, asked: Asked = {}): Promise<Tokens> {
  const { authorization, back } = await authorize(flow, asked);
  if (!back.has('code')) throw new Error(`no code: ${back.toString()}`);
  const { body } = await tokenFor(flow, exchangeOf(authorization, back.get('code')));
  const access = String(body['access_token']);
  const claims = claimsOf(access);
  return { access, refresh: String(body['refresh_token']), claims, session: String(claims['sid']) };
}
