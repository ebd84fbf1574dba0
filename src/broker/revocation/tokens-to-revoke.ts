/**
 * The tokens of an ended sign-in that still have to be revoked, and their revocation at the authorization server (RFC
 * 7009).
 *
 * Invariant: refresh tokens come before access tokens, because the server may end the whole sign-in with one (RFC 7009
 * §2.1). Each token names the registration that it was issued under. A revoked token leaves its item; any other
 * stays, across restarts, until it expires. A token goes only to its own issuer. If a server can't be reached, it gets
 * one request, not one for each token; the tokens not revoked there are returned as `left`.
 */
import { firstEndpoint, type EarlierItem, type SignIn } from '../records/sign-in.ts';
import { Unreachable } from '../../base/errors.ts';
import type { AuthorizationServer } from '../../oauth/discovery/authorization-server.ts';
import { revokeToken, type RevocationResult } from '../../oauth/grants/revocation.ts';
import type { BrokerParts } from '../parts.ts';
import { MissingItem } from '../../vault/base/trouble.ts';
import { toWall, type ClockReadings } from '../../base/clock.ts';
import type { SignInSecret } from '../tokens/sign-in-secret.ts';
import type { AccessToken } from '../tokens/token-cache.ts';

export interface TokenToRevoke {
  readonly value: string;
  readonly hint: 'refresh_token' | 'access_token';
  readonly registrationId: string;
  /** Of an access token: milliseconds since 1970. */
  readonly expiresAt?: number | undefined;
  /** The vault's item that has it; undefined: it is only in memory. */
  readonly item: string | undefined;
  /** The sign-in's own refresh token: the receipt repeats the server's answer to it. */
  readonly isCurrent: boolean;
}

/** One item of an ended sign-in, as read. */
export interface HeldItem {
  /** Undefined: its tokens are only in memory. */
  readonly item: string | undefined;
  readonly registrationId: string;
  readonly secret: SignInSecret;
  /** As issued when the user last signed in. */
  readonly isLast: boolean;
}

/** The secret with the access tokens in memory that apps have, so that a later run of the broker revokes them too. */
function withHandedOut(
  secret: SignInSecret,
  retired: readonly AccessToken[],
  clock: ClockReadings,
): SignInSecret {
  const { accessToken, handedOut = [] } = secret;
  const known = new Set([accessToken?.value, ...handedOut.map(({ value }) => value)]);
  const added = retired
    .filter((token) => !known.has(token.accessToken))
    .map(({ accessToken: value, expiresAt: end }) => ({
      value,
      expiresAt: Number.isFinite(end) ? toWall(clock, end) : undefined,
    }));
  return added.length === 0 ? secret : { ...secret, handedOut: [...handedOut, ...added] };
}

/** In the order in which they are revoked, without those that have expired by `now` (milliseconds). */
export function tokensToRevoke(held: readonly HeldItem[], now: number): TokenToRevoke[] {
  const all = held.flatMap(tokensIn);
  const alive = all.filter(({ expiresAt = Infinity }) => expiresAt > now);
  return [
    ...alive.filter(({ isCurrent }) => isCurrent),
    ...alive.filter(({ isCurrent, hint }) => !isCurrent && hint === 'refresh_token'),
    ...alive.filter(({ hint }) => hint === 'access_token'),
  ];
}

function tokensIn({ item, registrationId, secret, isLast }: HeldItem): TokenToRevoke[] {
  const { refreshToken, accessToken, handedOut = [] } = secret;
  const access = [...(accessToken ? [accessToken] : []), ...handedOut].map(
    ({ value, expiresAt }) =>
      ({ value, expiresAt, hint: 'access_token', registrationId, item, isCurrent: false }) as const,
  );
  if (refreshToken === undefined) return access;
  const value = refreshToken;
  return [{ value, hint: 'refresh_token', registrationId, item, isCurrent: isLast }, ...access];
}

/** The secret while only these tokens are left to revoke. */
export function secretOfRemaining(secret: SignInSecret, left: readonly TokenToRevoke[]): SignInSecret {
  const isLeft = (value: string | undefined): boolean => left.some((token) => token.value === value);
  return {
    ...secret,
    refreshToken: isLeft(secret.refreshToken) ? secret.refreshToken : undefined,
    accessToken: isLeft(secret.accessToken?.value) ? secret.accessToken : undefined,
    handedOut: secret.handedOut?.filter(({ value }) => isLeft(value)),
  };
}

