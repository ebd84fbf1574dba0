/**
 * A small server over HTTPS that answers each refresh at once, or after a time: authorization server and protected server in
 * one. It is as light as a server can be, so that what is measured is who asks it.
 *
 * Invariant: it has one client and one person, who consents without a page. It hands a token to everybody who asks: nothing
 * but a bench may use it.
 */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Certificates } from '../src/serve/certificate.ts';
import { listenOnLoopback } from '../src/serve/tls-listener.ts';

export interface TokenServer {
  readonly issuer: string;
  /** Refreshes that were answered so far. */
  readonly refreshes: () => number;
  readonly close: () => Promise<void>;
}

export interface TokenServerOptions {
  readonly certificates: Certificates;
  /** Milliseconds that each refresh takes. */
  readonly answerAfter?: number;
  /** Each refresh brings another refresh token; else it stays the same. */
  readonly rotates?: boolean;
}

const scope = 'openid offline_access';

/** The server's protected URL of this name, whose access tokens live so many seconds. */
export const resourceAt = (issuer: string, lifetime: number, name: string): string =>
  `${issuer}/${lifetime}/${name}`;

export async function startTokenServer(options: TokenServerOptions): Promise<TokenServer> {
  const { certificates, answerAfter = 0, rotates = false } = options;
  const listener = await listenOnLoopback(certificates, 0);
  const issuer = listener.origin;
  let refreshes = 0;
  const token = (form: URLSearchParams): object => {
    const lifetime = /^https:[^/]*\/\/[^/]*\/(\d+)\//.exec(form.get('resource') ?? '')?.[1];
    return {
      access_token: randomBytes(900).toString('base64url'),
      token_type: 'Bearer',
      expires_in: Number(lifetime ?? 3600),
      refresh_token: rotates ? randomBytes(300).toString('base64url') : 'bench',
      scope,
    };
  };
  listener.serve((request, response) => {
    const url = new URL(request.url ?? '/', issuer);
    void textOf(request).then(async (text) => {
      if (url.pathname === '/register')
        return json(response, { ...JSON.parse(text), client_id: 'bench' }, 201);
      if (url.pathname !== '/token') return answer(issuer, url, response);
      const form = new URLSearchParams(text);
      if (form.get('grant_type') === 'refresh_token') {
        await sleep(answerAfter);
        refreshes += 1;
      }
      return json(response, token(form));
    });
  });
  return { issuer, refreshes: () => refreshes, close: async () => listener.close() };
}

function answer(issuer: string, { pathname, searchParams }: URL, response: ServerResponse): void {
  const [, ofResource] = /^\/\.well-known\/oauth-protected-resource(\/.*)$/.exec(pathname) ?? [];
  if (ofResource !== undefined)
    return json(response, { resource: issuer + ofResource, authorization_servers: [issuer] });
  if (pathname.startsWith('/.well-known/')) return json(response, metadata(issuer));
  if (pathname === '/auth') {
    const back = new URL(searchParams.get('redirect_uri') ?? '');
    back.searchParams.set('code', 'bench');
    back.searchParams.set('state', searchParams.get('state') ?? '');
    return void response.writeHead(302, { location: back.href }).end();
  }
  const where = `${issuer}/.well-known/oauth-protected-resource${pathname}`;
  response.writeHead(401, { 'www-authenticate': `Bearer resource_metadata="${where}"` }).end();
}

const metadata = (issuer: string): object => ({
  issuer,
  authorization_endpoint: `${issuer}/auth`,
  token_endpoint: `${issuer}/token`,
  registration_endpoint: `${issuer}/register`,
  scopes_supported: scope.split(' '),
  grant_types_supported: ['authorization_code', 'refresh_token'],
  response_types_supported: ['code'],
  code_challenge_methods_supported: ['S256'],
  token_endpoint_auth_methods_supported: ['none', 'client_secret_basic'],
});

function json(response: ServerResponse, body: object, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return text;
}
