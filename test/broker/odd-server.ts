/**
 * An MCP server and its authorization server, odd as real ones are. It has two endpoints, /a and /b, with one issuer.
 *
 * Invariant: it gives the answers of a test over a real HTTPS connection, and numbers each token.
 */
import type { Fetch } from '../../src/oauth/base/http.ts';
import type { Asked, Page, Site } from '../oauth/site.ts';
import { pageBehind, rawGet } from '../support/servers/raw-get.ts';
import type { Surroundings } from './rig.ts';

export interface OddServer extends Surroundings {
  readonly other: string;
  /** The requests to the token endpoint, in order. */
  readonly tokenRequests: URLSearchParams[];
  /** Changes what a token request gets; undefined fields are left out. */
  answer: (form: URLSearchParams, usual: TokenBody) => TokenBody | Page;
  /** Waits before the page is visited. */
  beforeVisit: (url: string) => Promise<void>;
}

export type TokenBody = {
  access_token: string;
  token_type: string;
  expires_in?: number | undefined;
  refresh_token?: string | undefined;
  scope?: string | undefined;
};

export function oddServer(site: Site, options: { readonly scopesSupported?: string[] } = {}): OddServer {
  const { origin } = site;
  site.clear();
  for (const name of ['a', 'b']) {
    const metadata = `${origin}/.well-known/oauth-protected-resource/${name}`;
    site.lay(`/${name}`, {
      status: 401,
      headers: { 'www-authenticate': `Bearer resource_metadata="${metadata}"` },
    });
    site.lay(new URL(metadata).pathname, {
      body: {
        resource: `${origin}/${name}`,
        authorization_servers: [origin],
        ...(options.scopesSupported ? { scopes_supported: options.scopesSupported } : {}),
      },
    });
  }
  site.lay('/.well-known/oauth-authorization-server', {
    body: {
      issuer: origin,
      authorization_endpoint: `${origin}/authorize`,
      token_endpoint: `${origin}/token`,
      registration_endpoint: `${origin}/register`,
      revocation_endpoint: `${origin}/revoke`,
      code_challenge_methods_supported: ['S256'],
      response_types_supported: ['code'],
    },
  });
  site.lay('/register', { status: 201, body: { client_id: 'client-1' } });
  site.lay('/revoke', { status: 200 });
  const tokenRequests: URLSearchParams[] = [];
  const server: OddServer = {
    fetch: site.http.fetch satisfies Fetch,
    endpoint: `${origin}/a`,
    other: `${origin}/b`,
    tokenRequests,
    answer: (_form, usual) => usual,
    beforeVisit: async () => undefined,
    async visit(url) {
      const page = await pageBehind(url);
      await server.beforeVisit(page);
      return rawGet(redirectOf(page));
    },
  };
  site.lay('/token', ({ body }: Asked) => {
    const form = new URLSearchParams(body);
    tokenRequests.push(form);
    const answer = server.answer(form, usualAnswer(form, tokenRequests.length));
    return 'access_token' in answer ? { body: answer } : answer;
  });
  return server;
}

/** A code names the scopes it was given for, so that the token endpoint needs no memory. */
export function redirectOf(url: string): URL {
  const asked = new URL(url).searchParams;
  const redirect = new URL(asked.get('redirect_uri') ?? '');
  redirect.searchParams.set('code', `code ${asked.get('scope') ?? 'basic'}`);
  redirect.searchParams.set('state', asked.get('state') ?? '');
  return redirect;
}

function usualAnswer(form: URLSearchParams, number: number): TokenBody {
  const scope = form.get('scope') ?? form.get('code')?.slice('code '.length);
  return {
    access_token: `access-${number}`,
    token_type: 'Bearer',
    expires_in: 3600,
    refresh_token: `refresh-${number}`,
    ...(scope === undefined ? {} : { scope }),
  };
}
