/**
 * Registrations of clients at authorization servers.
 *
 * Invariant: a registration is used only at the issuer that it was made for. A `Registration` contains no secret.
 */
import { z } from 'zod';
import { KeyturnError, quoted, RuleRefusal, shellWord } from '../../base/errors.ts';
import { maxUrlLength } from '../base/resource.ts';
import type { AuthorizationServer } from '../discovery/authorization-server.ts';

/** The methods that dynamic registration can result in. `private_key_jwt` would need a key of ours in advance. */
export const dynamicAuthMethods = ['none', 'client_secret_basic', 'client_secret_post'] as const;

/** The JWS algorithms for private_key_jwt. Most servers support ES256 and RS256; some newer ones require the others. */
const signingAlgs = ['ES256', 'RS256', 'PS256', 'EdDSA'] as const;

export type SigningAlg = (typeof signingAlgs)[number];

/** A registration, without its secrets: it is stored in a file. */
export const registrationSchema = z.object({
  issuer: z.string().min(1),
  clientId: z.string().min(1),
  source: z.enum(['preregistered', 'metadata_document', 'dynamic']),
  tokenEndpointAuthMethod: z.enum([...dynamicAuthMethods, 'private_key_jwt']),
  /** True if nobody stated the method: then the methods that the server offers decide. */
  isAuthMethodAssumed: z.boolean().optional(),
  /** For private_key_jwt; absent: the usual algorithm for the kind of key. */
  signingAlg: z.enum(signingAlgs).optional(),
  /** As registered. On a loopback host a sign-in may use another port, and nothing else may differ (RFC 8252 §7.3). */
  redirectUri: z.string().min(1),
  /** Milliseconds since 1970. */
  registeredAt: z.number().int().nonnegative(),
  /** Milliseconds since 1970; absent: never. */
  secretExpiresAt: z.number().int().nonnegative().optional(),
  /** As registered dynamically; absent for other clients. */
  grantTypes: z.array(z.string()).optional(),
  /** As registered: some servers refuse every other scope. Absent if no scope was registered. */
  scope: z.array(z.string()).optional(),
  /** Scopes that the server doesn't let this client ask for, as its answers showed (RFC 7591 §3.2.1). */
  refusedScope: z.array(z.string()).optional(),
});

export type Registration = Readonly<z.infer<typeof registrationSchema>>;

export interface RegistrationWithSecrets {
  readonly registration: Registration;
  readonly clientSecret?: string;
}

/** Credentials belong to one issuer and are never sent to another. */
export function requireRegistrationIssuer(
  registration: Pick<Registration, 'issuer' | 'clientId'>,
  server: Pick<AuthorizationServer, 'issuer'>,
): void {
  if (registration.issuer === server.issuer) return;
  throw new RuleRefusal(
    'issuer_mismatch',
    `The client ${quoted(registration.clientId)} is registered at ${quoted(registration.issuer)}, not at ${quoted(server.issuer)}.`,
    {
      rule: 'Client credentials are bound to the issuer that issued them',
      hint: `If the MCP server has really moved: keyturn oauth-client add ${shellWord(server.issuer)} --client-id ID`,
    },
  );
}

/**
 * RFC 8252 §7.3, with a port. MCP, Communication Security: a redirect URI is a localhost URL (or HTTPS, which no
 * loopback can serve). Narrower than `isLoopbackHost`: only addresses on which Keyturn itself listens.
 */
export function isLoopbackRedirect(redirectUri: string): boolean {
  const url = redirectUri.length > maxUrlLength ? null : URL.parse(redirectUri);
  if (url?.protocol !== 'http:' || !['127.0.0.1', 'localhost', '[::1]'].includes(url.hostname)) return false;
  return url.port !== '' && url.hash === '';
}

/** The server has no dynamic registration. */
export class RegistrationRequired extends KeyturnError {
  readonly issuer: string;

  constructor({ issuer }: Pick<AuthorizationServer, 'issuer'>, hint?: string) {
    super('registration_required', `${quoted(issuer)} registers no clients automatically.`, {
      rule: 'If a server registers no clients automatically, you enter one',
      hint:
        hint ??
        `Register a client there by hand, then: keyturn oauth-client add ${shellWord(issuer)} --client-id ID`,
    });
    this.issuer = issuer;
  }
}