export interface Read {
  readonly held: readonly HeldItem[];
  readonly failure?: unknown;
  /** The sign-in's refresh token is missing, or can't be read now: nothing answers for it. */
  readonly isOwnUnread: boolean;
  /** The vault has the access tokens that apps have. */
  readonly isWritten?: boolean;
}

/** The items of the sign-in, with the access tokens that are only in memory. */
export async function readAll(parts: BrokerParts, signIn: SignIn): Promise<Read> {
  const { cache, clock, refresher } = parts;
  const { item, registrationId } = signIn;
  const last = await heldOf(parts, item === undefined ? [] : [{ item, registrationId }], true);
  const earlier = await heldOf(parts, signIn.earlier ?? [], false);
  const retired = cache.retired(signIn.id);
  const [own] = last.held;
  const secret = withHandedOut(own?.secret ?? nothing, retired, clock);
  // In the vault before the server is asked. If the vault refuses that, the server is asked all the same.
  const isWritten =
    own !== undefined &&
    item !== undefined &&
    (secret === own.secret ||
      (await refresher.secrets.write(item, secret).then(
        () => true,
        () => false,
      )));
  const held = own || retired.length > 0 ? [{ ...unheld(signIn), ...own, secret }] : [];
  return {
    held: [...held, ...earlier.held],
    failure: last.failure ?? earlier.failure,
    isOwnUnread: own === undefined && signIn.hasRefreshToken,
    isWritten,
  };
}

const nothing = { scope: [] };

/** For access tokens of a sign-in whose item can't be read. */
const unheld = ({ registrationId }: SignIn): Omit<HeldItem, 'secret'> => ({
  item: undefined,
  registrationId,
  isLast: true,
});

/** An item that is missing has no token to revoke, and no later try would find one. */
export async function heldOf(
  { refresher }: BrokerParts,
  items: readonly EarlierItem[],
  isLast: boolean,
): Promise<{ readonly held: HeldItem[]; readonly failure?: unknown }> {
  const held: HeldItem[] = [];
  let failure: unknown;
  for (const { item, registrationId } of items) {
    try {
      held.push({ item, registrationId, isLast, secret: await refresher.secrets.readItem(item) });
    } catch (error) {
      if (!(error instanceof MissingItem)) failure ??= error;
    }
  }
  return { held, failure };
}

export interface AnsweredToken {
  readonly token: TokenToRevoke;
  readonly revocation: RevocationResult;
}

export interface ServerRevocation {
  readonly answered: readonly AnsweredToken[];
  readonly left: readonly TokenToRevoke[];
  readonly failure?: unknown;
}

/** Never throws: the result carries the failure. */
export async function revokeAtServer(
  parts: BrokerParts,
  signIn: SignIn,
  tokens: readonly TokenToRevoke[],
): Promise<ServerRevocation> {
  if (tokens.length === 0) return { answered: [], left: [] };
  let server: AuthorizationServer;
  try {
    await parts.document.verify();
    server = await parts.servers.of(signIn);
  } catch (failure) {
    return { answered: [], left: tokens, failure };
  }
  const answered: AnsweredToken[] = [];
  const left: TokenToRevoke[] = [];
  let failure: unknown;
  for (const token of tokens) {
    if (failure instanceof Unreachable) left.push(token);
    else {
      try {
        answered.push({ token, revocation: await revokeOne(parts, server, signIn, token) });
      } catch (error) {
        left.push(token);
        failure = error;
      }
    }
  }
  return { answered, left, failure };
}

async function revokeOne(
  { registrations, network }: BrokerParts,
  server: AuthorizationServer,
  signIn: SignIn,
  { value, hint, registrationId }: TokenToRevoke,
): Promise<RevocationResult> {
  const record = registrations.byId(registrationId);
  // RFC 7009 §2.1: only the client that a token was issued to may revoke it, and that client is gone.
  if (!record || server.revocationEndpoint === undefined) return 'not_offered';
  const clientSecret = await registrations.secret(record);
  const client = { server, registration: record.registration, clientSecret };
  const http = network(firstEndpoint(signIn));
  return revokeToken({ ...client, token: value, hint }, http);
}
