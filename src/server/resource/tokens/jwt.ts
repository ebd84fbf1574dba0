/**
 * Signed access tokens (RFC 9068, and what other issuers send): the checks of one token, in order.
 *
 * Invariant: the algorithm comes from a list of asymmetric ones, the key from the key set of the issuer that the token
 * names, and that issuer from the configuration. `jku`, `jwk`, `x5u` and `x5c` of a token are never read. Fetches for
 * issuers that only a function knows are bounded (trusted-issuers.ts).
 */
import { compactVerify, decodeProtectedHeader, errors } from 'jose';
import type { CryptoKey, ProtectedHeaderParameters } from 'jose';
import { z } from 'zod';
import { readOptions } from '../base/option.ts';
import { Refusal } from '../base/refusal.ts';
import { remembering } from './checked-tokens.ts';
import {
  audience,
  checkAudience,
  checkTimes,
  confirmation,
  instant,
  statedClaims,
  thumbprintOf,
} from './claims.ts';
import type { Claims, IssuersOption, TokenShape } from './issuer-tokens.ts';
import { TrustedIssuers, issuersOption } from './trusted-issuers.ts';
import { frozen } from './token.ts';
import type { TokenCheck, TokenContext, TokenKind, VerifiedToken } from './token.ts';

/** RFC 8725 §3.1: asymmetric signatures only. With a shared secret, each who can check could also issue. */
export const asymmetricAlgorithms = [
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
  'PS256',
  'PS384',
  'PS512',
  'RS256',
  'RS384',
  'RS512',
] as const;

export type AsymmetricAlgorithm = (typeof asymmetricAlgorithms)[number];

export interface JwtOptions {
  /** Algorithms of signatures; all asymmetric ones unless given. */
  readonly algorithms?: readonly AsymmetricAlgorithm[];
  /** How far the clocks of the issuer and this server may differ; 5 unless given, 60 at most. */
  readonly clockToleranceSeconds?: number;
  /**
   * How long a token that passed is not checked again, and so how long a withdrawn key may still count; 60 unless
   * given, 0: each is checked every time. Never longer than the token's own `exp`.
   */
  readonly cacheSeconds?: number;
  /** How long the last good keys serve while the issuer can't be reached; an hour unless given. */
  readonly keyOutageSeconds?: number;
  /**
   * What the tokens of an issuer look like, where they differ from RFC 9068. An issuer that is named here is trusted
   * beside `authorizationServers`, which the metadata lists; so is each for which a function has an answer.
   */
  readonly issuers?: IssuersOption;
}

const day = 86_400;

const schema = z.strictObject({
  algorithms: z
    .array(z.enum(asymmetricAlgorithms))
    .nonempty()
    .default([...asymmetricAlgorithms]),
  clockToleranceSeconds: z.number().min(0).max(60).default(5),
  cacheSeconds: z.number().min(0).max(300).default(60),
  keyOutageSeconds: z.number().min(0).max(day).default(3600),
  issuers: issuersOption.default({}),
});

type Settings = z.output<typeof schema>;

/** Signed tokens of the configured authorization servers, by their key sets. Throws invalid_request for a wrong option. */
export function jwt(options: JwtOptions = {}): TokenKind {
  const settings = readOptions(schema, options, 'jwt');
  return { open: (context) => signedTokens(settings, context) };
}

/** RFC 9068 §2.2 requires more, such as `jti` and `iat`; most issuers leave some of them out. */
const claimsSchema = z.looseObject({
  iss: z.string(),
  sub: z.string().min(1),
  aud: audience.optional(),
  exp: instant,
  iat: instant.optional(),
  nbf: instant.optional(),
  cnf: confirmation.optional(),
});

function signedTokens(settings: Settings, context: TokenContext): TokenCheck {
  const { resource, http } = context;
  const issuers = new TrustedIssuers(settings, context);

  async function verify(token: string): Promise<VerifiedToken> {
    const header = readHeader(token, settings.algorithms);
    const payload = statedClaims(token);
    if (payload === undefined) throw new Refusal('token_unreadable');
    // Which key set to look in; the signature then proves that the issuer wrote this.
    const trusted = issuers.get(typeof payload.iss === 'string' ? payload.iss : '');
    const { keySet, shape } = trusted;
    await keySet.prove(header, async (key) => isSignedBy(key, token, settings.algorithms));
    issuers.keep(trusted);
    const parsed = claimsSchema.safeParse(payload);
    if (!parsed.success) throw new Refusal('token_claims');
    const claims = parsed.data;
    checkAudience(audienceIn(payload, shape), resource, shape.audiences);
    // RFC 9068 §4: an ID token, or an assertion, must not be taken for an access token.
    if (!isAccessTokenType(header.typ) && !shape.isAccessToken(payload))
      throw new Refusal('token_wrong_type');
    checkTimes(claims, http.wall() / 1000, settings.clockToleranceSeconds);
    const clientId = shape.clientOf(payload);
    return frozen({
      issuer: claims.iss,
      subject: claims.sub,
      clientId,
      scopes: shape.scopesOf(payload),
      expiresAt: claims.exp,
      ...thumbprintOf(claims.cnf),
      claims: payload,
    });
  }

  return { check: remembering(settings.cacheSeconds, () => http.wall(), verify) };
}

/** A token that names nobody was not issued for this server. */
function audienceIn(payload: Claims, { audienceClaim }: TokenShape): string | string[] {
  const stated = audience.safeParse(payload['aud'] ?? (audienceClaim && payload[audienceClaim]));
  return stated.success ? stated.data : [];
}

function readHeader(
  token: string,
  algorithms: readonly string[],
): ProtectedHeaderParameters & { alg: string } {
  let header: ProtectedHeaderParameters;
  try {
    header = decodeProtectedHeader(token);
  } catch {
    throw new Refusal('token_unreadable');
  }
  const { alg, typ, crit } = header;
  // RFC 9068 §4: the algorithm "none" MUST be refused; so is all that is not on the list (RFC 8725 §3.1).
  if (alg === undefined || !algorithms.includes(alg)) throw new Refusal('token_wrong_algorithm');
  if (!isAccessTokenType(typ) && !isPlainType(typ)) throw new Refusal('token_wrong_type');
  // RFC 7515 §4.1.11: an extension that is not understood makes the token invalid. None is understood here.
  if (crit !== undefined) throw new Refusal('token_critical_header');
  return { ...header, alg };
}

/** RFC 9068 §4, RFC 7515 §4.1.9: with or without `application/`; media types are not case-sensitive. */
function isAccessTokenType(typ: unknown): boolean {
  return typeof typ === 'string' && /^(?:application\/)?at\+jwt$/i.test(typ);
}

/** Of issuers that don't say what a token is. Any other type is that of another kind of token (RFC 8725 §3.11). */
function isPlainType(typ: unknown): boolean {
  return typ === undefined || (typeof typ === 'string' && /^(?:application\/)?jwt$/i.test(typ));
}

async function isSignedBy(key: CryptoKey, token: string, algorithms: readonly string[]): Promise<boolean> {
  try {
    await compactVerify(token, key, { algorithms: [...algorithms] });
    return true;
  } catch (error) {
    if (error instanceof errors.JOSEAlgNotAllowed) throw new Refusal('token_wrong_algorithm');
    if (error instanceof errors.JOSEError || error instanceof TypeError) return false;
    throw error;
  }
}
