/**
 * Revokes the remaining tokens of a sign-in at their authorization servers.
 *
 * Invariant: a token goes only to its own issuer, under the registration that it was issued to. If a server can't be
 * reached, it gets one request, not one for each token; the tokens not revoked there are returned as `left`.
 */
import type { BrokerParts } from '../parts.ts';
import { Unreachable } from '../../base/errors.ts';
import type { AuthorizationServer } from '../../oauth/discovery/authorization-server.ts';
import { revokeToken } from '../../oauth/grants/revocation.ts';
import type { RevocationResult } from '../../oauth/grants/revocation.ts';
import type { SignIn } from '../records/sign-in.ts';
import type { TokenToRevoke } from './tokens-to-revoke.ts';

export interface AnsweredToken {
  readonly token: TokenToRevoke;
  readonly revocation: RevocationResult;
}

export interface ServerRevocation {
  readonly answered: readonly AnsweredToken[];
  readonly left: readonly TokenToRevoke[];
  /** Why tokens are left. */
  readonly failure?: unknown;
}

/** Never throws: the result carries the failure. */
export async function revokeAtServer(
  parts: BrokerParts,
  signIn: SignIn,
  tokens: readonly TokenToRevoke[],
): Promise<ServerRevocation> {
  if (tokens.length === 0) return { answered: [], left: [] };
  let server: AuthorizationServer;
  try {
    await parts.document.verify();
    server = await parts.servers.of(signIn);
  } catch (failure) {
    return { answered: [], left: tokens, failure };
  }
  const answered: AnsweredToken[] = [];
  const left: TokenToRevoke[] = [];
  let failure: unknown;
  for (const token of tokens) {
    if (failure instanceof Unreachable) left.push(token);
    else {
      try {
        answered.push({ token, revocation: await revokeOne(parts, server, signIn, token) });
      } catch (error) {
        left.push(token);
        failure = error;
      }
    }
  }
  return { answered, left, failure };
}

async function revokeOne(
  { registrations, network }: BrokerParts,
  server: AuthorizationServer,
  signIn: SignIn,
  { value, hint, registrationId }: TokenToRevoke,
): Promise<RevocationResult> {
  const record = registrations.byId(registrationId);
  // RFC 7009 §2.1: only the client that a token was issued to may revoke it, and that client is gone.
  if (!record || server.revocationEndpoint === undefined) return 'not_offered';
  const clientSecret = await registrations.secret(record);
  const client = { server, registration: record.registration, clientSecret };
  const http = network(signIn.endpoints[0] ?? signIn.resource);
  return revokeToken({ ...client, token: value, hint }, http);
}
