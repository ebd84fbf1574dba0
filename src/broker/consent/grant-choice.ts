/**
 * Which grant serves an app's request, and how far its permission lets the token of that grant reach: for which
 * resource, at which endpoint, with which scopes. A narrow app gets a narrow token because of `scopesToNarrowTo`.
 *
 * Invariants: a permission's grants are used in the order in which it names them. Where they are of several accounts,
 * the request names one, or the user has chosen one; nothing else decides. A grant that no permission names
 * needs the user's yes, even if the request names it. One exception: a permission that names none yet takes the only
 * living grant of its server. Where it finds several accounts there, the user chooses one of them for it, unless its
 * card showed no scopes: then the next card shows them. A grant that needs a sign-in gives way to one of the same account
 * that another permission of the program names. A grant that belongs to one program serves no other program, and serves
 * its own one instead of the shared grant of the same account that has more scopes than the permission. If an app
 * names an account, it gets no token of another one.
 */
import { KeyturnError, quoted, shellOption, shellWord } from '../../base/errors.ts';
import { isWithin, withoutOfflineAccess } from '../../oauth/base/scope.ts';
import { endpointsWithin, isFor, isLiving, isShared, subjectOf } from '../records/grant.ts';
import type { Grant } from '../records/grant.ts';
import type { Grants } from '../records/grants.ts';
import { isBound, namesGrant, refusesGrant } from '../records/permission.ts';
import type { Permission } from '../records/permission.ts';
import { otherResource, outsideGrant } from '../refusals/refusals.ts';

/** Who asks, and for what. */
export interface GrantRequest {
  readonly appId: string;
  readonly endpoint: string;
  /** Absent: the app named none. */
  readonly account?: string | undefined;
  /** The one that the user chose for this request. */
  readonly grantId?: string | undefined;
}

export type GrantChoice =
  | { readonly kind: 'use'; readonly grant: Grant; readonly permission: Permission }
  /** The permission names several accounts, or none where several are signed in; and none of them is chosen. */
  | { readonly kind: 'choose'; readonly permission: Permission; readonly accounts: readonly string[] }
  /** It could be used, but no permission names it. */
  | { readonly kind: 'ask'; readonly grant: Grant }
  /** Other accounts are signed in there, but not the one that the app names. */
  | { readonly kind: 'unknownAccount'; readonly account: string; readonly known: readonly string[] }
  /** No grant can be used. `grant` could be earlier. */
  | { readonly kind: 'signIn'; readonly grant: Grant | undefined };

/**
 * `there`: the grants of the endpoint, newest first. `permissions`: those that cover the request's scopes, the
 * longest-lasting first.
 */
export function chooseGrant(
  there: readonly Grant[],
  { appId, account, grantId }: GrantRequest,
  permissions: readonly Permission[],
): GrantChoice {
  const serving = there.filter((grant) => isFor(grant, appId));
  const asked = serving.filter(
    (grant) =>
      (account === undefined || grant.account === account) && (grantId === undefined || grant.id === grantId),
  );
  const living = asked.filter(isLiving);
  const kept = (): readonly Grant[] => serving.filter(isLiving);
  let signedOut: (GrantChoice & { readonly kind: 'use' }) | undefined;
  for (const permission of permissions) {
    const isOpen = account === undefined && grantId === undefined;
    const accounts = isOpen ? openAccounts(permission, { living, kept }) : [];
    if (accounts.length > 1) return signedOut ?? { kind: 'choose', permission, accounts };
    const grant = firstNamed(permission, ofAccount(living, accounts[0])) ?? onlyOne(permission, kept());
    if (!grant || !living.includes(grant)) continue;
    const isOther = signedOut && !isSameAccount(signedOut.grant, grant);
    if (grant.state.kind === 'active' && !isOther) return { kind: 'use', grant, permission };
    // Another permission may name one of the same account that needs no sign-in.
    signedOut ??= { kind: 'use', grant, permission };
  }
  if (signedOut) return signedOut;
  const grant = likeliest(sharedFirst(living), permissions);
  if (grant) return { kind: 'ask', grant };
  const others = kept();
  if (account !== undefined && asked.length === 0 && others.length > 0) {
    const known = others.filter((one) => permissions.some((permission) => serves(permission, one, there)));
    return { kind: 'unknownAccount', account, known: known.map((one) => one.account) };
  }
  return { kind: 'signIn', grant: asked.find(isShared) ?? asked[0] };
}

