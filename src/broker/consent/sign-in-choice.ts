/**
 * Which sign-in serves an app's request, and how far its permission lets the token of that sign-in reach: for which
 * resource, at which endpoint, with which scopes. A narrow app gets a narrow token because of `scopesToNarrowTo`.
 *
 * Invariants: where a permission's sign-ins are of several accounts, the request names one, or the user has chosen one;
 * nothing else decides. A sign-in that no permission names needs the user's approval, even if the request names it. One
 * exception: a permission that names none yet takes the only living one there, of the shared ones if there are any. Where
 * it finds several accounts there, the user chooses one of them for it, unless its card showed no scopes: then the next
 * card shows them. A sign-in that must be renewed gives way to one of the same account that another permission of the
 * app names. A sign-in that belongs to one app serves no other app, and serves its own one instead of the shared sign-in
 * of the same account that has more scopes than the permission. If an app names an account, it gets no token of another
 * one. If the account that it works as is signed out or must be renewed, it waits for that, and asks for no other.
 */
import { KeyturnError, quoted, shellOption, shellWord } from '../../base/errors.ts';
import { isWithin, withoutOfflineAccess } from '../../oauth/base/scope.ts';
import { endpointsWithin, isFor, isLiving, isShared, subjectOf, type SignIn } from '../records/sign-in.ts';
import type { SignIns } from '../records/sign-ins.ts';
import { cliAppId } from '../records/app.ts';
import { namesAnySignIn, namesSignIn, deniesSignIn, type Permission } from '../records/permission.ts';
import { otherResource, outsideSignIn } from '../refusals/refusals.ts';

export interface WantedSignIn {
  readonly appId: string;
  readonly endpoint: string;
  /** Absent: the app named none. */
  readonly account?: string | undefined;
  /** The one that the user chose for this request. */
  readonly signInId?: string | undefined;
}

export type SignInChoice =
  | { readonly kind: 'use'; readonly signIn: SignIn; readonly permission: Permission }
  /** The permission names several accounts, or none where several are signed in; and none of them is chosen. */
  | { readonly kind: 'choose'; readonly permission: Permission; readonly accounts: readonly string[] }
  /** It could be used, but no permission names it. */
  | { readonly kind: 'ask'; readonly signIn: SignIn }
  /** Other accounts are signed in there, but not the one that the app names. */
  | { readonly kind: 'unknownAccount'; readonly account: string; readonly known: readonly string[] }
  /** No sign-in can be used. `signIn`: one that served before. */
  | { readonly kind: 'mustSignIn'; readonly signIn: SignIn | undefined };

/** `there`: those of the endpoint, newest first. `permissions`: those that cover the request, as `CoveringPermissions`. */
export function chooseSignIn(
  there: readonly SignIn[],
  { appId, account, signInId }: WantedSignIn,
  permissions: readonly Permission[],
): SignInChoice {
  const forApp = there.filter((signIn) => isFor(signIn, appId));
  const asked = forApp.filter(
    (signIn) =>
      (account === undefined || signIn.account === account) &&
      (signInId === undefined || signIn.id === signInId),
  );
  const living = asked.filter(isLiving);
  const kept = (): readonly SignIn[] => forApp.filter(isLiving);
  const isOpen = account === undefined && signInId === undefined;
  let toRenew: (SignInChoice & { readonly kind: 'use' }) | undefined;
  for (const permission of permissions) {
    const accounts = isOpen ? openAccounts(permission, { forApp, living, kept }) : [];
    if (accounts.length > 1) return toRenew ?? { kind: 'choose', permission, accounts };
    const [only] = accounts;
    const ofAccount = only === undefined ? living : living.filter((one) => one.account === only);
    const signIn = firstNamed(permission, ofAccount) ?? onlyOne(permission, kept());
    if (!signIn || !living.includes(signIn)) continue;
    const isOther = toRenew && !isSameAccount(toRenew.signIn, signIn);
    if (signIn.state.kind === 'active' && !isOther) return { kind: 'use', signIn, permission };
    // Another permission may name one of the same account that needs no sign-in.
    toRenew ??= { kind: 'use', signIn, permission };
  }
  if (toRenew) return toRenew;
  const worksAs = isOpen ? permissions.flatMap((permission) => namedIn(permission, forApp)) : [];
  const usable = living.filter(
    ({ account: name }) => worksAs.length === 0 || worksAs.some((one) => one.account === name),
  );
  const signIn = likeliest(sharedFirst(usable), permissions);
  if (signIn) return { kind: 'ask', signIn };
  if (worksAs.length > 0) return { kind: 'mustSignIn', signIn: worksAs.find(isShared) ?? worksAs[0] };
  const others = kept();
  if (account !== undefined && asked.length === 0 && others.length > 0) {
    // An app doesn't learn of accounts that it may not use. The command line may.
    const isKnown = (one: SignIn): boolean =>
      appId === cliAppId || permissions.some((permission) => serves(permission, one, there));
    return { kind: 'unknownAccount', account, known: accountsIn(others.filter(isKnown)) };
  }
  const named = asked.filter(({ id }) => permissions.some((permission) => namesSignIn(permission, id)));
  const [earlier] = [...sharedFirst(named), ...sharedFirst(asked)];
  return { kind: 'mustSignIn', signIn: earlier };
}

