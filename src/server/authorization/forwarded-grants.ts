/**
 * How oidc-provider treats grants that hang on another authorization server.
 *
 * Invariant: each authorization signs in again, so that each grant has a session of its own at the other server; a token
 * names its grant (`sid`); and a grant whose session isn't live gives no token.
 */
import type { Accounts } from './accounts/accounts.ts';
import type { OidcProvider } from './base/peer.ts';

type Policy = OidcProvider['interactionPolicy'];

/** This policy, and a sign-in for each authorization. */
export function forwardingPolicy(
  policy: ReturnType<Policy['base']>,
  { forwarding }: Accounts,
  { Check }: Policy,
): ReturnType<Policy['base']> {
  if (forwarding) {
    policy
      .get('login')
      ?.checks.add(
        new Check('forwarded', 'each authorization signs in again', 'login_required', ({ oidc }) =>
          oidc.result?.login === undefined ? Check.REQUEST_PROMPT : Check.NO_NEED_TO_PROMPT,
        ),
      );
  }
  return policy;
}

/**
 * `token`: a code or a refresh token. Throws temporarily_unavailable where nobody can tell; the token isn't used up by
 * then.
 */
export async function isGrantLive(
  { forwarding }: Accounts,
  token: unknown,
  errors: OidcProvider['errors'],
): Promise<boolean> {
  const grantId = grantIdOf(token);
  if (!forwarding || grantId === undefined) return true;
  try {
    return await forwarding.isLive(grantId);
  } catch {
    throw new errors.TemporarilyUnavailable('the upstream authorization server can not be reached');
  }
}

/** The claim `sid` of a token: its grant. */
export function sessionClaim({ forwarding }: Accounts, token: unknown): { sid: string } | undefined {
  const grantId = grantIdOf(token);
  return forwarding && grantId !== undefined ? { sid: grantId } : undefined;
}

function grantIdOf(token: unknown): string | undefined {
  const hasGrant = typeof token === 'object' && token !== null && 'grantId' in token;
  return hasGrant && typeof token.grantId === 'string' ? token.grantId : undefined;
}
