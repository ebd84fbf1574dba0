/**
 * Keyturn as a client of one authorization server, in the OAuth library's terms.
 *
 * Invariant: every authenticated request is built by the library, sent by `send` (bounded, no
 * redirects, secure URLs only), and judged by the caller's `processReply` before the library sees an
 * answer. The reply that is judged names the secrets that were sent, so that no message repeats them. The library is stricter with answers than real servers are (it refuses `"scope": null`,
 * an error as a form, a 401 with a challenge), so it gets a clean one or none.
 */
import { allowInsecureRequests, clockSkew, clockTolerance, Configuration, customFetch } from 'openid-client';
import type { CustomFetch } from 'openid-client';
import { z } from 'zod';

import { KeyturnError, quoted, RuleRefusal } from '../../base/errors.ts';
import type { TokenServer } from '../discovery/authorization-server.ts';
import { clientAuthentication } from './client-authentication.ts';
import type { OAuthClient } from './client-authentication.ts';
import { deadline, isTransient, send } from '../base/http.ts';
import type { Http, HttpReply } from '../base/http.ts';
import { requireRegistrationIssuer } from './registration.ts';
import { isAboutRequest, isClientUnrecognised, rememberForm, secretForms, secretsOf } from './secret-form.ts';
import type { SecretForm } from './secret-form.ts';
import { serverTime } from '../base/server-clock.ts';

export type { OAuthClient } from './client-authentication.ts';

/**
 * 30 s. Longer than for metadata: a refresh that we give up may have rotated the token at the server
 * already, so patience is cheaper than the new sign-in.
 */
const requestTimeout = 30_000;

/**
 * 65 minutes, in seconds: a clock an hour off (a wrong time zone, summer time) is the common mistake.
 * An ID token comes straight from the token endpoint and bound to this request, so its age decides little.
 */
const idTokenTolerance = 65 * 60;

/**
 * `what` names the endpoint; `processReply` throws, or returns what the library shall see. Throws
 * issuer_mismatch, and client_rejected where a secret or key is missing or doesn't fit.
 */
export function clientConfiguration(
  client: OAuthClient,
  http: Http,
  what: string,
  processReply: (reply: HttpReply) => Response,
): Configuration {
  const config = bareConfiguration(client, http);
  config[customFetch] = sendThroughOurHttp(client, http, what, processReply);
  // The library's own time-out is off: `deadline` bounds the whole exchange.
  config.timeout = 0;
  return config;
}

function bareConfiguration(client: OAuthClient, http: Http): Configuration {
  const { server, registration } = client;
  requireRegistrationIssuer(registration, server);
  const config = new Configuration(
    // The checked values last, over the document as it came.
    {
      ...server.metadata,
      issuer: server.issuer,
      token_endpoint: server.tokenEndpoint,
      ...(server.revocationEndpoint === undefined ? {} : { revocation_endpoint: server.revocationEndpoint }),
      ...(server.deviceAuthorizationEndpoint === undefined
        ? {}
        : { device_authorization_endpoint: server.deviceAuthorizationEndpoint }),
    },
    registration.clientId,
    // The library reads the machine's clock; this makes it the server's (seconds), which dates ID tokens
    // and judges our assertions.
    {
      [clockSkew]: Math.floor((serverTime(http, server) - Date.now()) / 1000),
      [clockTolerance]: idTokenTolerance,
    },
    clientAuthentication(client),
  );
  // Only lifts the library's check; `requireSecureUrl` has seen every URL and admits loopback hosts alone.
  if (http.allowInsecureLoopback) allowInsecureRequests(config);
  return config;
}

function sendThroughOurHttp(
  client: OAuthClient,
  http: Http,
  what: string,
  processReply: (reply: HttpReply) => Response,
): CustomFetch {
  const [usual, other] = secretForms(client, http);
  return async (url, { body, headers }) => {
    const request = { headers, body: body instanceof URLSearchParams ? body : new URLSearchParams() };
    const sent = async (form: SecretForm | undefined): Promise<HttpReply> => {
      const filled = form ? form.add(request) : request;
      const signal = deadline(http, requestTimeout);
      const outgoing = {
        url,
        what,
        method: 'POST',
        headers: filled.headers,
        body: filled.body.toString(),
        signal,
      } as const;
      const reply = await send(http, outgoing, 'authorization_server_unreachable');
      return { ...reply, secretsSent: secretsOf(filled, client.clientSecret) };
    };
    const reply = await sent(usual);
    if (!other || !isClientUnrecognised(reply)) return processReply(reply);
    const second = await sent(other);
    if (!isAboutRequest(second)) return processReply(reply);
    if (!isTransient(second.status)) rememberForm(client, other, http);
    return processReply(second);
  };
}

/**
 * What the library threw, as an error of ours. Our own refusals come back wrapped by it; of its own
 * only the code is kept, since its causes hold whole answers.
 */
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
      hint: 'The authorization server is set up wrongly. Tell whoever runs it.',
    },
  );
}

/** What is wrong with an ID token whose claim the library refused. */
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

/** As the library nests it. Of its causes only the name of the claim is read: the rest holds the answer. */
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
        ? 'Check the clock of this machine. If it is right, tell whoever runs the authorization server.'
        : 'The authorization server is set up wrongly. Tell whoever runs it. A sign-in without the scope "openid" has no ID token.',
    },
  );
}
