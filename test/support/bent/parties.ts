/**
 * What a bent authorization server knows and how a test may bend it: words shared by its endpoints.
 *
 * Invariant: settings describe other servers that still keep the rules; only a bend breaks one. Both
 * may be changed at any time and count from the next request on.
 */
import type { JsonWebKey } from 'node:crypto';
import type { Answer, BentServer, RecordedRequest, Reply } from './server.ts';
import { json } from './answer.ts';
import type { Json, SigningKey } from './jwt.ts';
import type { TokenStore } from './token-store.ts';

export type AuthMethod = 'none' | 'client_secret_basic' | 'client_secret_post' | 'private_key_jwt';

export interface BentClient {
  readonly clientId: string;
  readonly authMethod: AuthMethod;
  readonly redirectUris: readonly string[];
  readonly secret?: string;
  /** For `private_key_jwt`: its public key. */
  readonly jwk?: JsonWebKey;
  readonly name?: string;
  /** As it registered them; absent: added by a test. */
  readonly grantTypes?: readonly string[];
  readonly scopes?: readonly string[];
  /** At an identity provider: how this client is called at the authorization servers of resources. */
  readonly clientIdElsewhere?: string;
}

/** `oauth` and `oidc` put the path of the issuer at their end; `oidcAppended` comes after the issuer's path. */
export type MetadataPlace = 'oauth' | 'oidc' | 'oidcAppended';

/** What an identity provider is for those that trust it. */
export interface IdentityProvider {
  readonly issuer: string;
  readonly jwk: JsonWebKey;
}

export interface Settings {
  /** Where the metadata is served; the other places answer 404. */
  metadataAt: readonly MetadataPlace[];
  /** `scopes_supported`; undefined leaves it out. Any scope is granted all the same. */
  scopesSupported: readonly string[] | undefined;
  /** Granted to a request without scope. */
  defaultScope: readonly string[];
  /** What stands between the scopes of a token answer; GitHub writes commas (RFC 6749 §3.3 has spaces). */
  scopeSeparator: ' ' | ',';
  accessTokenFormat: 'opaque' | 'jwt';
  /** Seconds; undefined: tokens don't end and answers have no `expires_in`. */
  accessTokenLifetime: number | undefined;
  /** `afterConsent`: for offline_access with `prompt=consent` only (OpenID Connect Core §11), as oidc-provider does. */
  refreshTokens: 'always' | 'offline_access' | 'afterConsent' | 'never';
  /** A request with a `prompt` gets an error page, as better-auth answers select_account, or is sent back with an error. */
  failsOnPrompts: 'page' | 'redirect' | false;
  /** `rotate`: a used one ends the grant; `same`: no new one comes. */
  rotation: 'rotate' | 'same';
  /** Seconds in which a used refresh token may come again, because its answer may be lost (RFC 9700 §4.14.2). */
  refreshGrace: number;
  /** Revoking a grant ends all grants of its client and user. */
  sharesGrants: boolean;
  /** Issues tokens that are bound to the key of a proof, and wants its nonce in it (RFC 9449 §8). */
  dpop: boolean;
  /**
   * What a refresh with less scope changes: RFC 6749 §6 says the access token; `forGood`: the refresh token too;
   * `endsOthers`: each refresh ends the earlier access tokens.
   */
  narrowing: 'accessToken' | 'forGood' | 'endsOthers';
  /** RFC 8707: a code or refresh request without `resource` is refused. */
  resourceRequired: boolean;
  /** `auto`: a redirect at once; `page`: a consent page that a person clicks; `signIn`: before it, a page that asks for an account. */
  consent: 'auto' | 'page' | 'signIn';
  /** Who can sign in at that page. */
  accounts: readonly string[];
  /** RFC 9207: `iss` in the redirect, and said in the metadata. */
  issInResponse: boolean;
  /** `exact` (OAuth 2.1), or any port on a loopback address, not on `localhost` (RFC 8252 §7.3). */
  redirectMatching: 'exact' | 'anyLoopbackPort';
  /** `absent`: no endpoint at all; `closed`: it refuses everybody. */
  registration: 'open' | 'closed' | 'absent';
  /** What a registered client gets whatever it asked for; undefined: what it asked for. */
  registeredAuthMethod: AuthMethod | undefined;
  /** Which redirect URIs may be registered; others are `invalid_redirect_uri`. */
  acceptsRedirect: (uri: string, request: Json) => boolean;
  /** Which grants may be registered together; others are `invalid_client_metadata`. */
  acceptsGrants: (types: readonly string[]) => boolean;
  /** Whether a client may be registered for these scopes. */
  acceptsScopes: (scopes: readonly string[]) => boolean;
  /** A client gets the scopes that it registered, and else the default ones, whatever it asks for. */
  scopesByClient: boolean;
  authMethods: readonly AuthMethod[];
  /** How it reads the halves of Basic credentials; RFC 6749 §2.3.1 has them form-encoded. */
  basicDecoding: 'lenient' | 'strict' | 'none';
  /** Of a client that registers. */
  newSecret: () => string;
  /** Takes the URL of a document as a client id, and reads what is hosted there. */
  clientIdMetadataDocuments: boolean;
  /** Refuses every document all the same, as a server does that can't fetch one. */
  refusesDocuments: boolean;
  /** What a client that isn't known gets: a page without a redirect, as OAuth 2.1 §4.1.2.1 has it, or a redirect with this error. */
  unknownClients: 'page' | 'invalid_client' | 'unauthorized_client' | 'invalid_request';
  deviceAuthorization: boolean;
  grantTypes: readonly string[];
  /** Whose ID-JAGs are redeemed here. */
  identityProviders: readonly IdentityProvider[];
  /** Platforms whose word on a workload is taken here. */
  platforms: readonly IdentityProvider[];
  /** Who signs in. */
  subject: string;
  /** Milliseconds since the epoch. */
  now: () => number;
}