/** For a request that names none: the chosen account, else each that the permission names, else each that is signed in. */
function openAccounts(
  permission: Permission,
  {
    forApp,
    living,
    kept,
  }: Record<'forApp' | 'living', readonly SignIn[]> & { readonly kept: () => readonly SignIn[] },
): string[] {
  const { signInIds = [] } = permission;
  if (!namesAnySignIn(permission)) return signedInFor(permission, kept());
  // Most permissions name one sign-in, and this runs at every request.
  if (signInIds.length < 2) return [];
  const named = new Set(signInIds.flatMap((id) => living.find((one) => one.id === id)?.account ?? []));
  const [first] = namedIn(permission, forApp);
  return first && first.account === permission.account ? [first.account] : [...named];
}

/** The sign-ins that the permission names, living or not: of the account that the user chose, if they chose one. */
function namedIn(permission: Permission, forApp: readonly SignIn[]): readonly SignIn[] {
  const named = forApp.filter(({ id }) => namesSignIn(permission, id));
  const chosen = named.filter(({ account }) => account === permission.account);
  return chosen.length > 0 ? chosen : named;
}

/** The accounts among which the user may choose for a permission that names no sign-in yet, in the order of the sign-ins. */
function signedInFor(permission: Permission, kept: readonly SignIn[]): string[] {
  // Its card showed no scopes, so the next card has to.
  if (permission.fixAtFirstToken) return [];
  return accountsIn(choosable(permission, kept));
}

/** The accounts of these sign-ins, the oldest sign-in's first. */
const accountsIn = (signIns: readonly SignIn[]): string[] => [
  ...new Set(signIns.toSorted((a, b) => a.createdAt - b.createdAt).map(({ account }) => account)),
];

/** `kept`: living sign-ins. */
const choosable = (permission: Permission, kept: readonly SignIn[]): readonly SignIn[] =>
  kept.filter(
    ({ id, resource }) => !deniesSignIn(permission, id) && resource === (permission.resource ?? resource),
  );

/** The sign-ins of this account that a choice of the user gives a permission which names none yet. */
export function signInsOfChoice(
  there: readonly SignIn[],
  permission: Permission,
  account: string,
): readonly string[] {
  const forApp = there.filter((signIn) => isLiving(signIn) && isFor(signIn, permission.appId));
  const usable = choosable(permission, forApp);
  return usable.filter((signIn) => signIn.account === account).map(({ id }) => id);
}

/** The chosen account, or else the only one that is signed in of those that it names, so that an app goes on as before. */
export function keptAccount(
  signIns: Pick<SignIns, 'byId'>,
  { account, signInIds: named = [] }: Permission,
): { readonly account?: string } {
  const there = named.flatMap((id) => signIns.byId(id) ?? []).filter(isLiving);
  if (there.some((one) => one.account === account)) return { account };
  const [only, ...others] = new Set(there.map((one) => one.account));
  return only === undefined || others.length > 0 ? {} : { account: only };
}

/** Of the first one's account: an active shared one, or one of the app's own that needs no narrowing; else the first. */
function firstNamed(permission: Permission, living: readonly SignIn[]): SignIn | undefined {
  const named = (permission.signInIds ?? []).flatMap((id) => living.find((one) => one.id === id) ?? []);
  const [first] = named;
  const sameAccount = named.filter((one) => first && isSameAccount(one, first));
  const active = sameAccount.filter(({ state }) => state.kind === 'active');
  const usual = active.find(isShared) ?? active[0] ?? first;
  if (!usual || !scopesToNarrowTo(usual, permission)) return usual;
  return active.find((one) => !isShared(one) && !scopesToNarrowTo(one, permission)) ?? usual;
}

/** The shared ones, if there are any: a permission that names no sign-in begins with one of them. */
function sharedFirst(living: readonly SignIn[]): readonly SignIn[] {
  const shared = living.filter(isShared);
  return shared.length > 0 ? shared : living;
}

