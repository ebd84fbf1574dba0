/**
 * Our OAuth clients at issuers, as schemas of the wire: what the user enters, and what is listed.
 *
 * Invariant: secrets go in and never out: `registered` has no field for one.
 */
import * as z from 'zod';
import { instant, url } from './values.ts';
import { maxLength } from '../../wire/limits.ts';

export const authMethod = z.literal(['none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt']);

export const registrationGrantType = z.literal([
  'authorization_code',
  'client_credentials',
  'id-jag',
  'jwt-bearer',
]);

/** Where a workload's assertion comes from. The user reads it on a card, so it is one line. */
export const assertionSource = z
  .string()
  .max(4096)
  .regex(/^(file|command|env):[^\s\p{C}][^\p{C}]*$/u);

export const clientIdentifier = z.string().min(1).max(maxLength.url);

/** What the user enters. */
export const registration = z.object({
  issuer: url,
  clientId: clientIdentifier,
  clientSecret: z.string().min(1).max(maxLength.scope).optional(),
  /** For private_key_jwt: PEM or JWK. */
  privateKey: z.string().min(1).max(maxLength.token).optional(),
  alg: z.literal(['ES256', 'RS256', 'PS256', 'EdDSA']).optional(),
  /** Absent: what the client secret or private key calls for. */
  authMethod: authMethod.optional(),
  redirectUri: url.optional(),
  grantType: registrationGrantType.optional(),
  /** For id-jag: the company's identity provider. Without a file the user signs in there. */
  idp: z
    .union([
      z.strictObject({ issuer: url }),
      z.strictObject({ issuer: url, clientId: clientIdentifier, idTokenFile: z.string().min(1).max(4096) }),
    ])
    .optional(),
  /** For jwt-bearer. */
  assertion: assertionSource.optional(),
});

/** One of our OAuth clients at an issuer; what it proves itself with is in no answer. */
export const registered = z.object({
  issuer: url,
  clientId: clientIdentifier,
  source: z.literal(['preregistered', 'metadata_document', 'dynamic']),
  authMethod,
  /** Absent: for sign-ins. */
  grantType: z.literal(['client_credentials', 'id-jag', 'jwt-bearer']).optional(),
  /** Absent for a client that needs no user. */
  redirectUri: url.optional(),
  /**
   * Absent: in use. `replaced`: new sign-ins use another one there. `rejected`: the issuer no longer takes it, and
   * sign-ins need it. `trial`: no sign-in with it has succeeded yet.
   */
  state: z.literal(['replaced', 'rejected', 'trial']).optional(),
  registeredAt: instant,
});
