/**
 * Configures the OAuth library as a client of one authorization server.
 *
 * Invariants: the library builds every authenticated request. `send` sends it (with limits, no redirects, secure URLs
 * only). The caller's `processReply` checks the reply before the library sees it. The reply lists the secrets that were
 * sent, so that no message repeats them. The library refuses answers of real servers (`"scope": null`, an error as a
 * form, a 401 with a challenge), so it gets a rewritten answer or none.
 */
import { allowInsecureRequests, clockSkew, clockTolerance, Configuration, customFetch } from 'openid-client';
import type { CustomFetch } from 'openid-client';
import { z } from 'zod';
import { KeyturnError, quoted, RuleRefusal } from '../../base/errors.ts';
import type { TokenServer } from '../discovery/authorization-server.ts';
import { clientAuthentication } from './client-authentication.ts';
import type { OAuthClient } from './client-authentication.ts';
import { deadline, isSuccess, send } from '../base/http.ts';
import type { Http, HttpReply } from '../base/http.ts';
import type { DpopKey } from './dpop-key.ts';
import { requireRegistrationIssuer } from './registration.ts';
import { firstForm, formsAfter, isAboutRequest, rememberForm, secretsOf } from './secret-form.ts';
import type { RequestContent, SecretForm } from './secret-form.ts';
import { serverTime } from '../base/server-clock.ts';

export type { OAuthClient } from './client-authentication.ts';

/** 30 s: if we give up on a refresh, the server may have replaced the refresh token, and the user has to sign in again. */
const requestTimeout = 30_000;

/**
 * 65 minutes, in seconds: clocks are often wrong by an hour (a wrong time zone, summer time). The ID token comes
 * directly from the token endpoint in the answer to our request, so its age matters little.
 */
const idTokenTolerance = 65 * 60;

export interface Exchange {
  /** Names the endpoint in messages. */
  readonly what: string;
  /** Throws, or returns the answer for the library. */
  readonly processReply: (reply: HttpReply) => Response;
  /** Each request has a proof of this key (RFC 9449 §5). */
  readonly dpopKey?: DpopKey | undefined;
}

/** Throws issuer_mismatch, and client_rejected if a secret or key is missing or unusable. */
export function clientConfiguration(client: OAuthClient, http: Http, exchange: Exchange): Configuration {
  const { server, registration } = client;
  requireRegistrationIssuer(registration, server);
  const config = new Configuration(
    // The checked values come last and replace those of the document.
    {
      ...server.metadata,
      issuer: server.issuer,
      token_endpoint: server.tokenEndpoint,
      revocation_endpoint: server.revocationEndpoint,
      device_authorization_endpoint: server.deviceAuthorizationEndpoint,
    },
    registration.clientId,
    // The library reads this machine's clock. The skew, in seconds, turns that into the time of the server, which dates
    // ID tokens and checks our assertions.
    {
      [clockSkew]: Math.floor((serverTime(http, server) - Date.now()) / 1000),
      [clockTolerance]: idTokenTolerance,
    },
    clientAuthentication(client),
  );
  // Only the library's own check is off: `requireSecureUrl` checks every URL, and accepts http for loopback hosts only.
  if (http.allowInsecureLoopback) allowInsecureRequests(config);
  config[customFetch] = sendThroughOurHttp(client, http, exchange);
  // The library's own time-out is off: `deadline` limits each request.
  config.timeout = 0;
  return config;
}

function sendThroughOurHttp(
  client: OAuthClient,
  http: Http,
  { what, processReply, dpopKey }: Exchange,
): CustomFetch {
  return async (url, { body, headers }) => {
    const request = { headers, body: body instanceof URLSearchParams ? body : new URLSearchParams() };
    const sent = async (form: SecretForm | undefined): Promise<HttpReply> => {
      const content = form ? form.add(request) : request;
      // Made again for each form of the secret: RFC 9449 §11.1, a server refuses a proof that comes twice.
      const filled = dpopKey ? withProof(content, url, dpopKey, serverTime(http, client.server)) : content;
      const signal = deadline(http, requestTimeout);
      const sending = { ...filled, body: filled.body.toString(), signal };
      const outgoing = { ...sending, url, what, method: 'POST' } as const;
      const reply = await send(http, outgoing, 'authorization_server_unreachable');
      dpopKey?.noteIssuerNonce(reply.headers);
      return { ...reply, secretsSent: secretsOf(filled, client.clientSecret) };
    };
    const first = firstForm(client, http);
    const reply = await sent(first);
    for (const form of first ? formsAfter(client, first, reply) : []) {
      const next = await sent(form);
      if (!isAboutRequest(next)) continue;
      if (isSuccess(next.status)) rememberForm(client, form, http);
      return processReply(next);
    }
    return processReply(reply);
  };
}

/** `time`: milliseconds since 1970, by the server's clock. */
function withProof(
  { headers, body }: RequestContent,
  url: string,
  key: DpopKey,
  time: number,
): RequestContent {
  const dpop = key.proof({ method: 'POST', url: new URL(url), nonce: key.issuerNonce, time });
  return { headers: { ...headers, dpop }, body };
}

/** The library wraps our own refusals. Of its own errors only the code is used: their causes contain whole responses. */
export function libraryRefusal(error: unknown, server: Pick<TokenServer, 'issuer'>): KeyturnError {
  if (error instanceof KeyturnError) return error;
  if (error instanceof Error && error.cause instanceof KeyturnError) return error.cause;
  const claim = failedClaim.safeParse(error).data?.cause.cause.claim;
  if (claim !== undefined) return wrongClaim(server, claim);
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'an unknown failure';
  return new RuleRefusal(
    'token_invalid',
    `The answer of ${quoted(server.issuer)} breaks a rule: ${quoted(code)}.`,
    {
      rule: 'OpenID Connect Core §3.1.3.7 (ID token validation)',
      hint: 'The authorization server is set up wrongly. Tell its operator.',
    },
  );
}

/** By claim: the reason for which the library refused an ID token. */
const claimFaults = {
  iss: 'it names another issuer',
  aud: 'it is for another client',
  azp: 'it is for another client',
  nonce: 'it belongs to another sign-in',
  exp: 'it is over',
  iat: 'it was issued at another time',
  nbf: 'it is not valid yet',
  auth_time: 'its sign-in is too long ago',
} as const;

const timeClaims: readonly string[] = ['exp', 'iat', 'nbf', 'auth_time'];

/** The structure of the library's error. Only the name of the claim is read: the causes also contain the response. */
const failedClaim = z.object({
  cause: z.object({
    cause: z.object({ claim: z.enum(['iss', 'aud', 'azp', 'nonce', 'exp', 'iat', 'nbf', 'auth_time']) }),
  }),
});

function wrongClaim({ issuer }: Pick<TokenServer, 'issuer'>, claim: keyof typeof claimFaults): RuleRefusal {
  return new RuleRefusal(
    'token_invalid',
    `The ID token of ${quoted(issuer)} is refused: ${claimFaults[claim]} (claim ${quoted(claim)}).`,
    {
      rule: 'OpenID Connect Core §3.1.3.7 (ID token validation)',
      hint: timeClaims.includes(claim)
        ? 'Check the clock of this machine. If it is right, tell the operator of the authorization server.'
        : 'The authorization server is set up wrongly. Tell its operator. A sign-in without the scope "openid" has no ID token.',
    },
  );
}
