/**
 * The ID token of the user's own sign-in at the company's identity provider.
 *
 * Invariant: it is in memory only. One that is about to expire is never used: the provider is asked for another one by
 * the sign-in's refresh token, and decides each time.
 */
import type { BrokerParts } from '../../parts.ts';
import { z } from 'zod';
import { KeyturnError, shellWord } from '../../../base/errors.ts';
import { jwtPart } from '../../../oauth/base/json-object.ts';
import { companySignIn, isSignedInAt, providerOf } from '../../records/company.ts';
import type { CompanyRecords } from '../../records/company.ts';
import type { SignIn } from '../../records/sign-in.ts';
import type { Refresher } from '../../tokens/refresher.ts';
import { fullScope } from '../../tokens/token-cache.ts';

/** The provider has no sign-in of the user, or it is over. */
export class CompanySignInNeeded extends KeyturnError {
  readonly provider: string;

  constructor(provider: string) {
    super('login_required', `You aren't signed in at the company's identity provider ${provider}.`, {
      rule: 'The company’s provider decides about each of its servers (ID-JAG)',
      hint: `Sign in there once, for all of its servers: keyturn login ${shellWord(provider)}`,
    });
    this.provider = provider;
  }
}

/** Seconds: time for the exchange. */
const margin = 30;

/** `now`: milliseconds since 1970, by the provider's clock. Throws `login_required`, `token_invalid`, and as a refresh. */
export async function companyIdToken(
  { signIns, refresher, cache }: BrokerParts,
  provider: string,
  { now, signal }: { readonly now: number; readonly signal: AbortSignal },
): Promise<string> {
  const signIn = companySignIn(signIns, provider);
  if (signIn?.state.kind !== 'active') throw new CompanySignInNeeded(provider);
  const kept = cache.get(signIn.id, fullScope)?.idToken;
  if (kept !== undefined && isFresh(kept, now)) return kept;
  const { idToken } = await renewed(refresher, signIn, signal);
  if (idToken !== undefined && isFresh(idToken, now)) return idToken;
  throw new KeyturnError('token_invalid', `${provider} gives no ID token with a refresh.`, {
    rule: 'OpenID Connect Core §12.2: a refresh may bring an ID token',
    hint: `Sign in again: keyturn login ${shellWord(provider)}`,
  });
}

async function renewed(
  refresher: Pick<Refresher, 'refresh'>,
  signIn: SignIn,
  signal: AbortSignal,
): Promise<{ readonly idToken?: string }> {
  if (!signIn.hasRefreshToken) throw new CompanySignInNeeded(signIn.issuer);
  try {
    return await refresher.refresh(signIn.id, undefined, signal);
  } catch (error) {
    if (error instanceof KeyturnError && error.reason === 'login_required')
      throw new CompanySignInNeeded(signIn.issuer);
    throw error;
  }
}

const claimsSchema = z.object({ exp: z.number() });

/** Its signature and its other claims were checked when it came. */
function isFresh(idToken: string, now: number): boolean {
  const claims = claimsSchema.safeParse(jwtPart(idToken.split('.')[1]));
  return claims.success && (claims.data.exp - margin) * 1000 > now;
}

/** Tokens in memory end with the company's sign-in. Runs after each change of a sign-in. */
export function dropWithoutCompany({
  registrations,
  signIns,
  cache,
}: CompanyRecords & Pick<BrokerParts, 'cache'>): void {
  const providers = new Map(
    registrations.readable().flatMap((record) => {
      const provider = providerOf(record);
      return provider === undefined ? [] : [[record.id, provider] as const];
    }),
  );
  // Most homes have none. Then a change costs nothing here, however many sign-ins there are.
  if (providers.size === 0) return;
  for (const { id, registrationId } of signIns.shown()) {
    const provider = providers.get(registrationId);
    if (provider !== undefined && !isSignedInAt(signIns, provider)) cache.dropSignIn(id);
  }
}