/**
 * The accounts that may serve a request that names none: the chosen one, or else each that the permission names. For
 * one that names no grant, each that is signed in.
 */
function openAccounts(
  permission: Permission,
  { living, kept }: { readonly living: readonly Grant[]; readonly kept: () => readonly Grant[] },
): string[] {
  const { grants = [], account } = permission;
  if (!isBound(permission)) return signedInFor(permission, kept());
  // Most permissions name one grant, and this runs at every request.
  if (grants.length < 2) return [];
  const named = new Set(grants.flatMap((id) => living.find((one) => one.id === id)?.account ?? []));
  // The chosen one may have ended meanwhile.
  return account !== undefined && named.has(account) ? [account] : [...named];
}

/** The accounts among which the user may choose for a permission that names no grant yet, in the order of the sign-ins. */
function signedInFor(permission: Permission, kept: readonly Grant[]): string[] {
  // Its card showed no scopes, so the next card has to.
  if (permission.fixAtFirstToken) return [];
  const inOrder = choosable(permission, kept).toSorted((one, other) => one.createdAt - other.createdAt);
  return [...new Set(inOrder.map(({ account }) => account))];
}

/** `kept`: living grants. */
const choosable = (permission: Permission, kept: readonly Grant[]): readonly Grant[] =>
  kept.filter(
    ({ id, resource }) => !refusesGrant(permission, id) && resource === (permission.resource ?? resource),
  );

/** The grants of this account that a choice of the user gives a permission which names none yet. */
export function grantsOfChoice(
  there: readonly Grant[],
  permission: Permission,
  account: string,
): readonly string[] {
  const serving = there.filter((grant) => isLiving(grant) && isFor(grant, permission.appId));
  const usable = choosable(permission, serving);
  return usable.filter((grant) => grant.account === account).map(({ id }) => id);
}

function ofAccount(living: readonly Grant[], account: string | undefined): readonly Grant[] {
  return account === undefined ? living : living.filter((grant) => grant.account === account);
}

/**
 * The account of a permission to which another one is added: the chosen one, or else the only one that it has given
 * tokens of, so that an app goes on as the account that it works as.
 */
export function keptAccount(
  grants: Pick<Grants, 'byId'>,
  { account, resource, grants: named = [] }: Permission,
): { readonly account?: string } {
  if (account !== undefined) return { account };
  const [only, ...others] = new Set(named.flatMap((id) => grants.byId(id)?.account ?? []));
  return resource === undefined || only === undefined || others.length > 0 ? {} : { account: only };
}

/**
 * The grant of the first token stays the one that is used. If it needs a sign-in, another named grant is used only if
 * its account is the same, as after the server has moved to another issuer.
 */
function firstNamed(permission: Permission, living: readonly Grant[]): Grant | undefined {
  const named = (permission.grants ?? []).flatMap((id) => living.find((one) => one.id === id) ?? []);
  const [first] = named;
  const sameAccount = named.filter((one) => first && isSameAccount(one, first));
  const active = sameAccount.filter(({ state }) => state.kind === 'active');
  const usual = active.find(isShared) ?? active[0] ?? first;
  if (!usual || !scopesToNarrowTo(usual, permission)) return usual;
  return active.find((one) => !isShared(one) && !scopesToNarrowTo(one, permission)) ?? usual;
}

/** The shared ones, if there are any: a permission that names no grant begins with one of them. */
function sharedFirst(living: readonly Grant[]): readonly Grant[] {
  const shared = living.filter(isShared);
  return shared.length > 0 ? shared : living;
}

/** At the same issuer subjects are compared. Between issuers only the account's name can be compared. */
function isSameAccount(one: Grant, other: Grant): boolean {
  if (one.account !== other.account) return false;
  return one.issuer !== other.issuer || subjectOf(one) === subjectOf(other);
}