/** At the same issuer subjects are compared. Between issuers only the account's name can be compared. */
function isSameAccount(one: SignIn, other: SignIn): boolean {
  if (one.account !== other.account) return false;
  return one.issuer !== other.issuer || subjectOf(one) === subjectOf(other);
}

/** For a permission that names no sign-in yet: the only shared one of its resource; without one, the app's only own. */
function onlyOne(permission: Permission, living: readonly SignIn[]): SignIn | undefined {
  if (namesAnySignIn(permission)) return undefined;
  const candidates = sharedFirst(living);
  const fitting = candidates.filter(({ resource }) => resource === (permission.resource ?? resource));
  // Where none fits, `requireSameResource` refuses.
  const [only, ...more] = fitting.length > 0 ? fitting : candidates;
  return only && more.length === 0 && !deniesSignIn(permission, only.id) ? only : undefined;
}

/** The sign-in that the user is asked about. A sign-in that they denied comes only if there is no other. */
function likeliest(living: readonly SignIn[], permissions: readonly Permission[]): SignIn | undefined {
  const open = living.filter(({ id }) => !permissions.some((one) => deniesSignIn(one, id)));
  const candidates = open.length > 0 ? open : living;
  return candidates.find(({ state }) => state.kind === 'active') ?? candidates[0];
}

/** Ids of the sign-ins that the user means by an account at an endpoint. Throws `not_found`. */
export function signInsOfAccount(
  signIns: SignIns,
  { appId, endpoint, account }: WantedSignIn & { readonly account: string },
): [string, ...string[]] {
  const there = signIns.forEndpoint(endpoint).filter((signIn) => isLiving(signIn) && isFor(signIn, appId));
  const [first, ...more] = there.filter((signIn) => signIn.account === account).map(({ id }) => id);
  if (first !== undefined) return [first, ...more];
  const known = [...new Set(there.map((signIn) => quoted(signIn.account)))].join(', ');
  throw new KeyturnError('not_found', `Nobody is signed in at ${endpoint} as ${quoted(account)}.`, {
    rule: 'You can allow only an account that is signed in there',
    hint: `${known === '' ? 'Nobody is signed in there' : `Signed in there: ${known}`}. To add an account: keyturn login ${shellWord(endpoint)} ${shellOption('account', account)}`,
  });
}

/** Throws `resource_mismatch` if the metadata now names another resource than the permission is for. */
export function requireSameResource(permission: Permission, signIn: SignIn): void {
  if (permission.resource === undefined || permission.resource === signIn.resource) return;
  // The user named this sign-in.
  if (namesSignIn(permission, signIn.id)) return;
  throw otherResource(permission.endpoint, signIn);
}

/** Invariant 4 (dev/internals.md), once more before the token leaves (RFC 9728 §3.3). Throws `resource_mismatch`. */
export function requireEndpointOfSignIn(signIn: SignIn, endpoint: string): void {
  if (!endpointsWithin(signIn).has(endpoint)) throw outsideSignIn(endpoint, signIn.id);
}

/** Whether tokens of this sign-in may go to the permission's app. */
export function reaches(permission: Permission, signIn: SignIn): boolean {
  if (permission.decision !== 'allow' || !signIn.endpoints.includes(permission.endpoint)) return false;
  if (!isFor(signIn, permission.appId) || deniesSignIn(permission, signIn.id)) return false;
  return !namesAnySignIn(permission) || namesSignIn(permission, signIn.id);
}

/** The same, if it needs no further choice of the user. `there`: the sign-ins of the endpoint. */
export function serves(permission: Permission, signIn: SignIn, there: readonly SignIn[]): boolean {
  if (!reaches(permission, signIn)) return false;
  if (namesAnySignIn(permission) || !isLiving(signIn)) return true;
  return !sharedFirst(there.filter(isLiving)).some(
    (other) => other.id !== signIn.id && reaches(permission, other),
  );
}

/** The scopes to narrow to; undefined if the permission covers all that the sign-in has. */
export function scopesToNarrowTo(signIn: SignIn, permission: Permission): string[] | undefined {
  const { scope } = permission;
  if (!scope || isWithin(withoutOfflineAccess(signIn.scope), scope)) return undefined;
  return signIn.scope.filter((name) => scope.includes(name));
}

/** Lost scopes that a request needs: what it names, or else all that its permission gives. */
export function lostScopesNeeded(
  { lostScope = [] }: SignIn,
  permission: { readonly scope?: readonly string[] | undefined },
  wanted: readonly string[],
): string[] {
  const needed = wanted.length > 0 ? wanted : permission.scope;
  return lostScope.filter((name) => needed?.includes(name) ?? true);
}
