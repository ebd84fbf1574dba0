/**
 * The claims of an identity assertion (ID-JAG), before it is redeemed.
 *
 * Invariant: an assertion is redeemed only if the identity provider that was asked issued it, for this authorization
 * server, this client and this resource. The signature is for the authorization server to check. No message repeats the
 * assertion.
 */
import { z } from 'zod';

import { quoted } from '../../base/errors.ts';
import type { KeyturnError } from '../../base/errors.ts';
import { jwtPart } from '../base/json-object.ts';
import { unusable } from './token-response.ts';
import type { Subject } from './token-response.ts';

export interface ExpectedIdentity {
  /** The identity provider that was asked. */
  readonly provider: string;
  /** The issuer of the authorization server that redeems it. */
  readonly audience: string;
  /** Our client there. */
  readonly clientId: string;
  readonly resource: string;
  /** Milliseconds since 1970, by the clock of the identity provider. */
  readonly now: number;
}

/** The header's `typ`, and the claims that such an assertion must have. `exp`: seconds since 1970. */
const headerSchema = z.object({ typ: z.string() });
const claimsSchema = z.object({
  iss: z.string(),
  sub: z.string().min(1).max(255),
  aud: z.union([z.string(), z.tuple([z.string()])]),
  client_id: z.string(),
  resource: z.union([z.string(), z.array(z.string()).min(1)]),
  exp: z.number(),
});

/** The tenant: the identity provider and the user that it names. Throws `token_invalid`. */
export function identityOf(assertion: string, expected: ExpectedIdentity): Subject {
  const [header = '', payload = '', signature = '', ...rest] = assertion.split('.');
  const refuse = (problem: string): KeyturnError =>
    unusable({ issuer: expected.provider }, problem, 'Identity Assertion Authorization Grant §3 (ID-JAG)');
  const isSigned = signature !== '' && rest.length === 0;
  const typ = headerSchema.safeParse(jwtPart(header)).data?.typ;
  // RFC 8725 §3.11: no JWT of another kind passes for it.
  if (!isSigned || typ?.toLowerCase() !== 'oauth-id-jag+jwt') throw refuse('it is no signed ID-JAG');
  const claims = claimsSchema.safeParse(jwtPart(payload)).data;
  if (!claims)
    throw refuse('it lacks one of iss, sub, aud, client_id, resource and exp, or names several servers');
  if (claims.iss !== expected.provider) throw refuse('its issuer is another identity provider');
  if ([claims.aud].flat()[0] !== expected.audience)
    throw refuse(`its audience is not ${quoted(expected.audience)}`);
  if (claims.client_id !== expected.clientId) throw refuse('it is for another client');
  if ([claims.resource].flat().some((one) => one !== expected.resource))
    throw refuse(`its resource is not ${quoted(expected.resource)}`);
  if (claims.exp * 1000 <= expected.now) throw refuse('it has expired');
  return { issuer: claims.iss, subject: claims.sub };
}
