/**
 * What a bent authorization server knows, and how a test may bend it.
 *
 * Invariant: settings describe servers that keep the rules; only a bend breaks one. Changes apply to the next request.
 */
import type { JsonWebKey } from 'node:crypto';
import type { Answer, BentServer, RecordedRequest, Reply } from './server.ts';
import { json } from './answer.ts';
import type { Json, SigningKey } from './jwt.ts';
import type { Settings } from './authorization-server.ts';
import type { TokenStore } from './token-store.ts';

export const authMethods = ['none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt'] as const;

export type AuthMethod = (typeof authMethods)[number];

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

  constructor(error: string, description: string, status = 400, headers: Record<string, string> = {}) {
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
export function answerJson(parts: Parts, request: RecordedRequest, endpoint: Endpoint, work: () => Json) {
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
export function once(parameters: URLSearchParams): void {
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
