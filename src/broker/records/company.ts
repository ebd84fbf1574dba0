/**
 * The company's identity provider as a place where the user signs in: the sign-in there is behind other sign-ins.
 *
 * Invariant: a sign-in is the company's sign-in only if the user entered the provider (`keyturn oauth-client add --idp`)
 * and the sign-in is for that provider itself. It is no MCP server: it gets no `resource`, and its access tokens are its
 * own.
 */
import type { Exceptions } from '../../oauth/base/exceptions.ts';
import { isLiving, type SignIn } from './sign-in.ts';
import type { SignIns } from './sign-ins.ts';
import type { RegistrationRecord, Registrations } from './registrations.ts';

/** RFC 8707 is about MCP servers. The provider's access token is used for nothing here; its ID token is. */
export const providerExceptions: Exceptions = { noResource: true, otherAudience: true, needsIdToken: true };

/** The provider at which the user signs in for this client; undefined if another program keeps the ID token. */
export function providerOf({ idp }: Pick<RegistrationRecord, 'idp'>): string | undefined {
  return idp && idp.idTokenFile === undefined ? idp.issuer : undefined;
}

/** The provider at this endpoint, as the user entered it. */
export function providerAt(
  registrations: Registrations,
  endpoint: string,
  canonical: (issuer: string) => string,
): string | undefined {
  const issuers = registrations.all().flatMap((record) => providerOf(record) ?? []);
  return issuers.find((issuer) => canonical(issuer) === endpoint);
}

export function isCompanySignIn(
  registrations: Pick<Registrations, 'all'>,
  { resource, issuer }: Pick<SignIn, 'resource' | 'issuer'>,
): boolean {
  return resource === issuer && registrations.all().some((record) => providerOf(record) === issuer);
}

/** The user's sign-in at this provider, if it is not over. */
export function companySignIn(signIns: SignIns, provider: string): SignIn | undefined {
  const living = signInsAt(signIns, provider).filter(isLiving);
  return living.find(({ state }) => state.kind === 'active') ?? living[0];
}

/** True if the user revoked the sign-in at this provider and has not signed in there since. */
export function wasCompanySignInRevoked(signIns: SignIns, provider: string): boolean {
  const there = signInsAt(signIns, provider);
  return there.length > 0 && !there.some(isLiving);
}

function signInsAt(signIns: SignIns, provider: string): SignIn[] {
  return signIns.all().filter(({ resource, issuer }) => issuer === provider && resource === provider);
}

export interface CompanyRecords {
  readonly registrations: Registrations;
  readonly signIns: SignIns;
}

/** True if a sign-in depends on the user's sign-in at the company's provider, and that one isn't active: both end together. */
export function lacksCompanySignIn(
  { registrations, signIns }: CompanyRecords,
  { registrationId }: Pick<SignIn, 'registrationId'>,
): boolean {
  const record = registrations.byId(registrationId);
  const provider = record && providerOf(record);
  return provider !== undefined && !isSignedInAt(signIns, provider);
}

export function isSignedInAt(signIns: SignIns, provider: string): boolean {
  return companySignIn(signIns, provider)?.state.kind === 'active';
}
