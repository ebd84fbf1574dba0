/**
 * Siblings: grants that an authorization server ends together with one that the user revoked, because it
 * keeps a single authorization for each client and user (RFC 7009 §2.1 lets it).
 *
 * Invariant: what ended along with a revocation opens no page by itself. The user wanted less, not a
 * new sign-in; only what the user does after it was noticed opens one.
 */
import { quoted } from '../../base/errors.ts';
import type { Grant, GrantState } from '../records/grant.ts';
import type { Permission } from '../records/permission.ts';

/** The state of a grant whose refresh token the server no longer takes, noticed at `now` (milliseconds); `why` where no sibling explains it. */
export function deadState(all: readonly Grant[], dead: Grant, now: number, why: string): GrantState {
  const sibling = all.find((grant) => grant.id !== dead.id && mayHaveEnded(grant, dead));
  if (!sibling?.confirmedEnd) {
    return { kind: 'loginRequired', why };
  }
  const when = new Date(sibling.confirmedEnd.endedAt).toISOString().replace(/\.\d+Z$/, 'Z');
  const together =
    `the server ended it together with the grant for ${sibling.resource} (${quoted(sibling.account)}), ` +
    `which you revoked at ${when}`;
  return { kind: 'loginRequired', why: together, awaitsUserSince: now };
}

/** The last thing that is known of the dead one is older than the other's end. */
function mayHaveEnded({ issuer, registrationId, confirmedEnd }: Grant, dead: Grant): boolean {
  if (!confirmedEnd || issuer !== dead.issuer || registrationId !== dead.registrationId) return false;
  const lastSeen = Math.max(dead.lastRefreshedAt ?? 0, dead.signedInAt ?? dead.createdAt);
  return confirmedEnd.confirmedAt >= lastSeen;
}

/** True until the user signs in, or allows this program once more. */
export function waitsForUser({ state }: Grant, permission: Permission): boolean {
  return state.kind === 'loginRequired' && permission.createdAt <= (state.awaitsUserSince ?? -Infinity);
}
