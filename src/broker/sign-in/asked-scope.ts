/**
 * The scopes that a sign-in's request names at last.
 *
 * Invariant: what Keyturn adds automatically (`offline_access`), Keyturn takes back where the server refuses it for this
 * client. A scope that the user or an app named is never taken back.
 */
import { OfflineRefused, ScopeRefused } from '../../oauth/grants/authorization-failure.ts';
import { includesOfflineAccess, offlineAccess, withoutOfflineAccess } from '../../oauth/base/scope.ts';
import type { RegistrationRecord } from '../records/registrations.ts';
import { reasonOf } from '../../base/errors.ts';
import type { SignInContext } from './sign-in-context.ts';

export function askedScope(
  { request, scope, isWithoutOffline }: Pick<SignInContext, 'request' | 'scope' | 'isWithoutOffline'>,
  record: RegistrationRecord,
): readonly string[] | undefined {
  const askable = askableScope(record, scope, request.scope);
  return isWithoutOffline && askable ? withoutOfflineAccess(askable) : askable;
}

/**
 * What this client may ask for (RFC 7591 §3.2.1). Scopes that the user named are asked for all the same, and so are all
 * if none is left: then the server's own words say why not.
 */
function askableScope(
  { registration: { refusedScope = [] } }: RegistrationRecord,
  scope: readonly string[] | undefined,
  named: readonly string[] = [],
): readonly string[] | undefined {
  const isAskable = (one: string): boolean => named.includes(one) || !refusedScope.includes(one);
  const askable = scope?.filter(isAskable) ?? [];
  if (withoutOfflineAccess(askable).length > 0) return askable;
  // It is Keyturn's own addition, so it goes first.
  return scope?.filter((one) => one !== offlineAccess || isAskable(one));
}

/** Another sign-in may fare better with fewer scopes: the server refused them, or they are too long to show. */
export const mayBeAboutScope = (error: unknown): boolean =>
  error instanceof ScopeRefused || ['scope_insufficient', 'invalid_request'].includes(reasonOf(error));

/** The next try after this refusal; undefined if it says nothing about a scope that Keyturn added. */
export function withLessOffline(context: SignInContext, error: unknown): SignInContext | undefined {
  const { request, scope, options, isWithoutOffline } = context;
  if (isWithoutOffline || !includesOfflineAccess(scope) || includesOfflineAccess(request.scope))
    return undefined;
  const isByDevice = request.method === 'device' && reasonOf(error) === 'scope_insufficient';
  if (!(error instanceof OfflineRefused) && !isByDevice) return undefined;
  if (error instanceof OfflineRefused && error.wantsConsent)
    return { ...context, options: { ...options, prompts: ['consent'] } };
  return { ...context, isWithoutOffline: true };
}