type Bend<Arguments extends readonly unknown[], Result> = ((...given: Arguments) => Result) | undefined;

/** Bends a reply that the server has done the work for: a code is used up, a token rotated. */
type ReplyBend = Bend<[reply: JsonReply, request: RecordedRequest], Answer>;

export interface JsonReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Json;
}

/** None: the server keeps the rules. */
export interface Bends {
  /** The metadata document; other answers than a document are routes (`server.on`). */
  metadata?: Bend<[document: Json, request: RecordedRequest], unknown>;
  /** Before anything else at the authorization endpoint: parameters of an error redirect, e.g. `{error: 'access_denied'}`. */
  authorizeError?: Bend<[request: RecordedRequest], Readonly<Record<string, string>> | undefined>;
  /** The parameters that go back to the client, of success and error alike; change them or answer others. */
  authorizeResponse?: Bend<[parameters: URLSearchParams, request: RecordedRequest], URLSearchParams | void>;
  /** The redirect itself. */
  authorizeAnswer?: Bend<[reply: Reply, request: RecordedRequest], Answer>;
  /** Before anything else at the token endpoint: an answer here leaves the server's state untouched. */
  tokenRequest?: Bend<[request: RecordedRequest], Answer | undefined | Promise<Answer | undefined>>;
  tokenAnswer?: ReplyBend;
  /** A refusal of the token endpoint: `invalid_grant` in another shape, say. */
  tokenError?: ReplyBend;
  /** Claims of each access token; its audience, scope, subject and end are those of the answer here. */
  accessTokenClaims?: Bend<[claims: Json], Json>;
  idTokenClaims?: Bend<[claims: Json], Json>;
  /** Claims of an ID-JAG that is issued here. */
  idJagClaims?: Bend<[claims: Json], Json>;
  /** Which scopes are granted: fewer, more or others than asked for. */
  grantedScopes?: Bend<[asked: readonly string[], request: RecordedRequest], readonly string[]>;
  registrationAnswer?: ReplyBend;
  registrationError?: ReplyBend;
  revocationAnswer?: ReplyBend;
  deviceAnswer?: ReplyBend;
}

