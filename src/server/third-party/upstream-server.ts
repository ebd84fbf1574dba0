/**
 * The upstream authorization server, as its client sees it: sign-in, renewal, status and revocation of tokens.
 *
 * Invariant: an answer counts only for the request that it belongs to (state, `iss`, PKCE), and a token only if nothing
 * that it shows names another client. Each request ends in time. Nothing that the upstream says of an error is passed
 * on to a client.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import * as openid from 'openid-client';
import { z } from 'zod';
import { parseJson } from '../../base/text/json.ts';
import { wantsUser } from '../../oauth/base/oauth-error.ts';
import { accountOf, subjectSchema } from '../authorization/accounts/upstream-accounts.ts';
import { upstreamConfiguration, UpstreamFault } from '../authorization/accounts/upstream-client.ts';
import type { UpstreamAnswer, UpstreamConfiguration } from '../authorization/accounts/upstream-client.ts';
import { statedClaims } from '../resource/tokens/claims.ts';
import type { Upstream } from './options.ts';
import type { UpstreamTokens } from './session.ts';
import { standardAnswer } from './token-answer.ts';
import { grantedScopes, metadataOf } from './upstream-forms.ts';

export const startedSchema = z.object({
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  /** What was asked for there. */
  scope: z.string(),
});

export type StartedSignIn = z.infer<typeof startedSchema>;

interface Heard {
  answer: unknown;
}

const answerSchema = z.object({
  access_token: z.string(),
  refresh_token: z.string().optional(),
  scope: z.string().optional(),
});

/** The upstream doesn't honour the token any more. */
export class RefusedUpstream extends UpstreamFault {}

/** The answer is about another client than this server. */
export class ForeignToken extends UpstreamFault {}

/** True where the upstream gave no answer at all. */
export function isSilence(error: unknown): boolean {
  if (error instanceof openid.ClientError) return ['OAUTH_TIMEOUT', 'OAUTH_ABORT'].includes(error.code ?? '');
  // What fetch throws has a cause.
  return error instanceof TypeError && error.cause !== undefined;
}

export interface SignedIn {
  readonly account: string | undefined;
  readonly tokens: UpstreamTokens;
}

export class UpstreamServer {
  readonly #upstream: Upstream;
  readonly #configuration: UpstreamConfiguration;
  readonly #now: () => number;
  /** What the upstream answered to the request for tokens that runs here. */
  readonly #heard = new AsyncLocalStorage<Heard>();

