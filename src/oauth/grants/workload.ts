/**
 * Workload identity (RFC 7523 §2.1): an assertion that the platform of this machine issued becomes an access token.
 *
 * Invariant: an assertion is sent only if it names this authorization server, names no other one, and is valid now. No
 * message repeats any of it.
 */
import { z } from 'zod';
import { KeyturnError, moment, quoted } from '../../base/errors.ts';
import type { TokenServer } from '../discovery/authorization-server.ts';
import type { Http } from '../base/http.ts';
import { jwtPart } from '../base/json-object.ts';
import { oauthError, shownError } from '../base/oauth-error.ts';
import { serverTime } from '../base/server-clock.ts';
import type { GrantRequest, TokenResponse } from './token-response.ts';
import { grantFailure } from './token-failure.ts';
import { requestAccessToken } from './token-request.ts';

export interface WorkloadRequest extends GrantRequest {
  /** A JWT that names this machine's workload. A secret. */
  readonly assertion: string;
}

const renewal =
  'Check that the authorization server trusts the issuer of this assertion, and knows its subject.';

/** Throws `assertion_invalid` for one that isn't for this server, valid now and accepted; else as client credentials. */
export async function redeemWorkloadAssertion(request: WorkloadRequest, http: Http): Promise<TokenResponse> {
  const { server, assertion, scope = [] } = request;
  requireValid(assertion, server, serverTime(http, server));
  const failure = grantFailure(renewal, scope.length > 0, 'jwt-bearer');
  return requestAccessToken(request, http, {
    grantType: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
    parameters: { assertion },
    failure: (failed, reply, via) => {
      const error = oauthError(reply);
      // RFC 7523 §3.1: the error for an assertion that isn't valid.
      if (error?.code !== 'invalid_grant') return failure(failed, reply, via);
      return invalidAssertion(`${quoted(server.issuer)} refused it: ${shownError(error)}`, renewal);
    },
  });
}

/** RFC 7523 §3: the claims that every assertion must have. Times are seconds since 1970. */
const claimsSchema = z.object({
  iss: z.string().min(1),
  sub: z.string().min(1),
  aud: z.union([z.string(), z.array(z.string()).min(1)]),
  exp: z.number(),
  nbf: z.number().optional(),
});

/** Milliseconds. The clocks of two machines of one platform differ by less. */
const notBeforeLeeway = 30_000;

/** `now`: milliseconds since 1970, by the server's clock. */
function requireValid(assertion: string, server: TokenServer, now: number): void {
  const claims = claimsOf(assertion);
  const audiences = [claims.aud].flat();
  // RFC 7523 §3 (aud). Both values identify the server; one that got an assertion for others too could use it there.
  if (!audiences.every((audience) => audience === server.issuer || audience === server.tokenEndpoint)) {
    throw invalidAssertion(
      `its audience is not ${quoted(server.issuer)} and nothing else`,
      `Have the platform issue one whose only audience is ${quoted(server.issuer)}.`,
    );
  }
  if (claims.exp * 1000 <= now) {
    throw invalidAssertion(
      `it expired at ${moment(claims.exp * 1000)}`,
      'Check that the platform still renews it. Keyturn reads it again at each use.',
    );
  }
  if (claims.nbf !== undefined && claims.nbf * 1000 > now + notBeforeLeeway) {
    throw invalidAssertion(
      `it is not valid before ${moment(claims.nbf * 1000)}`,
      'Check the clocks of this machine and of the platform.',
    );
  }
}

/** A signature that is empty (`alg: none`) makes no assertion: RFC 7523 §3, item 9. */
function claimsOf(assertion: string): z.infer<typeof claimsSchema> {
  const [, payload] = /^[\w-]+\.([\w-]+)\.[\w-]+$/.exec(assertion) ?? [];
  const parsed = claimsSchema.safeParse(jwtPart(payload));
  if (parsed.success) return parsed.data;
  throw invalidAssertion(
    'it is no signed JWT with iss, sub, aud and exp',
    'The source that --assertion names must hold one JWT and nothing else.',
  );
}

function invalidAssertion(problem: string, hint: string): KeyturnError {
  return new KeyturnError('assertion_invalid', `The assertion of this workload can't be used: ${problem}.`, {
    rule: 'RFC 7523 §3',
    hint,
  });
}
