/**
 * What `authorizationServer` takes, and the check of it.
 *
 * Invariant: a server with an option that can't be right never starts.
 */
import { z } from 'zod';
import { canonicalResource } from '../../oauth/base/resource.ts';
import { isLoopbackHost } from '../../base/text/this-machine.ts';
import { requireSecureUrl } from '../../oauth/base/secure-url.ts';
import { isAddressOrRange } from '../resource/base/address.ts';
import { callable, quietly, readOptions } from '../resource/base/option.ts';
import { hasPrivatePart } from '../resource/base/public-key.ts';
import { unnamedStorage } from '../storage/memory.ts';
import type { Storage } from '../storage/storage.ts';
import type { Accounts } from './accounts/accounts.ts';
import { invalidOption, readOption } from './base/invalid-option.ts';
import { redirectProblem } from './clients/redirect.ts';

/** A protected server that tokens can be issued for. */
export interface ResourceOptions {
  /** The canonical URI, as clients send it in `resource` (RFC 8707). */
  readonly resource: string;
  /** How the consent page calls it; its host unless given. */
  readonly name?: string;
  /** Each scope with a sentence for the consent page: `{'notes:read': 'Read your notes'}`. */
  readonly scopes: Readonly<Record<string, string>>;
  /** Granted where a request names no scope (RFC 6749 §3.3); every scope unless given. */
  readonly defaultScopes?: readonly string[];
}

/** A client that the operator entered. */
export interface ClientOptions {
  readonly clientId: string;
  readonly name?: string;
  /** https URLs, or http URLs of a loopback host; needed for people's sign-ins. */
  readonly redirectUris?: readonly string[];
  /** A shared secret (`client_secret_basic`). */
  readonly clientSecret?: string;
  /** Public keys for `private_key_jwt` (RFC 7523), as JWKs. */
  readonly keys?: readonly Readonly<Record<string, unknown>>[];
  /** True: it may use the client credentials grant; it needs a secret or keys. */
  readonly isMachine?: boolean;
  /** The scopes that it may get, in each grant (RFC 7591 §2 `scope`); all unless given. */
  readonly scopes?: readonly string[];
}

/** A provider whose identity assertions (ID-JAG) are accepted. */
export interface AssertionProvider {
  readonly issuer: string;
  readonly jwksUri: string;
  /** The account here of an assertion's subject; undefined refuses it. `tenant` is the claim `tid`, if any. */
  readonly accountFor: (
    subject: string,
    tenant: string | undefined,
  ) => string | undefined | Promise<string | undefined>;
}

export interface AuthorizationServerOptions {
  /** The issuer identifier: an https URL, with or without a path; http for a loopback host only. */
  readonly issuer: string;
  readonly resources: readonly ResourceOptions[];
  /** Who may sign in, and how: `developmentLogin(…)`, `upstreamAccounts(…)`, or your own. */
  readonly accounts: Accounts;
  /**
   * `sqliteStorage(path)`, `memoryStorage()`, or another. Memory unless given, for an issuer on this machine only. At any
   * other issuer one that lasts must be sealed: `sealedStorage(…)`.
   */
  readonly storage?: Storage;
  readonly clients?: readonly ClientOptions[];
  /**
   * Dynamic registration (RFC 7591): `open`, `off` (the default), or with an initial access token that the operator
   * hands out. Managed by RFC 7592.
   */
  readonly registration?: 'open' | 'off' | { readonly initialAccessToken: string };
  /** Registrations that one address may make; 20 in an hour unless given. */
  readonly registrationLimit?: { readonly requests: number; readonly seconds: number };
  /**
   * Requests for tokens and revocations, and for registrations that exist, that one address may send; 3000 in five
   * minutes unless given.
   */
  readonly requestLimit?: { readonly requests: number; readonly seconds: number };
  /** Addresses and ranges of proxies whose X-Forwarded-For counts. */
  readonly trustedProxies?: readonly string[];
  /** Whose client ID metadata documents count: of any https host, of none, or of these hosts; `any` unless given. */
  readonly clientDocuments?: 'any' | 'none' | readonly string[];
  readonly assertionProviders?: readonly AssertionProvider[];
  readonly lifetimes?: {
    /** Seconds; 300 unless given, 3600 at most. */
    readonly accessToken?: number;
    /** Seconds since the last use; 30 days unless given. */
    readonly refreshToken?: number;
    /** Seconds of a browser's session; 8 hours unless given. */
    readonly session?: number;
    /**
     * Seconds in which a used refresh token gives the same successor, for processes that refresh at once; 10 unless
     * given, 60 at most, 0: each second use ends the grant.
     */
    readonly refreshGrace?: number;
  };
  /** Seconds until the next signing key takes over, of existing keys too; 30 days unless given. */
  readonly keyRotation?: number;
  /** Further authorities for requests of this server, as PEM. */
  readonly authorities?: string;
  /** Called with what happened; never holds a secret. What it throws is ignored. */
  readonly onEvent?: (event: AuthorizationEvent) => void;
  /** Milliseconds since 1970; `Date.now` unless given. Tokens take the system's clock. */
  readonly now?: () => number;
}

