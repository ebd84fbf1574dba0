/**
 * An OpenID provider that people sign in at, as its client sees it.
 *
 * Invariant: a user is named by the provider's issuer and the `sub` of an ID token that it signed for us, for this
 * very request: state, `iss`, nonce, audience, times and signature were checked, and the code was bound to a verifier
 * (PKCE).
 */
import * as openid from 'openid-client';
import { UpstreamConfiguration } from './upstream-client.ts';
import type { UpstreamClient } from './upstream-client.ts';

export interface UpstreamProviderOptions extends UpstreamClient {
  readonly scope: string;
}

/** What a sign-in must come back with. Kept until then. */
export interface StartedSignIn {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

export type IdTokenClaims = Readonly<Record<string, unknown>> & { readonly sub: string };

export class UpstreamProvider {
  readonly #scope: string;
  readonly #configuration: UpstreamConfiguration;

  constructor({ scope, ...client }: UpstreamProviderOptions) {
    this.#scope = scope;
    this.#configuration = new UpstreamConfiguration(client, ['oidc']);
  }

  /**
   * Where the browser goes, and what to keep. Throws where the provider can't be reached or its metadata is of another.
   */
  async start(
    redirectUri: string,
    state: string,
    isAnew: boolean,
  ): Promise<{ url: string; started: StartedSignIn }> {
    const configuration = await this.#configuration.get();
    const started = { state, nonce: openid.randomNonce(), verifier: openid.randomPKCECodeVerifier() };
    const url = openid.buildAuthorizationUrl(configuration, {
      redirect_uri: redirectUri,
      scope: this.#scope,
      state,
      nonce: started.nonce,
      code_challenge: await openid.calculatePKCECodeChallenge(started.verifier),
      code_challenge_method: 'S256',
      ...(isAnew ? { prompt: 'login' } : {}),
    });
    return { url: url.href, started };
  }

  /**
   * The claims of who signed in. `answer`: the redirect URI with the parameters that came to it. Throws for any other
   * answer.
   */
  async finish(answer: URL, { state, nonce, verifier }: StartedSignIn): Promise<IdTokenClaims> {
    const tokens = await openid.authorizationCodeGrant(await this.#configuration.get(), answer, {
      expectedState: state,
      expectedNonce: nonce,
      pkceCodeVerifier: verifier,
      idTokenExpected: true,
    });
    const claims = tokens.claims();
    if (claims === undefined) throw new TypeError('the answer has no ID token');
    return claims;
  }
}