  constructor(upstream: Upstream, now: () => number) {
    const { issuer, clientId, clientSecret, authorities, form } = upstream;
    this.#upstream = upstream;
    const read = (answer: UpstreamAnswer): UpstreamAnswer => {
      const standard = standardAnswer(answer);
      const heard = this.#heard.getStore();
      if (heard) heard.answer = parseJson(standard.text);
      return standard;
    };
    const metadata = metadataOf(issuer, form);
    const sendsJson = form.body === 'json';
    this.#configuration = upstreamConfiguration(
      { issuer, clientId, clientSecret, authorities, metadata, sendsJson },
      ['oauth2', 'oidc'],
      read,
    );
    this.#now = now;
  }

  /** Where the browser goes, and what to keep. `scopes`: of the upstream. Throws where it can't be asked by PKCE. */
  async start(
    redirectUri: string,
    state: string,
    scopes: readonly string[],
  ): Promise<{ url: string; started: StartedSignIn }> {
    const configuration = await this.#configuration();
    const { code_challenge_methods_supported: methods } = configuration.serverMetadata();
    // MCP, Authorization Code Protection: a server that names no method may ignore the challenge that it is sent.
    if (this.#upstream.form.pkce && !methods?.includes('S256'))
      throw new UpstreamFault('the upstream does not name S256');
    const scope = scopes.join(' ');
    const started = { state, nonce: openid.randomNonce(), verifier: openid.randomPKCECodeVerifier(), scope };
    const url = openid.buildAuthorizationUrl(configuration, {
      ...this.#upstream.form.parameters,
      redirect_uri: redirectUri,
      state,
      ...(scope === '' ? {} : { scope }),
      ...(this.#isOpenId ? { nonce: started.nonce } : {}),
      ...this.#resource,
      code_challenge: await openid.calculatePKCECodeChallenge(started.verifier),
      code_challenge_method: 'S256',
    });
    return { url: url.href, started };
  }

  /**
   * `answer`: the redirect URI with the parameters that came to it. `drop` gets tokens for this server that can't be
   * used after all; those of another client are left alone.
   */
  async finish(
    answer: URL,
    { state, nonce, verifier, scope }: StartedSignIn,
    drop: (tokens: UpstreamTokens) => Promise<void>,
  ): Promise<SignedIn> {
    const configuration = await this.#configuration();
    const checks = {
      expectedState: state,
      pkceCodeVerifier: verifier,
      ...(this.#isOpenId ? { expectedNonce: nonce, idTokenExpected: true } : {}),
    };
    return this.#dropping(drop, async () => {
      const response = await openid.authorizationCodeGrant(configuration, answer, checks, this.#resource);
      const tokens = this.#tokensOf(response, scope, undefined);
      await this.#requireOwn(tokens);
      const claims = response.claims();
      if (!this.#isOpenId || claims === undefined) return { account: undefined, tokens };
      return { account: accountOf(this.#upstream.issuer, subjectSchema.parse(claims.sub)), tokens };
    });
  }

  /** Asks for the metadata, unless it is there. Throws where it can't be had. */
  async prepare(): Promise<void> {
    await this.#configuration();
  }

  /**
   * Throws RefusedUpstream where the upstream ended the grant, and anything else where nobody can tell. `drop` gets
   * rotated tokens that can't be used after all.
   */
  async renew(
    { refreshToken, scope }: UpstreamTokens,
    drop: (tokens: UpstreamTokens) => Promise<void>,
  ): Promise<UpstreamTokens> {
    if (refreshToken === undefined) throw new RefusedUpstream('there is nothing to renew it with');
    const configuration = await this.#configuration();
    // A refresh token that wasn't rotated goes on: to revoke what came with it could end it.
    const dropRotated = async (tokens: UpstreamTokens): Promise<void> => {
      if (tokens.refreshToken !== undefined && tokens.refreshToken !== refreshToken) await drop(tokens);
    };
    return this.#dropping(dropRotated, async () => {
      let response;
      try {
        response = await openid.refreshTokenGrant(configuration, refreshToken, this.#resource);
      } catch (error) {
        // Nothing else says that the grant is over, or that only a new sign-in helps.
        if (error instanceof openid.ResponseBodyError && endsGrant(error))
          throw new RefusedUpstream('the upstream refused the renewal');
        throw error;
      }
      const tokens = this.#tokensOf(response, scope, refreshToken);
      requireOwnClaims(tokens.accessToken, this.#upstream.clientId);
      return tokens;
    });
  }

  /**
   * Runs one request for tokens. If it fails after the upstream answered with some, as where the ID token is no good,
   * `drop` gets them; those of another client are left alone.
   */
  async #dropping<T>(drop: (tokens: UpstreamTokens) => Promise<void>, ask: () => Promise<T>): Promise<T> {
    const heard: Heard = { answer: undefined };
    try {
      return await this.#heard.run(heard, ask);
    } catch (error) {
      const { data } = answerSchema.safeParse(heard.answer);
      if (data && !(error instanceof ForeignToken)) {
        const { access_token: accessToken, refresh_token: refreshToken, scope = '' } = data;
        await drop({ accessToken, refreshToken, scope });
      }
      throw error;
    }
  }

  async offersIntrospection(): Promise<boolean> {
    return (await this.#configuration()).serverMetadata().introspection_endpoint !== undefined;
  }

  /** RFC 7662. Throws where nobody can tell. */
  async isActive({ accessToken }: UpstreamTokens): Promise<boolean> {
    const configuration = await this.#configuration();
    const said = await openid.tokenIntrospection(configuration, accessToken, {
      token_type_hint: 'access_token',
    });
    return said.active && (said.client_id === undefined || said.client_id === this.#upstream.clientId);
  }

  /** RFC 7009; false: the upstream offers none. Throws where it didn't confirm. */
  async revoke({ accessToken, refreshToken }: UpstreamTokens): Promise<boolean> {
    const configuration = await this.#configuration();
    if (configuration.serverMetadata().revocation_endpoint === undefined) return false;
    // The refresh token first: with it goes the grant, at most servers.
    if (refreshToken !== undefined)
      await openid.tokenRevocation(configuration, refreshToken, { token_type_hint: 'refresh_token' });
    try {
      await openid.tokenRevocation(configuration, accessToken, { token_type_hint: 'access_token' });
    } catch (error) {
      // RFC 7009 §2.2.1: a server may revoke refresh tokens only.
      const isUnsupported =
        error instanceof openid.ResponseBodyError && error.error === 'unsupported_token_type';
      if (!isUnsupported || refreshToken === undefined) throw error;
    }
    return true;
  }

  get #isOpenId(): boolean {
    return this.#upstream.extraScopes.includes('openid');
  }

  get #resource(): Record<string, string> {
    return this.#upstream.sendsResource ? { resource: this.#upstream.resource } : {};
  }

  #tokensOf(
    response: openid.TokenEndpointResponse,
    asked: string,
    refreshToken: string | undefined,
  ): UpstreamTokens {
    const { access_token, refresh_token = refreshToken, expires_in, scope = asked, token_type } = response;
    if (token_type !== 'bearer') throw new UpstreamFault('the upstream token is of another type');
    const now = Math.floor(this.#now() / 1000);
    return {
      accessToken: access_token,
      refreshToken: refresh_token,
      ...(expires_in === undefined ? {} : { expiresAt: now + expires_in }),
      // RFC 6749 §5.1: left out, it is what was asked for.
      scope: grantedScopes(scope, this.#upstream.form.name),
    };
  }

  /** A server that mixes up its clients would let this one act as another. */
  async #requireOwn(tokens: UpstreamTokens): Promise<void> {
    requireOwnClaims(tokens.accessToken, this.#upstream.clientId);
    if ((await this.offersIntrospection()) && !(await this.isActive(tokens)))
      throw new ForeignToken('the upstream does not know the token as this client’s');
  }
}

/** Looks at what a token shows, if it shows anything. */
function requireOwnClaims(token: string, clientId: string): void {
  const claims = statedClaims(token) ?? {};
  for (const name of ['client_id', 'azp']) {
    if (claims[name] !== undefined && claims[name] !== clientId)
      throw new ForeignToken('the token was issued to another client');
  }
}

/** RFC 6749 §5.2; some providers want the user first, and some have own words for a token that has ended. */
function endsGrant({ error, error_description: said = '' }: openid.ResponseBodyError): boolean {
  const isAtlassians = error === 'unauthorized_client' && /refresh_token is invalid/i.test(said);
  return isAtlassians || ends.has(error) || wantsUser(error);
}

const ends: ReadonlySet<string> = new Set([
  'invalid_grant',
  // GitHub.
  'bad_refresh_token',
  // Slack.
  'invalid_refresh_token',
  'token_expired',
  'token_revoked',
]);