/** For an operator's audit log. */
export interface AuthorizationEvent {
  readonly kind:
    | 'signed_in'
    | 'consented'
    | 'denied'
    | 'token_issued'
    | 'refreshed'
    | 'replayed'
    | 'revoked'
    | 'registered'
    | 'refused'
    /** A function among the options, the storage or this server itself threw. */
    | 'failed';
  readonly clientId?: string;
  readonly account?: string;
  /** An OAuth error code, for `refused`. */
  readonly error?: string;
  /** The rule that was broken, why the client’s document, the sign-in provider or the upstream failed, or what threw. */
  readonly problem?: string;
}

const texts = z.array(z.string().min(1));
const seconds = z.int().positive();
const limit = z.strictObject({ requests: z.int().positive(), seconds });
const day = 24 * 60 * 60;

const schema = z.strictObject({
  issuer: z.string(),
  resources: z
    .array(
      z.strictObject({
        resource: z.string(),
        name: z.string().min(1).exactOptional(),
        scopes: z.record(
          z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, 'a scope has no space'),
          z.string().min(1),
        ),
        defaultScopes: texts.exactOptional(),
      }),
    )
    .nonempty('it must name a protected server'),
  accounts: z.custom<Accounts>(
    (value) => z.object({ signIn: callable(), isKnown: callable() }).safeParse(value).success,
    'it must be developmentLogin(…) or another kind of accounts, with signIn and isKnown',
  ),
  storage: z
    .custom<Storage>(
      (value) => typeof value === 'object' && value !== null && 'atRest' in value,
      'it must be a storage, which says in `atRest` what a thief can read',
    )
    .optional(),
  clients: z
    .array(
      z.strictObject({
        clientId: z.string().min(1),
        name: z.string().min(1).exactOptional(),
        redirectUris: texts.default([]),
        clientSecret: z.string().min(32, 'a secret has at least 32 characters').exactOptional(),
        keys: z.array(z.record(z.string(), z.unknown())).exactOptional(),
        isMachine: z.boolean().default(false),
        scopes: texts.exactOptional(),
      }),
    )
    .default([]),
  registration: z
    .union([z.enum(['open', 'off']), z.strictObject({ initialAccessToken: z.string().min(32) })])
    .default('off'),
  registrationLimit: limit.default({ requests: 20, seconds: 3600 }),
  // Ten a second: three thousand clients behind one address, each with tokens of five minutes.
  requestLimit: limit.default({ requests: 3000, seconds: 300 }),
  trustedProxies: z
    .array(z.string().refine(isAddressOrRange, 'it must hold IP addresses or ranges'))
    .default([]),
  clientDocuments: z.union([z.enum(['any', 'none']), texts]).default('any'),
  assertionProviders: z
    .array(
      z.strictObject({
        issuer: z.string(),
        jwksUri: z.string(),
        accountFor: callable<AssertionProvider['accountFor']>(),
      }),
    )
    .default([]),
  lifetimes: z
    .strictObject({
      accessToken: seconds.max(3600, 'an access token lives an hour at most').default(300),
      refreshToken: seconds.default(30 * day),
      session: seconds.default(day / 3),
      refreshGrace: z.number().min(0).max(60).default(10),
    })
    .prefault({}),
  keyRotation: seconds.min(3600).default(30 * day),
  authorities: z.string().exactOptional(),
  onEvent: callable<(event: AuthorizationEvent) => void>().optional().transform(quietly),
  now: callable<() => number>().default(() => Date.now),
});

