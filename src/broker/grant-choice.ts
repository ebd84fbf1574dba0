/**
 * Which grant serves a program's request.
 *
 * Invariants: what a permission names is used, in the order in which it names it. A grant that no
 * permission names needs the person's yes, whatever the request says. One exception: a permission that
 * names none yet takes the only living grant of its server. A grant that is one program's alone serves no
 * other program.
 */
import { KeyturnError, quoted } from '../errors.ts';
import { isWithin } from '../oauth/scope.ts';
import { isFor, isLiving } from './grant.ts';
import type { Grant, Grants } from './grant.ts';
import { isBound, namesGrant, refusesGrant } from './permission.ts';
import type { Permission } from './permission.ts';
import type { Refresher } from './refresher.ts';

export interface ChoiceParts {
  readonly grants: Grants;
  /** Which grants the vault has tokens of. */
  readonly refresher: Pick<Refresher, 'isHeld'>;
}

/** Who asks, and for what. */
export interface Served {
  readonly clientId: string;
  readonly endpoint: string;
  /** Absent: the program named none. */
  readonly account?: string;
}

export type Choice =
  | { readonly kind: 'use'; readonly grant: Grant; readonly permission: Permission }
  /** It would serve, and no permission names it. */
  | { readonly kind: 'ask'; readonly grant: Grant }
  /** The index lists it, and the vault has nothing of it that could be used. */
  | { readonly kind: 'lost'; readonly grant: Grant }
  /** Nothing serves; `grant` did once, or its sign-in was not finished. */
  | { readonly kind: 'signIn'; readonly grant: Grant | undefined };

/** `permissions`: those that cover the request's scopes, what lasts longest first. */
export function chooseGrant(
  { grants, refresher }: ChoiceParts,
  { clientId, endpoint, account }: Served,
  permissions: readonly Permission[],
): Choice {
  const serving = grants.forEndpoint(endpoint).filter((grant) => isFor(grant, clientId));
  const asked = serving.filter((grant) => account === undefined || grant.account === account);
  const living = asked.filter(isLiving);
  const kept = heldBy(refresher, serving.filter(isLiving));
  for (const permission of permissions) {
    const grant = firstNamed(permission, living) ?? onlyOne(permission, kept);
    if (grant && living.includes(grant)) return { kind: 'use', grant, permission };
  }
  const grant = likeliest(heldBy(refresher, living), permissions);
  if (grant && refresher.isHeld(grant.id)) return { kind: 'ask', grant };
  if (grant?.state.kind === 'active') return { kind: 'lost', grant };
  return { kind: 'signIn', grant: grant ?? asked[0] };
}

/**
 * The ids keep their order: the grant of the first token stays the one that serves. Where it needs a sign-in, another one
 * that is named serves only if its account is the same, as after the server has moved to another issuer.
 */
function firstNamed({ grants = [] }: Permission, living: readonly Grant[]): Grant | undefined {
  const named = grants.flatMap((id) => living.find((one) => one.id === id) ?? []);
  const [first] = named;
  const sameAccount = named.filter(({ account }) => account === first?.account);
  return sameAccount.find(({ state }) => state.kind === 'active') ?? first;
}

/** The grants that the vault holds; where it holds none, all. A line of the index alone stands in no grant's way. */
function heldBy(refresher: ChoiceParts['refresher'], living: readonly Grant[]): readonly Grant[] {
  const held = living.filter(({ id }) => refresher.isHeld(id));
  return held.length > 0 ? held : living;
}

/** For a permission that names no grant yet: the only one there is for its resource. */
function onlyOne(permission: Permission, living: readonly Grant[]): Grant | undefined {
  if (isBound(permission)) return undefined;
  const fitting = living.filter(({ resource }) => resource === (permission.resource ?? resource));
  // Where none fits, the refusal of another resource says so (Broker).
  const [only, ...more] = fitting.length > 0 ? fitting : living;
  return only && more.length === 0 && !refusesGrant(permission, only.id) ? only : undefined;
}

/** What the person is asked about: nothing that they refused, as long as there is anything else. */
function likeliest(living: readonly Grant[], permissions: readonly Permission[]): Grant | undefined {
  const open = living.filter(({ id }) => !permissions.some((one) => refusesGrant(one, id)));
  const candidates = open.length > 0 ? open : living;
  return candidates.find(({ state }) => state.kind === 'active') ?? candidates[0];
}

/** Ids of the grants that the owner means by an account at an endpoint. Throws `not_found`. */
export function grantsOfAccount(
  grants: Grants,
  { clientId, endpoint, account }: Required<Served>,
): [string, ...string[]] {
  const [first, ...more] = grants
    .forEndpoint(endpoint, account)
    .filter((grant) => isLiving(grant) && isFor(grant, clientId))
    .map(({ id }) => id);
  if (first !== undefined) return [first, ...more];
  throw new KeyturnError('not_found', `Nobody is signed in at ${endpoint} as ${quoted(account)}.`, {
    rule: 'An account is allowed once it is signed in there',
    hint: `\`keyturn list\` shows the accounts. Sign in with: keyturn login ${endpoint} --account ${quoted(account)}`,
  });
}

/** Whether tokens of this grant may go to the permission's program. */
export function reaches(permission: Permission, grant: Grant): boolean {
  if (permission.decision !== 'allow' || !grant.endpoints.includes(permission.endpoint)) return false;
  if (!isFor(grant, permission.clientId) || refusesGrant(permission, grant.id)) return false;
  return !isBound(permission) || namesGrant(permission, grant.id);
}

/** The scopes to narrow to; undefined where the permission covers all that the grant has. */
export function narrowerThan(grant: Grant, permission: Permission): string[] | undefined {
  const { scope } = permission;
  if (!scope || isWithin(grant.scope, scope)) return undefined;
  return grant.scope.filter((name) => scope.includes(name));
}
