/**
 * The options of `protectedServer`, and the check of them.
 *
 * Invariant: a server with an option that can't be right never starts. So no mistake shows up as a token that passes.
 */
import { z } from 'zod';
import { canonicalResource } from '../../oauth/base/resource.ts';
import { isLoopbackHost } from '../../base/text/this-machine.ts';
import { requireIssuer } from '../../oauth/discovery/authorization-server.ts';
import { isAddressOrRange } from './base/address.ts';
import { callable, invalidOption, quietly, readOption, readOptions, seconds } from './base/option.ts';
import type { ServerEvent } from './events.ts';
import type { Origins } from './requests/cors.ts';
import type { Limit } from './requests/rate-limit.ts';
import { asymmetricAlgorithms, type AsymmetricAlgorithm } from './tokens/jwt.ts';
import type { TokenKind, VerifiedToken } from './tokens/token.ts';

/** `valid`; `ended`: 401; `unavailable`: 503, since nobody can tell. */
export type SessionState = 'valid' | 'ended' | 'unavailable';

/** MCP, Error Handling. */
export type ScopeStrategy = 'minimal' | 'recommended' | 'extended';

export type ScopeLists = Readonly<Record<string, readonly string[]>>;

export interface OperationScopes {
  /** By name; `*` stands for every tool without an entry. */
  readonly tools?: ScopeLists | undefined;
  /** By URI, or by the beginning of one with `*` after it; all entries that fit count. */
  readonly resources?: ScopeLists | undefined;
  /** By name; `*` stands for every prompt without an entry. */
  readonly prompts?: ScopeLists | undefined;
  /** By the protocol's method, such as `tools/list`; `*` stands for every method without an entry. */
  readonly methods?: ScopeLists | undefined;
}

export interface RouteScopes {
  /** Absent: every method. GET stands for HEAD too. */
  readonly method?: string | undefined;
  /** This path and what is below it. */
  readonly path: string;
  readonly scopes: readonly string[];
}

export interface ProtectedServerOptions {
  /** The canonical URI of this server (RFC 8707 §2): what tokens must name as their audience. */
  readonly resource: string;
  /** Issuers whose tokens count. */
  readonly authorizationServers: readonly string[];
  /** `jwt()` or `introspection(…)`. */
  readonly tokens: TokenKind;
  readonly scopes?: {
    /** What every request needs, and what the challenge asks a client without a token to request. */
    readonly required?: readonly string[];
    /** `scopes_supported` of the metadata; `required` unless given. */
    readonly supported?: readonly string[];
    /** Scopes that a scope includes: `{'files:write': ['files:read']}`. */
    readonly implies?: ScopeLists;
    /** Scopes that are often used with a scope, for the strategy `extended`. */
    readonly related?: ScopeLists;
  };
  /** What a 403 asks for; `recommended` unless given. */
  readonly strategy?: ScopeStrategy;
  /** Scopes of the protocol's operations. Where it is given, each body is read and must be a message. */
  readonly operations?: OperationScopes;
  /** Scopes of paths, beside those that every request needs. */
  readonly routes?: readonly RouteScopes[];
  readonly dpop?: {
    /** True: only tokens that are bound to a key pass. */
    readonly required?: boolean;
    readonly algorithms?: readonly AsymmetricAlgorithm[];
    /** Each proof must carry a nonce of this server, which counts for so long; no nonce is wanted unless given. */
    readonly nonceSeconds?: number;
  };
  readonly rateLimit?: {
    /** By the client that the token was issued to, for each account by itself; no limit unless given. */
    readonly perClient?: Limit;
    /** By address, before the token is looked at, and pages in browsers apart; no limit unless given. */
    readonly perAddress?: Limit;
    /** Rejected tokens by address; 100 in 60 seconds unless given. */
    readonly failedTokens?: Limit;
  };
  /** Addresses and ranges of proxies whose X-Forwarded-* and Forwarded headers are read. */
  readonly trustedProxies?: readonly string[];
  /** The resource's path as this process sees it, if a proxy or a mount strips a prefix; else the resource's. */
  readonly mountPath?: string;
  /** Origins of pages that may use this server; `*`, any, unless given: a page has no rights but its own token's. */
  readonly origins?: Origins;
  /** Asked at each request, after the token passed: for sessions that end before their tokens. */
  readonly checkSession?: (token: VerifiedToken) => SessionState | Promise<SessionState>;
  /** Called for each request except for metadata, each outage and each fault. What it throws is ignored. */
  readonly onEvent?: (event: ServerEvent) => void;
  /** Bytes of the largest body that is read here; 4 MiB unless given. */
  readonly maxBodyBytes?: number;
  /** `resource_name` of the metadata. */
  readonly name?: string;
  /** `resource_documentation` of the metadata: a URL. */
  readonly documentation?: string;
  /** For requests to the authorization servers; the platform's own unless given. */
  readonly fetch?: typeof globalThis.fetch;
  /** Milliseconds since 1970; `Date.now` unless given. */
  readonly now?: () => number;
}