/** For a permission that names no grant yet: the grant of its resource, if there is only one. */
function onlyOne(permission: Permission, living: readonly Grant[]): Grant | undefined {
  if (isBound(permission)) return undefined;
  const candidates = sharedFirst(living);
  const fitting = candidates.filter(({ resource }) => resource === (permission.resource ?? resource));
  // Where none fits, the refusal of another resource says so (Broker).
  const [only, ...more] = fitting.length > 0 ? fitting : candidates;
  return only && more.length === 0 && !refusesGrant(permission, only.id) ? only : undefined;
}

/** The grant that the user is asked about. A grant that they refused comes only if there is no other. */
function likeliest(living: readonly Grant[], permissions: readonly Permission[]): Grant | undefined {
  const open = living.filter(({ id }) => !permissions.some((one) => refusesGrant(one, id)));
  const candidates = open.length > 0 ? open : living;
  return candidates.find(({ state }) => state.kind === 'active') ?? candidates[0];
}

/** Ids of the grants that the owner means by an account at an endpoint. Throws `not_found`. */
export function grantsOfAccount(
  grants: Grants,
  { appId, endpoint, account }: GrantRequest & { readonly account: string },
): [string, ...string[]] {
  const there = grants.forEndpoint(endpoint).filter((grant) => isLiving(grant) && isFor(grant, appId));
  const [first, ...more] = there.filter((grant) => grant.account === account).map(({ id }) => id);
  if (first !== undefined) return [first, ...more];
  const known = [...new Set(there.map((grant) => quoted(grant.account)))].join(', ');
  throw new KeyturnError('not_found', `Nobody is signed in at ${endpoint} as ${quoted(account)}.`, {
    rule: 'You can allow only an account that is signed in there',
    hint: `${known === '' ? 'Nobody is signed in there' : `Signed in there: ${known}`}. To add an account: keyturn login ${shellWord(endpoint)} ${shellOption('account', account)}`,
  });
}

/**
 * A permission is for the resource that discovery verified. If the metadata now names another resource, the permission
 * doesn't count. Throws `resource_mismatch`.
 */
export function requireSameResource(permission: Permission, grant: Grant): void {
  if (permission.resource === undefined || permission.resource === grant.resource) return;
  // The user named this grant.
  if (namesGrant(permission, grant.id)) return;
  throw otherResource(permission.endpoint, grant);
}

/**
 * Invariant 4 (dev/internals.md), once more before the token leaves: RFC 9728 §3.3 as at the sign-in, and the
 * vault's own list. Throws `resource_mismatch`.
 */
export function requireEndpoint(grant: Grant, endpoint: string): void {
  if (!endpointsWithin(grant).has(endpoint)) throw outsideGrant(endpoint, grant.id);
}

/** Whether tokens of this grant may go to the permission's app. */
export function reaches(permission: Permission, grant: Grant): boolean {
  if (permission.decision !== 'allow' || !grant.endpoints.includes(permission.endpoint)) return false;
  if (!isFor(grant, permission.appId) || refusesGrant(permission, grant.id)) return false;
  return !isBound(permission) || namesGrant(permission, grant.id);
}

/** The same, if it needs no further choice of the user. `there`: the grants of the endpoint. */
export function serves(permission: Permission, grant: Grant, there: readonly Grant[]): boolean {
  if (!reaches(permission, grant)) return false;
  if (isBound(permission) || !isLiving(grant)) return true;
  return !sharedFirst(there.filter(isLiving)).some(
    (other) => other.id !== grant.id && reaches(permission, other),
  );
}

/** The scopes to narrow to; undefined if the permission covers all that the grant has. */
export function scopesToNarrowTo(grant: Grant, permission: Permission): string[] | undefined {
  const { scope } = permission;
  if (!scope || isWithin(withoutOfflineAccess(grant.scope), scope)) return undefined;
  return grant.scope.filter((name) => scope.includes(name));
}

/** Lost scopes that a request needs: what it names, or else all that its permission gives. */
export function scopesMissingFor(
  { lostScope = [] }: Grant,
  permission: { readonly scope?: readonly string[] | undefined },
  wanted: readonly string[],
): string[] {
  const needed = wanted.length > 0 ? wanted : permission.scope;
  return lostScope.filter((name) => needed?.includes(name) ?? true);
}
