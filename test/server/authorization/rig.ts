/** A real authorization server over HTTPS for a whole file, and a client of it. Tests change only their clients. */
import { createHash, randomBytes } from 'node:crypto';
import type { RequestListener } from 'node:http';
import { Agent, fetch, type RequestInit } from 'undici';
import { Browser } from '../browser.ts';
import { throwAwayCertificates, type Certificates } from '../../../src/serve/certificate.ts';
import { listenOnLoopback, type TlsListener } from '../../../src/serve/tls-listener.ts';
import { freeRedirect } from '../../support/servers/port.ts';
import { authorizationServer, developmentLogin } from '../../../src/server/authorization/index.ts';
import type {
  AuthorizationEvent,
  AuthorizationServerOptions,
} from '../../../src/server/authorization/index.ts';

export const notes = 'https://notes.example/mcp';
export const files = 'https://files.example/mcp';
export const redirectUri = await freeRedirect();
export const editor = 'editor-at-the-desk';

export async function startServer(
  options: Partial<AuthorizationServerOptions> = {},
  path = '',
  open?: { readonly certificates: Certificates; readonly listener?: TlsListener },
  mount = (handler: RequestListener) => handler,
) {
  const certificates = open?.certificates ?? (await throwAwayCertificates());
  const listener = open?.listener ?? (await listenOnLoopback(certificates, 0));
  const issuer = listener.origin + path;
  const events: AuthorizationEvent[] = [];
  const server = await authorizationServer({
    issuer,
    resources: [
      {
        resource: notes,
        name: 'Notes',
        scopes: { 'notes:read': 'Read your notes', 'notes:write': 'Change your notes' },
        defaultScopes: ['notes:read'],
      },
      { resource: files, scopes: { 'files:read': 'Read your files' } },
    ],
    accounts: developmentLogin(['alice', 'bob']),
    clients: [{ clientId: editor, name: 'Editor', redirectUris: [redirectUri] }],
    registration: 'open',
    registrationLimit: { requests: 1000, seconds: 60 },
    authorities: certificates.ca,
    onEvent: (event) => events.push(event),
    ...options,
  });
  listener.serve(mount(server.handler));
  const dispatcher = new Agent({ connect: { ca: certificates.ca } });
  return {
    issuer,
    server,
    origin: listener.origin,
    certificates,
    events,
    /** A request to a path of the server, or to a URL. */
    request: async (target: string, init?: RequestInit) =>
      fetch(new URL(target, listener.origin), { redirect: 'manual', dispatcher, ...init }),
    browser: () => new Browser(dispatcher),
    async close() {
      await server.close();
      await dispatcher.close();
      await listener.close();
    },
  };
}

export type Rig = Awaited<ReturnType<typeof startServer>>;

export interface Asked {
  readonly [parameter: string]: string | undefined;
}

export interface Authorization {
  readonly url: string;
  readonly verifier: string;
}

/** A request of the editor's for the notes, with these changes; a parameter that is undefined is left out. */
export function authorizationOf({ issuer }: Pick<Rig, 'issuer'>, asked: Asked = {}): Authorization {
  const verifier = randomBytes(32).toString('base64url');
  const parameters = {
    client_id: editor,
    redirect_uri: redirectUri,
    response_type: 'code',
    resource: notes,
    scope: 'notes:read',
    state: 'the-state',
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    ...asked,
  };
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) query.set(name, value);
  return { url: `${issuer}/auth?${query.toString()}`, verifier };
}

/** Walks the pages as alice, who allows what she is asked: how often that was, and what came back to the redirect URI. */
export async function walk(rig: Pick<Rig, 'browser'>, { url }: Authorization, browser = rig.browser()) {
  let consents = 0;
  let page = await browser.open(url);
  while (browser.sentTo === '') {
    if (page.status !== 200) throw new Error(page.text.replaceAll(/<style>.*?<\/style>|<[^>]*>/gs, ' '));
    const isConsent = page.text.includes('name="decision"');
    if (isConsent) consents += 1;
    page = await browser.submit(page, isConsent ? { decision: 'allow' } : { login: 'alice' });
  }
  const back = new URL(browser.sentTo).searchParams;
  const get = (name: string) => back.get(name);
  return { consents, code: get('code'), error: get('error'), iss: get('iss'), state: get('state') };
}

export interface TokenAnswer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

export async function tokenFor(
  rig: Pick<Rig, 'issuer' | 'request'>,
  form: Readonly<Record<string, string | undefined>>,
): Promise<TokenAnswer> {
  const body = new URLSearchParams();
  for (const [name, value] of Object.entries(form)) if (value !== undefined) body.set(name, value);
  const response = await rig.request(`${rig.issuer}/token`, { method: 'POST', body });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

/** Sends this to the registration endpoint. */
export async function register(rig: Rig, body: unknown, headers: Record<string, string> = {}) {
  const response = await rig.request(`${rig.issuer}/reg`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    body: (text === '' ? {} : JSON.parse(text)) as Readonly<Record<string, unknown>>,
  };
}

/** What a client registers that is nothing special. */
export const publicClient = { redirect_uris: [redirectUri], token_endpoint_auth_method: 'none' };

/** The id of a client that registered itself. */
export async function registered(rig: Rig, changes: object = {}): Promise<string> {
  return String((await register(rig, { ...publicClient, ...changes })).body['client_id']);
}

/** The form by which the client of a request redeems its code. */
export function exchangeOf({ url, verifier }: Authorization, code: string | null) {
  const asked = new URL(url).searchParams;
  return {
    grant_type: 'authorization_code',
    code: code ?? '',
    code_verifier: verifier,
    client_id: asked.get('client_id') ?? '',
    redirect_uri: asked.get('redirect_uri') ?? '',
    resource: asked.get('resource') ?? notes,
  };
}

export const refreshOf = (token: unknown, more: Record<string, string> = {}): Record<string, string> => ({
  grant_type: 'refresh_token',
  refresh_token: String(token),
  client_id: editor,
  ...more,
});

/** A whole sign-in of alice's; answers the code's exchange. */
export async function signIn(rig: Rig, asked: Asked = {}): Promise<TokenAnswer> {
  const authorization = authorizationOf(rig, asked);
  const { code } = await walk(rig, authorization);
  return tokenFor(rig, exchangeOf(authorization, code));
}

/** How a request is answered: its status, and where it sends the browser. */
export async function answerTo(rig: Rig, asked: Asked): Promise<[number, string | null]> {
  const answer = await rig.request(authorizationOf(rig, asked).url);
  await answer.body?.cancel();
  return [answer.status, answer.headers.get('location')];
}

export function claimsOf(token: unknown): Readonly<Record<string, unknown>> {
  const [, payload = ''] = String(token).split('.');
  return JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')) as Record<string, unknown>;
}