/** What really happened, whatever was answered. */
export const noBentCounts = {
  metadataRequests: 0,
  /** Filled-in sign-in pages. */
  signIns: 0,
  /** Redirects with a code. */
  authorizations: 0,
  registrations: 0,
  tokenRequests: 0,
  codesRedeemed: 0,
  /** A code came a second time. */
  codeReuses: 0,
  refreshes: 0,
  /** A rotated refresh token came again. */
  refreshReuses: 0,
  clientCredentials: 0,
  devicePolls: 0,
  tokenExchanges: 0,
  jwtBearers: 0,
  revocations: 0,
  /** Refusals of all endpoints but the authorization endpoint. */
  refusals: 0,
};

export type BentCounts = typeof noBentCounts;

/**
 * What happens to the next token request. `pass`: it is served. `loseAnswer`: it is served, but the connection breaks
 * before the answer. `answerAfter`: it is served, and the answer waits. A status: it is answered so, and not served;
 * `retryAfter` in seconds.
 */
export type TokenVerdict =
  | 'pass'
  | 'loseAnswer'
  | { readonly answerAfter: Promise<unknown> }
  | { readonly status: number; readonly retryAfter?: number };

/** Everything that the endpoints of one server share. */
export interface Parts {
  readonly server: BentServer;
  readonly issuer: string;
  readonly settings: Settings;
  readonly bend: Bends;
  readonly counts: BentCounts;
  readonly clients: Map<string, BentClient>;
  readonly store: TokenStore;
  readonly key: SigningKey;
  /** Asked before each token request; none lets all pass. */
  gate: (() => TokenVerdict | Promise<TokenVerdict>) | undefined;
  /** What proofs must repeat. */
  readonly nonce: string;
}

/** A refusal by RFC 6749 §5.2 and its relatives. */
export class Refusal extends Error {
  readonly error: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    error: string,
    description: string,
    status = 400,
    headers: Readonly<Record<string, string>> = {},
  ) {
    super(description);
    this.error = error;
    this.status = status;
    this.headers = headers;
  }
}

/** RFC 6749 §5.1: answers with tokens aren't kept. */
const noStore = { 'cache-control': 'no-store' } as const;

interface Endpoint {
  readonly answer?: ReplyBend;
  readonly error?: ReplyBend;
  /** Of a success; 200 unless told otherwise. */
  readonly status?: number;
}

/** Runs one endpoint: its success and its refusals, each bent by its own hook. */
export function answerJson(
  parts: Parts,
  request: RecordedRequest,
  endpoint: Endpoint,
  work: () => Json,
): Answer {
  const finish = (reply: JsonReply, bend: ReplyBend | undefined): Answer =>
    bend ? bend(reply, request) : json(reply.body, reply.status, reply.headers);
  try {
    return finish({ status: endpoint.status ?? 200, headers: noStore, body: work() }, endpoint.answer);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    parts.counts.refusals += 1;
    const body = { error: error.error, error_description: error.message };
    return finish({ status: error.status, headers: { ...noStore, ...error.headers }, body }, endpoint.error);
  }
}

/** RFC 6749 §3.1, §3.2: a parameter comes once; `resource` may come more often (RFC 8707 §2). */
export function refuseRepeated(parameters: URLSearchParams): void {
  for (const name of new Set(parameters.keys())) {
    if (name !== 'resource' && parameters.getAll(name).length > 1) {
      throw new Refusal('invalid_request', `${name} is repeated`);
    }
  }
}

export function required(parameters: URLSearchParams, name: string): string {
  const value = parameters.get(name);
  if (!value) throw new Refusal('invalid_request', `${name} is missing`);
  return value;
}

/** Words of a scope parameter; undefined where there is none. */
export function scopesOf(parameters: URLSearchParams): string[] | undefined {
  return parameters
    .get('scope')
    ?.split(' ')
    .filter((word) => word !== '');
}