const texts = z.array(z.string().min(1));
const lists = z.record(z.string(), texts);
const limit = z.strictObject({ requests: z.int().positive(), seconds });
const algorithms = z.array(z.enum(asymmetricAlgorithms)).nonempty();

const schema = z.strictObject({
  resource: z.string(),
  authorizationServers: texts.nonempty(),
  tokens: z.custom<TokenKind>(
    (value) => typeof value === 'object' && value !== null && 'open' in value,
    'it must be jwt() or introspection({…})',
  ),
  scopes: z
    .strictObject({
      required: texts.default([]),
      supported: texts.optional(),
      implies: lists.default({}),
      related: lists.default({}),
    })
    .prefault({}),
  strategy: z.enum(['minimal', 'recommended', 'extended']).default('recommended'),
  operations: z
    .strictObject({
      tools: lists.optional(),
      resources: lists.optional(),
      prompts: lists.optional(),
      methods: lists.optional(),
    })
    .optional(),
  routes: z
    .array(z.strictObject({ method: z.string().optional(), path: z.string().startsWith('/'), scopes: texts }))
    .default([]),
  dpop: z
    .strictObject({
      required: z.boolean().default(false),
      algorithms: algorithms.default(['ES256', 'ES384', 'EdDSA', 'Ed25519', 'PS256', 'RS256']),
      nonceSeconds: seconds.optional(),
    })
    .prefault({}),
  rateLimit: z
    .strictObject({
      perClient: limit.optional(),
      perAddress: limit.optional(),
      failedTokens: limit.default({ requests: 100, seconds: 60 }),
    })
    .prefault({}),
  trustedProxies: z
    .array(z.string().refine(isAddressOrRange, 'it must hold IP addresses or ranges'))
    .default([]),
  mountPath: z.string().refine(isPlainPath, 'it must be a path, such as /mcp').optional(),
  origins: z.union([z.literal('*'), texts]).default('*'),
  checkSession: callable<NonNullable<ProtectedServerOptions['checkSession']>>().optional(),
  onEvent: callable<(event: ServerEvent) => void>().optional().transform(quietly),
  maxBodyBytes: z
    .int()
    .positive()
    .default(4 * 1024 * 1024),
  name: z.string().min(1).optional(),
  documentation: z.url().optional(),
  fetch: callable<typeof globalThis.fetch>().default(() => ownFetch),
  now: callable<() => number>().default(() => Date.now),
});

/** Looked up each time, and called as a function of the platform's own object, as some platforms want it. */
const ownFetch: typeof globalThis.fetch = async (input, init) => globalThis.fetch(input, init);

/** As a request names it: one slash between names, and nothing that a URL leaves out. */
function isPlainPath(path: string): boolean {
  const isRooted = path.startsWith('/') && !path.includes('//');
  return isRooted && URL.parse(`https://x.example${path}`)?.pathname === path;
}

export type Settings = z.output<typeof schema> & {
  /** True: the resource is an http URL of this machine, for development. */
  readonly isLoopbackHttp: boolean;
};

/** Throws invalid_request with the option's name and what to write. */
export function readServerOptions(options: ProtectedServerOptions): Settings {
  const settings = readOptions(schema, options, 'protectedServer');
  const isLoopback = requireResource(settings.resource);
  readOption(
    'authorizationServers of protectedServer',
    'Write each issuer as its own metadata does. Plain http works only where the resource is on this machine too.',
    () => {
      const loopback = { allowInsecureLoopback: isLoopback };
      for (const issuer of settings.authorizationServers) requireIssuer(issuer, loopback);
    },
  );
  return { ...settings, isLoopbackHttp: settings.resource.startsWith('http:') };
}

/** True for a resource of this machine. */
function requireResource(resource: string): boolean {
  const canonical = readOption(
    'resource of protectedServer',
    'Write the https URL of the endpoint, as clients do; http is for this machine only.',
    () => canonicalResource(resource, { allowInsecureLoopback: true }),
  );
  // Another spelling would not be the audience that clients ask for (RFC 8707 §2).
  if (resource !== canonical && resource !== `${canonical}/`) {
    invalidOption('resource of protectedServer', 'it is not in canonical form', `Write ${canonical}`);
  }
  return isLoopbackHost(new URL(resource).hostname);
}
