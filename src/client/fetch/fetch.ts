/**
 * A fetch that authorizes itself: attaches the broker's token or API key to requests for one endpoint, and
 * answers the endpoint's challenges.
 *
 * Invariant: a token travels in the Authorization header only (RFC 6750 §2.1), a key in its own header only, both to
 * the endpoint's origin and path only, redirects included; but a Bearer token to the URL that `alsoAt` names, too. A
 * token that is bound to a DPoP key has a new proof each time. Attempts are bounded; a 400 is never sent again, and
 * neither is a key that the server rejected.
 */
import { KeyturnError, quoted, reasonOf, shellWord } from '../../base/errors.ts';
import { isBound } from '../../ipc/wire/token-messages.ts';
import type {
  Challenge,
  CredentialKind,
  ApiKeyResult,
  TokenGetParams,
  TokenResult,
} from '../../ipc/wire/token-messages.ts';
import { maxLength } from '../../ipc/wire/limits.ts';
import type { TokenConnection } from '../connection.ts';
import { endpointUrl, isWithin } from '../endpoint-url.ts';
import { operationOf } from './operation.ts';
import { isAboutProof, DpopRequests } from './dpop-requests.ts';
import { maxRedirects, redirected, redirectStatuses } from './redirects.ts';
import { initOf, replayable, type ReplayableRequest } from './replayable.ts';

export interface FetchOptions {
  /** The MCP server's endpoint URL, as the user approved it. */
  readonly resource: string;
  /** Sends the requests; the global fetch unless given. */
  readonly fetch?: typeof globalThis.fetch;
  readonly scope?: string;
  readonly account?: string;
  /** Whether the broker may ask the user. The broker's default is `never`. */
  readonly interaction?: 'never' | 'allow';
  /** Seconds that one request waits for the user. The broker's default is 300. */
  readonly timeout?: number;
  /**
   * What the app can use. With `apiKey`, requests carry the API key that the user set for the endpoint, if there
   * is one. Default: tokens only.
   */
  readonly kinds?: readonly [CredentialKind, ...CredentialKind[]];
  /**
   * A URL of the endpoint's origin that gets the token besides: one that the server itself named, over an answer that
   * it gave to the token. Asked for each request. No API key and no bound token goes there.
   */
  readonly alsoAt?: () => string | undefined;
  /** Most times a request is sent that a 401 or 403 refuses, 1 to 5. Default 3. Redirects and DPoP nonces don't count. */
  readonly maxAttempts?: number;
}

/**
 * Returns a fetch for one MCP server. Requests elsewhere are sent as they are, without a token.
 * Throws `invalid_resource` or `insecure_url`; the fetch throws the broker's refusals.
 */
export function createFetch(connection: TokenConnection, options: FetchOptions): typeof globalThis.fetch {
  const authorized = new AuthorizedFetch(connection, options);
  return async (input, init) => authorized.fetch(input, init);
}

/** What each request for a token says, whatever it is for. */
export function tokenParams(options: FetchOptions): TokenGetParams {
  const { resource, scope, account, interaction, timeout } = options;
  return { resource, scope, account, interaction, timeout };
}

type Credential = TokenResult | ApiKeyResult;

/** Tokens in use by one app at one moment: the present one, and those of requests that are still under way. */
const maxAccepted = 8;

class AuthorizedFetch {
  readonly #connection: TokenConnection;
  readonly #options: FetchOptions;
  readonly #endpoint: URL;
  readonly #fetch: typeof globalThis.fetch;
  readonly #maxAttempts: number;
  /** Which of the latest tokens the server has taken: a later rejection of one says less about the token. */
  readonly #accepted = new Set<string>();
  readonly #dpopRequests: DpopRequests;

  constructor(connection: TokenConnection, options: FetchOptions) {
    this.#connection = connection;
    this.#options = options;
    this.#endpoint = endpointUrl(options.resource);
    this.#fetch = options.fetch ?? globalThis.fetch;
    this.#maxAttempts = Math.min(5, Math.max(1, options.maxAttempts ?? 3));
    this.#dpopRequests = new DpopRequests(connection, this.#fetch);
  }