export type Settings = z.output<typeof schema>;

/** Throws invalid_request with the option's name and what to write. */
export function readAuthorizationOptions(options: AuthorizationServerOptions): Settings {
  const data = readOptions(schema, options, 'authorizationServer', '@keyturn/server/authorization');
  const isLoopback = requireIssuer(data.issuer);
  for (const { resource, scopes, defaultScopes = [] } of data.resources) {
    requireResource(resource, isLoopback);
    const unknown = defaultScopes.find((scope) => !Object.hasOwn(scopes, scope));
    if (unknown !== undefined)
      invalidOption('resources.defaultScopes', 'it names a scope that is not in `scopes`');
  }
  if (new Set(data.resources.map(({ resource }) => resource)).size < data.resources.length)
    invalidOption('resources.resource', 'two entries name the same one');
  const scopes = data.resources.flatMap((each) => Object.keys(each.scopes));
  for (const client of data.clients) requireClient(client, scopes);
  // The provider spells its own issuer, which an assertion must repeat byte for byte.
  for (const { issuer, jwksUri } of data.assertionProviders) {
    secureUrl('assertionProviders.issuer', issuer, isLoopback);
    secureUrl('assertionProviders.jwksUri', jwksUri, isLoopback);
  }
  requireHosts(data.clientDocuments);
  data.accounts.requireUsableAt?.(data.issuer);
  if (!isLoopback && data.storage === undefined) invalidOption('storage', unnamedStorage);
  if (!isLoopback && data.storage?.atRest === 'readable') {
    invalidOption(
      'storage',
      'anyone who reads it could sign tokens. Write sealedStorage(storage, [{ id, key }]), with 32 random bytes as the key',
    );
  }
  return data;
}

/** RFC 8414 §2: an https URL without query or fragment. True for a loopback host. */
function requireIssuer(issuer: string): boolean {
  const url = secureUrl('issuer', issuer, true);
  if (issuer.includes('?')) return invalidOption('issuer', 'it has a query');
  if (issuer.endsWith('/')) return invalidOption('issuer', 'it ends with a slash');
  // Clients compare it as text, and another spelling names the same server.
  const canonical = url.pathname === '/' ? url.origin : url.href;
  if (issuer !== canonical) return invalidOption('issuer', `write it in its canonical form, ${canonical}`);
  return isLoopbackHost(url.hostname);
}

const adviceFor = (text: string): string | undefined =>
  text.startsWith('http:')
    ? 'Write https. http is for a resource and its issuer on this machine only, such as 127.0.0.1.'
    : undefined;

function secureUrl(option: string, text: string, allowInsecureLoopback: boolean): URL {
  return readOption(option, () => requireSecureUrl(text, 'it', { allowInsecureLoopback }), adviceFor(text));
}

function requireClient(
  { isMachine, clientSecret, keys, redirectUris, scopes }: Settings['clients'][number],
  known: readonly string[],
): void {
  if (isMachine && clientSecret === undefined && keys === undefined)
    invalidOption('clients.isMachine', 'a machine needs `clientSecret` or `keys`');
  if (keys?.some(hasPrivatePart)) invalidOption('clients.keys', 'it must hold public keys only');
  if (scopes?.some((scope) => !known.includes(scope)))
    invalidOption('clients.scopes', 'it names a scope that is in no `resources.scopes`');
  const problem = redirectUris.map(redirectProblem).find((each) => each !== undefined);
  if (problem !== undefined) invalidOption('clients.redirectUris', problem);
}

/** Entries are compared with the host of a URL, so one in another form would never match. */
function requireHosts(trusted: Settings['clientDocuments']): void {
  if (typeof trusted === 'string') return;
  const wrong = trusted.find((entry) => URL.parse(`https://${entry}/`)?.host !== entry);
  if (wrong !== undefined)
    invalidOption('clientDocuments', 'write each host in lower case, with its port unless that is 443');
}

function requireResource(resource: string, isLoopback: boolean): void {
  const canonical = readOption(
    'resources.resource',
    () => canonicalResource(resource, { allowInsecureLoopback: isLoopback }),
    adviceFor(resource),
  );
  if (resource !== canonical && resource !== `${canonical}/`) {
    invalidOption('resources.resource', `write it in its canonical form, ${canonical}`);
  }
}
