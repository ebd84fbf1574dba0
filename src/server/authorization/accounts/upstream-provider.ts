/**
 * An OpenID provider that people sign in at, as its client sees it.
 *
 * Invariant: a person is named by the provider's issuer and the `sub` of an ID token that it signed for us, for this very
 * request: state, `iss`, nonce, audience, times and signature were checked, and the code was bound to a verifier (PKCE).
 */
import * as openid from 'openid-client';
import { fetch } from 'undici';
import { hostOf, reachOf } from '../../../base/addresses.ts';
import type { Reach } from '../../../base/addresses.ts';
import { makeAgent } from '../../../base/system/https-agent.ts';
import { boundedText } from '../base/bounded-text.ts';

export interface UpstreamClient {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret?: string | undefined;
  readonly scope: string;
  readonly authorities?: string | undefined;
}

/** What a sign-in must come back with. Kept until then. */
export interface StartedSignIn {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

export type IdTokenClaims = Readonly<Record<string, unknown>> & { readonly sub: string };

/** Seconds for each request: a person waits for the page. */
const timeoutSeconds = 5;

/** Bytes of a document, a key set or an answer of the provider. */
const maxAnswerLength = 256 * 1024;

/** Milliseconds in which the provider's metadata is not fetched again. */
const metadataLifetime = 60 * 60 * 1000;

export class UpstreamProvider {
  readonly #client: UpstreamClient;
  readonly #fetch: openid.CustomFetch;
  #found: { readonly at: number; readonly configuration: Promise<openid.Configuration> } | undefined;

  constructor(client: UpstreamClient) {
    this.#client = client;
    this.#fetch = upstreamFetch(client);
  }

  /** Where the browser goes, and what to keep. Throws where the provider can't be reached or its metadata is of another. */
  async start(
    redirectUri: string,
    state: string,
    isAnew: boolean,
  ): Promise<{ url: string; started: StartedSignIn }> {
    const configuration = await this.#configuration();
    const started = { state, nonce: openid.randomNonce(), verifier: openid.randomPKCECodeVerifier() };
    const url = openid.buildAuthorizationUrl(configuration, {
      redirect_uri: redirectUri,
      scope: this.#client.scope,
      state,
      nonce: started.nonce,
      code_challenge: await openid.calculatePKCECodeChallenge(started.verifier),
      code_challenge_method: 'S256',
      ...(isAnew ? { prompt: 'login' } : {}),
    });
    return { url: url.href, started };
  }

  /** The claims of who signed in. `answer`: the redirect URI with the parameters that came to it. Throws for any other answer. */
  async finish(answer: URL, { state, nonce, verifier }: StartedSignIn): Promise<IdTokenClaims> {
    const tokens = await openid.authorizationCodeGrant(await this.#configuration(), answer, {
      expectedState: state,
      expectedNonce: nonce,
      pkceCodeVerifier: verifier,
      idTokenExpected: true,
    });
    const claims = tokens.claims();
    if (claims === undefined) throw new TypeError('the answer has no ID token');
    return claims;
  }

  async #configuration(): Promise<openid.Configuration> {
    const now = Date.now();
    if (this.#found === undefined || now - this.#found.at > metadataLifetime) {
      this.#found = { at: now, configuration: this.#discover() };
    }
    const found = this.#found;
    try {
      return await found.configuration;
    } catch (error) {
      // The next sign-in tries again.
      if (this.#found === found) this.#found = undefined;
      throw error;
    }
  }

  async #discover(): Promise<openid.Configuration> {
    const { issuer, clientId, clientSecret } = this.#client;
    // OpenID Connect Discovery §4.3: the document's issuer is this one, or it is not used.
    const found = await openid.discovery(new URL(issuer), clientId, undefined, openid.None(), {
      [openid.customFetch]: this.#fetch,
      timeout: timeoutSeconds,
    });
    const server = found.serverMetadata();
    // RFC 8414 §2: a provider that names no method takes this one.
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    const authentication =
      clientSecret === undefined
        ? openid.None()
        : methods.includes('client_secret_basic')
          ? openid.ClientSecretBasic(clientSecret)
          : openid.ClientSecretPost(clientSecret);
    const configuration = new openid.Configuration(server, clientId, undefined, authentication);
    configuration[openid.customFetch] = this.#fetch;
    configuration.timeout = timeoutSeconds;
    // Also the signature of an ID token that came over TLS, which the client by itself would trust.
    openid.enableNonRepudiationChecks(configuration);
    return configuration;
  }
}

/** What the provider's documents name is reached at public addresses, and the host that the operator named wherever it is. */
function upstreamFetch({ issuer, authorities }: UpstreamClient): openid.CustomFetch {
  const agents = new Map<Reach, ReturnType<typeof makeAgent>>();
  return async (url, { method, headers, body, signal }) => {
    const isConfirmed = (each: string): boolean => hostOf(each) === hostOf(issuer);
    const reach = reachOf(url, { endpoint: issuer, isConfirmed });
    const dispatcher = agents.get(reach) ?? makeAgent({ reach, authorities });
    agents.set(reach, dispatcher);
    const answer = await fetch(url, {
      method,
      headers,
      ...(body instanceof URLSearchParams ? { body: body.toString() } : {}),
      redirect: 'manual',
      dispatcher,
      ...(signal ? { signal } : {}),
    });
    const text = await boundedText(answer.body ?? undefined, maxAnswerLength);
    const hasBody = answer.status !== 204 && answer.status !== 304 && answer.status >= 200;
    return new Response(hasBody ? text : undefined, {
      status: answer.status,
      headers: Object.fromEntries(answer.headers),
    });
  };
}
