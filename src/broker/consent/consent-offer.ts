/**
 * What the card for an app shows and a yes gives: scopes, and the grant that would be used.
 *
 * Invariant: the card lists what the app would get now. An app that names no scopes would get all scopes of its
 * grants, so the card lists those; it lists none only if nobody has signed in yet.
 */
import { union } from '../../oauth/base/scope.ts';
import { chooseGrant } from './grant-choice.ts';
import type { GrantRequest } from './grant-choice.ts';
import type { Grant } from '../records/grant.ts';
import type { Grants } from '../records/grants.ts';
import type { Need, Permission } from '../records/permission.ts';
import type { OfferedGrant } from '../questions/question.ts';

export interface Offer {
  readonly scope: readonly string[];
  /** Ids of the grants that the app may use after a yes. */
  readonly grants: readonly string[];
  readonly namedGrant: OfferedGrant | undefined;
}

/** `allowed`: all that the app is allowed there now. */
export function offerFor(grants: Grants, wanted: GrantRequest & Need, allowed: readonly Permission[]): Offer {
  const named = union(...allowed.map((had) => had.grants ?? []));
  const grant = serving(grants, wanted, allowed);
  const others = grants.all().filter(({ id }) => named.includes(id) && id !== grant?.id);
  const asked = union(...allowed.map((had) => had.scope ?? []), wanted.scope);
  const isOpen = asked.length === 0 || allowed.some((had) => had.scope === undefined);
  const granted = [...others, ...(grant ? [grant] : [])].map(({ scope }) => scope);
  return {
    scope: isOpen ? union(...granted, asked) : asked,
    grants: union(named, grant ? [grant.id] : []),
    namedGrant: grant && {
      id: grant.id,
      issuer: grant.issuer,
      account: grant.account,
      isKeyBound: grant.isKeyBound ?? false,
      otherAccounts: others.map(({ account }) => account),
      isAnother: wanted.grantId !== undefined,
    },
  };
}

function serving(
  grants: Grants,
  wanted: GrantRequest & Need,
  allowed: readonly Permission[],
): Grant | undefined {
  if (wanted.grantId !== undefined) return grants.byId(wanted.grantId);
  const choice = chooseGrant(grants.forEndpoint(wanted.endpoint), wanted, allowed);
  return choice.kind === 'use' || choice.kind === 'ask' ? choice.grant : undefined;
}
