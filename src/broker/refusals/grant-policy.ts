/**
 * What the administrator's policy says of a grant: where its tokens come from, and which server they are for.
 *
 * Invariant: the grant is kept as it is. It counts for grants that are older than the policy, and before anything of the
 * grant leaves this machine or is handed out.
 */
import { KeyturnError } from '../../base/errors.ts';
import { isCompanySignIn } from '../records/company.ts';
import type { Grant } from '../records/grant.ts';
import type { Policy } from '../records/policy.ts';
import type { RegistrationRecord, Registrations } from '../records/registrations.ts';

export interface GrantPolicyParts {
  readonly policy: Policy;
  readonly registrations: Registrations;
}

/** Throws `policy_refused`. */
export function refuseByPolicy(parts: GrantPolicyParts, grant: Grant): void {
  if (parts.policy.file !== undefined) refuse(parts.policy, parts.registrations.all(), grant);
}

/** For lists, verified or not: the refusal; undefined where the policy has nothing against the grant. */
export function refusalByPolicy(
  { policy, registrations }: GrantPolicyParts,
  grant: Grant,
): KeyturnError | undefined {
  try {
    refuse(policy, registrations.readable(), grant);
    return undefined;
  } catch (error) {
    if (error instanceof KeyturnError && error.reason === 'policy_refused') return error;
    throw error;
  }
}

function refuse(policy: Policy, records: readonly RegistrationRecord[], grant: Grant): void {
  policy.refuseGrant(grant, !isCompanySignIn({ all: () => records }, grant));
  // The company's provider decides about each token of such a grant.
  const provider = records.find(({ id }) => id === grant.registrationId)?.idp?.issuer;
  if (provider !== undefined) policy.refuseIssuer(provider);
}