  async fetch(input: string | URL | Request, init?: RequestInit): Promise<Response> {
    const url = new URL(input instanceof Request ? input.url : input);
    const isNamed = url.origin === this.#endpoint.origin && url.href === this.#options.alsoAt?.();
    if (!isNamed && !isWithin(this.#endpoint, url)) return this.#fetch(input, init);
    let request = await replayable(input, init);
    let credential: Credential = await this.#getCredential(request);
    let attempts = 1;
    let redirects = 0;
    for (;;) {
      const sent = await this.#send(request, credential);
      const { response } = sent;
      credential = sent.credential;
      this.#note(credential, response);
      const moved = redirects < maxRedirects ? redirected(this.#endpoint, request, response) : undefined;
      if (moved) {
        redirects += 1;
        request = moved;
      } else {
        if ('kind' in credential && response.status === 401) {
          throw isWithin(this.#endpoint, request.url)
            ? await this.#apiKeyRejected(response, credential)
            : outside(request, credential);
        }
        const next =
          attempts < this.#maxAttempts
            ? await this.#afterChallenge(request, response, credential)
            : undefined;
        if (!next) return response;
        attempts += 1;
        credential = next;
      }
      // Frees the connection that the answer came on.
      await response.body?.cancel();
    }
  }

  /**
   * RFC 6750 §3.1: any other answer than a 401 says that the token itself is good. A 5xx says nothing, and neither does
   * a redirect: a gateway may give it without a look at the token.
   */
  #note(credential: Credential, { status }: Response): void {
    if ('kind' in credential || status === 401 || status >= 500 || redirectStatuses.has(status)) return;
    this.#accepted.add(credential.tokenId);
    const [oldest] = this.#accepted;
    if (this.#accepted.size > maxAccepted && oldest !== undefined) this.#accepted.delete(oldest);
  }

  async #getCredential(request: ReplayableRequest): Promise<Credential> {
    const { kinds } = this.#options;
    if (!kinds?.includes('apiKey')) return this.#getToken(request);
    const params = { ...tokenParams(this.#options), kinds };
    const credential = await this.#connection.getCredential(params, { signal: request.signal });
    return 'kind' in credential ? credential : requireKnownType(credential);
  }

  async #getToken({ signal }: ReplayableRequest, more?: Partial<TokenGetParams>): Promise<TokenResult> {
    const params = { ...tokenParams(this.#options), ...more };
    return requireKnownType(await this.#connection.getToken(params, { signal }));
  }

  /** The same key would be rejected again. */
  async #apiKeyRejected(response: Response, { apiKeyId, resource }: ApiKeyResult): Promise<KeyturnError> {
    await response.body?.cancel();
    // The user's lists then show it. Where the broker can't be told, the error below says it all the same.
    await this.#connection.rejectToken({ apiKeyId, status: 401 }).catch(() => undefined);
    return new KeyturnError('api_key_rejected', `${resource} rejected the API key.`, {
      rule: 'A rejected API key is not sent again: only the user can replace it',
      hint: `Make a new key at the server, and set it: keyturn api-key set ${shellWord(resource)} --api-key-stdin`,
    });
  }

  async #send(request: ReplayableRequest, credential: Credential): Promise<Sent> {
    if (!('kind' in credential) && isBound(credential)) return this.#sendBound(request, credential);
    const headers = new Headers(request.headers);
    if (!('kind' in credential)) headers.set('authorization', `Bearer ${credential.access_token}`);
    // A key stays within its path, whatever URL the server named (`alsoAt`).
    else if (isWithin(this.#endpoint, request.url)) headers.set(credential.header, credential.value);
    const response = await this.#fetch(request.url.href, initOf({ ...request, headers }));
    return { response, credential };
  }

  /** Race: the broker may have got another token since, or been replaced: then it has no key for this one. */
  async #sendBound(request: ReplayableRequest, credential: TokenResult): Promise<Sent> {
    try {
      return { response: await this.#dpopRequests.send(request, credential), credential };
    } catch (error) {
      if (reasonOf(error) !== 'not_found') throw error;
      const token = await this.#getToken(request);
      if (!isBound(token)) return this.#send(request, token);
      return { response: await this.#dpopRequests.send(request, token), credential: token };
    }
  }

  /** A token that answers the server's challenge, or undefined where the response should stand. */
  async #afterChallenge(
    request: ReplayableRequest,
    response: Response,
    token: Credential,
  ): Promise<TokenResult | undefined> {
    const challenge = challengeOf(response);
    // A key has no scopes that another one could add.
    if (!challenge || 'kind' in token || isAboutProof(response)) return undefined;
    const { tokenId } = token;
    const { status } = challenge;
    const operation = operationOf(request);
    const worked = this.#accepted.has(tokenId);
    const { signal } = request;
    if (status === 401) {
      const rejection = { tokenId, status, challenge, operation, worked };
      const { retryAfter } = await this.#connection.rejectToken(rejection, { signal });
      // The broker replaces no rejected token for now.
      if (retryAfter !== undefined) return undefined;
    }
    const next = await this.#getToken(request, { challenge, operation });
    return next.tokenId === tokenId ? undefined : next;
  }
}

/** The key was not sent, so the rejection says nothing of it. */
function outside({ url }: ReplayableRequest, { resource }: ApiKeyResult): KeyturnError {
  return new KeyturnError(
    'resource_mismatch',
    `The server wants a key at ${quoted(url.origin + url.pathname)}, outside the URL of its API key.`,
    {
      hint: `Set the key for a URL that holds both: keyturn api-key set ${shellWord(new URL(resource).origin)} --api-key-stdin`,
    },
  );
}

/** What was sent at last, and with which credential. */
interface Sent {
  readonly response: Response;
  readonly credential: Credential;
}

/** RFC 6749 §7.1: a client must not use a token type that it doesn't understand. */
function requireKnownType(token: TokenResult): TokenResult {
  if (token.token_type.toLowerCase() === 'bearer' || isBound(token)) return token;
  throw new KeyturnError('token_invalid', 'the token is of an unknown type', { rule: 'RFC 6749 §7.1' });
}

/** RFC 6750 §3.1: only `insufficient_scope` says that another token would help a 403. */
const insufficientScope = /\berror\s*=\s*(?:"insufficient_scope"|insufficient_scope\b)/i;

/** What of a response is a challenge: a 401, a redirect that names the metadata, a 403 for want of scope. No 400. */
function challengeOf(response: Response): Challenge | undefined {
  const header = response.headers.get('www-authenticate');
  const wwwAuthenticate = header !== null && header.length <= maxLength.challenge ? header : undefined;
  if (response.status === 401) {
    return wwwAuthenticate === undefined ? { status: 401 } : { status: 401, wwwAuthenticate };
  }
  if (wwwAuthenticate === undefined) return undefined;
  const isByGateway = redirectStatuses.has(response.status) && /\bresource_metadata\b/i.test(wwwAuthenticate);
  if (isByGateway) return { status: 401, wwwAuthenticate };
  if (response.status !== 403) return undefined;
  return insufficientScope.test(wwwAuthenticate) ? { status: 403, wwwAuthenticate } : undefined;
}
