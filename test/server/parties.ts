/**
 * An issuer and a protected server in one process, without a network: keys and checks are real. Only a test moves the
 * time.
 */
import { createHash } from 'node:crypto';
import { calculateJwkThumbprint, exportJWK, generateKeyPair, SignJWT, type CryptoKey, type JWK } from 'jose';
import { bearerChallenge } from '../../src/oauth/discovery/challenge.ts';
import { jwt, protect, protectedServer } from '../../src/server/index.ts';
import type { Access, ProtectedServerOptions, ServerEvent } from '../../src/server/index.ts';

export const resource = 'https://notes.example/mcp';
export const issuer = 'https://login.example';
export const metadataUrl = 'https://notes.example/.well-known/oauth-protected-resource/mcp';

/** Milliseconds since the epoch at which every test begins. */
export const start = Date.UTC(2026, 10, 1);

export interface Key {
  readonly privateKey: CryptoKey;
  readonly jwk: JWK;
  readonly alg: string;
}

export async function newKey(alg = 'ES256', kid = 'k1'): Promise<Key> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  return { privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' }, alg };
}

export const claims = {
  iss: issuer,
  sub: 'alice',
  aud: resource,
  client_id: 'editor',
  jti: 't1',
  iat: start / 1000,
  exp: start / 1000 + 300,
  scope: 'notes:read',
};

/** A token that passes, with these changes. */
export async function tokenOf(
  key: Key,
  changes: Readonly<Record<string, unknown>> = {},
  header: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  return new SignJWT({ ...claims, ...changes })
    .setProtectedHeader({ alg: key.alg, typ: 'at+jwt', kid: key.jwk.kid ?? 'k1', ...header })
    .sign(key.privateKey);
}

export async function proofOf(
  key: Key,
  token: string,
  changes: Readonly<Record<string, unknown>> = {},
  header: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  const { kid: _kid, use: _use, ...jwk } = key.jwk;
  return new SignJWT({
    jti: crypto.randomUUID(),
    htm: 'POST',
    htu: resource,
    iat: start / 1000,
    ath: createHash('sha256').update(token).digest('base64url'),
    ...changes,
  })
    .setProtectedHeader({ alg: key.alg, typ: 'dpop+jwt', jwk, ...header })
    .sign(key.privateKey);
}

export async function thumbprintOf({ jwk }: Key): Promise<string> {
  return calculateJwkThumbprint(jwk);
}

/** The issuer's end of the network. */
export class Issuer {
  readonly asked: string[] = [];
  keys: readonly JWK[];
  /** In place of an answer; undefined: it answers. */
  fault: 'down' | number | undefined;
  metadata: Record<string, unknown> = { issuer, jwks_uri: `${issuer}/keys` };
  introspect: (form: URLSearchParams, headers: Headers) => Response | Promise<Response> = () =>
    Response.json({ active: false });

  constructor(...keys: readonly Key[]) {
    this.keys = keys.map(({ jwk }) => jwk);
  }

  readonly fetch = async (input: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
    const request = new Request(input, init);
    const { pathname } = new URL(request.url);
    this.asked.push(pathname);
    if (this.fault === 'down') throw new TypeError('fetch failed');
    if (this.fault !== undefined) return new Response(null, { status: this.fault });
    if (pathname === '/keys') return Response.json({ keys: this.keys });
    if (pathname === '/introspect') {
      return this.introspect(new URLSearchParams(await request.text()), request.headers);
    }
    if (pathname === '/.well-known/oauth-authorization-server') return Response.json(this.metadata);
    return new Response(null, { status: 404 });
  };
}

export interface CallChanges {
  readonly method?: string;
  readonly url?: string;
  readonly scheme?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly address?: string;
}

export function rig(from: Issuer, options: Partial<ProtectedServerOptions> = {}) {
  let now = start;
  const handled: { readonly request: Request; readonly access: Access }[] = [];
  const events: ServerEvent[] = [];
  const server = protectedServer({
    resource,
    authorizationServers: [issuer],
    tokens: jwt(),
    scopes: { required: ['notes:read'] },
    fetch: from.fetch,
    now: () => now,
    onEvent: (event) => events.push(event),
    ...options,
  });
  const handle = protect(server, (request, access) => {
    handled.push({ request, access });
    return new Response('handled');
  });
  const send = (request: Request, address?: string): Promise<Response> => handle(request, { address });
  return {
    /** Sends a request; `address` is that of the connection. */
    send,
    /** A POST to the resource with this token, by the Bearer scheme unless told otherwise. */
    call: (token: string | undefined, changes: CallChanges = {}) => {
      const { method = 'POST', url = server.resource, scheme = 'Bearer', headers, body, address } = changes;
      const authorization = token === undefined ? {} : { authorization: `${scheme} ${token}` };
      const init: RequestInit = { method, headers: { ...authorization, ...headers } };
      return send(new Request(url, body === undefined ? init : { ...init, body }), address);
    },
    /** Moves the clock. */
    pass: (seconds: number) => void (now += seconds * 1000),
    /** What the handler got, in order. */
    handled,
    events,
  };
}

/** What a refusal says of the Bearer scheme. */
export const bearerOf = (answer: Response) => bearerChallenge(answer.headers.get('www-authenticate') ?? '');

/** A part of a JWT, made by hand. */
export const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
