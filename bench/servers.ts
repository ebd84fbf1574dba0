/**
 * The servers of the bench, in a process of their own: an authorization server that is as light as can be, so that what is
 * measured is who asks it, and the tests' protected server with tools, for the bridge. Prints where they are as one line of
 * JSON, and answers whatever it gets on standard input with the number of refreshes so far.
 *
 * `/LIFE/DELAY` is an issuer whose access tokens live so many seconds, and whose refreshes take so many milliseconds; what is
 * below it are its protected servers.
 *
 * Invariant: the issuers have one client and one account, which consents without a page. They give a token to everybody who
 * asks: nothing but a bench may use them.
 */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { sharedCertificates } from '../test/support/bent/server.ts';
import { listenOnLoopback } from '../src/serve/tls-listener.ts';
import { workshop } from '../test/support/servers/workshop.ts';
import { openWorld } from '../test/support/world.ts';

/** RFC 9728 §3.1. */
const protectedPath = '/.well-known/oauth-protected-resource';
const scope = 'openid offline_access';
const certificates = await sharedCertificates();
const listener = await listenOnLoopback(certificates, 0);
const { origin } = listener;
let refreshes = 0;

listener.serve((request, response) => void answer(request, response));

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  const { pathname, searchParams } = new URL(request.url ?? '/', origin);
  const [issuer = '', life, delay] = /\/(\d+)\/(\d+)(?=\/|$)/.exec(pathname) ?? [];
  const json = (body: object, status = 200): void =>
    void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  if (pathname.startsWith(protectedPath))
    return json({
      resource: `${origin}${pathname.slice(protectedPath.length)}`,
      authorization_servers: [origin + issuer],
    });
  if (pathname.includes('/.well-known/')) return json(metadataOf(origin + issuer));
  if (pathname === `${issuer}/register`) return json({ ...JSON.parse(text), client_id: 'bench' }, 201);
  if (pathname === `${issuer}/auth`) {
    const back = new URL(searchParams.get('redirect_uri') ?? '');
    back.searchParams.set('code', 'bench');
    back.searchParams.set('state', searchParams.get('state') ?? '');
    return void response.writeHead(302, { location: back.href }).end();
  }
  if (pathname !== `${issuer}/token`) {
    const where = `${origin}${protectedPath}${pathname}`;
    return void response.writeHead(401, { 'www-authenticate': `Bearer resource_metadata="${where}"` }).end();
  }
  if (new URLSearchParams(text).get('grant_type') === 'refresh_token') {
    refreshes += 1;
    await sleep(Number(delay));
  }
  const [access_token, refresh_token] = [randomBytes(900), randomBytes(300)].map((bytes) =>
    bytes.toString('base64url'),
  );
  json({ access_token, token_type: 'Bearer', expires_in: Number(life), refresh_token, scope });
}

const metadataOf = (issuer: string): object => ({
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

/** Answers as the SDK does. A token is asked about once in five minutes, so that the time of a call is that of its way. */
async function startTools(): Promise<string> {
  const { protectedServer } = await openWorld({ service: workshop(), cacheSeconds: 300 });
  return protectedServer.resource;
}

process.stdin.on('data', () => process.stdout.write(`${refreshes}\n`)).on('end', () => process.exit());
process.stdout.write(`${JSON.stringify({ origin, tools: await startTools(), ca: certificates.ca })}\n`);
