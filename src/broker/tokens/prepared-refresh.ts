/**
 * The request of one refresh, made of the sign-in's record and its item in the vault.
 *
 * Invariant: no token is sent, and nothing is changed.
 */
import { offlineAccess, withoutOfflineAccess } from '../../oauth/base/scope.ts';
import type { RefreshRequest } from '../../oauth/grants/token.ts';
import type { SignInSecret, SignInSecrets } from './sign-in-secret.ts';
import { isCompanySignIn, providerExceptions } from '../records/company.ts';
import { namesOfServers, type SignIn } from '../records/sign-in.ts';
import type { ExceptionRecords } from '../records/exception.ts';
import type { RegistrationRecord, Registrations } from '../records/registrations.ts';
import type { AuthorizationServers } from './authorization-servers.ts';
import { signInRequired } from './failed-refresh.ts';
import type { TokenCache } from './token-cache.ts';

export interface PreparedRefreshParts {
  readonly secrets: SignInSecrets;
  readonly exceptions: ExceptionRecords;
  readonly registrations: Registrations;
  readonly servers: AuthorizationServers;
  readonly cache: TokenCache;
}

export interface PreparedRefresh extends Omit<RefreshRequest, 'onRotation'> {
  readonly registrationRecord: RegistrationRecord;
  readonly secret: SignInSecret;
}

/** `scope` undefined: all scopes of the sign-in. Throws `login_required` if something is gone, and as the vault. */
export async function prepareRefresh(
  { secrets, exceptions, registrations, servers, cache }: PreparedRefreshParts,
  signIn: SignIn,
  scope: readonly string[] | undefined,
): Promise<PreparedRefresh> {
  const secret = await secrets.read(signIn);
  const { refreshToken } = secret;
  if (refreshToken === undefined) throw signInRequired(signIn, 'it has no refresh token');
  const registrationRecord = registrations.byId(signIn.registrationId);
  if (!registrationRecord) throw signInRequired(signIn, 'its registration is gone');
  const clientSecret = await registrations.secret(registrationRecord);
  return {
    registrationRecord,
    secret,
    server: await servers.of(signIn),
    registration: registrationRecord.registration,
    clientSecret,
    refreshToken,
    // RFC 8707 §2.2: the same resource as in the authorization request, byte for byte.
    resource: signIn.resource,
    grantedScope: secret.scope,
    wholeScope: wholeScope(signIn),
    exceptions: {
      ...exceptions.for(...namesOfServers(signIn)),
      ...(isCompanySignIn(registrations, signIn) ? providerExceptions : {}),
    },
    dpopKey: secret.dpopKey && cache.dpopKey(signIn.id, secret.dpopKey),
    scope,
  };
}

/** As they were asked for: a server may write them in another form in its answer, even all of them. */
function wholeScope({ scope, requestedScope }: SignIn): readonly string[] {
  const granted = requestedScope.filter((one) => one === offlineAccess || scope.includes(one));
  if (withoutOfflineAccess(granted).length > 0) return granted;
  return requestedScope.length > 0 ? requestedScope : scope;
}
