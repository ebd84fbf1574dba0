/**
 * The tokens of an ended grant that still have to be revoked at the authorization server (RFC 7009).
 *
 * Invariant: refresh tokens come before access tokens, because the server may end the whole grant with one (RFC 7009
 * §2.1). Each token names the registration that it was issued under. A revoked token leaves the list; any other
 * stays, across restarts, until it expires.
 */
import { toWall } from '../../base/clock.ts';
import type { ClockReadings } from '../../base/clock.ts';
import type { Binding } from '../grants/grant-binding.ts';
import type { GrantSecret, Superseded } from '../grants/grant-secret.ts';
import type { Grant } from '../records/grant.ts';
import type { AccessToken } from '../tokens/token-cache.ts';

export interface TokenToRevoke extends Superseded {
  readonly registrationId: string;
  /** The grant's own refresh token: the receipt repeats the server's answer to it. */
  readonly isCurrent: boolean;
}

/** In the order in which they are revoked. `retired`: access tokens that exist only in memory. */
export function tokensToRevoke(
  grant: Grant,
  secret: Omit<GrantSecret, 'binding'>,
  retired: readonly AccessToken[],
  clock: ClockReadings,
): TokenToRevoke[] {
  const { refreshToken, accessToken, superseded } = secret;
  const own = secret.registrationId ?? grant.registrationId;
  const access = (value: string, expiresAt: number | undefined): Superseded => ({
    value,
    hint: 'access_token',
    registrationId: own,
    ...(expiresAt !== undefined && Number.isFinite(expiresAt) ? { expiresAt } : {}),
  });
  const tokens: Superseded[] = [
    ...superseded,
    ...(accessToken ? [access(accessToken.value, accessToken.expiresAt)] : []),
    ...retired.map((token) => access(token.accessToken, toWall(clock, token.expiresAt))),
  ];
  const known = new Map(tokens.map((token) => [token.value, token]));
  const alive = [...known.values()].filter(
    ({ expiresAt }) => expiresAt === undefined || expiresAt > clock.wall(),
  );
  const others = alive.map((token) => ({
    ...token,
    registrationId: token.registrationId ?? own,
    isCurrent: false,
  }));
  return [
    ...(refreshToken === undefined
      ? []
      : [{ value: refreshToken, hint: 'refresh_token', registrationId: own, isCurrent: true } as const]),
    ...others.filter(({ hint }) => hint === 'refresh_token'),
    ...others.filter(({ hint }) => hint === 'access_token'),
  ];
}

function plain({ value, hint, registrationId, expiresAt }: TokenToRevoke): Superseded {
  return { value, hint, registrationId, ...(expiresAt === undefined ? {} : { expiresAt }) };
}

/** The vault's item while these tokens are left to revoke. None of them is used any more. */
export function secretOfRemaining(left: readonly TokenToRevoke[], binding: Binding): GrantSecret {
  const current = left.find(({ isCurrent }) => isCurrent);
  return {
    binding,
    ...(current ? { refreshToken: current.value, registrationId: current.registrationId } : {}),
    superseded: left.filter((token) => token !== current).map(plain),
  };
}
