/**
 * A sign-in: one user's authorization at one issuer for one resource and one account.
 *
 * Invariants: a sign-in's state is a union. Nothing here is secret: a record names the vault's item that has the tokens,
 * and says where they go. A sign-in that was ended stays as a record until somebody signs in again.
 */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { resourceCovers } from '../../oauth/base/resource.ts';
import { isWithin, withoutOfflineAccess } from '../../oauth/base/scope.ts';
import type { RecordRules } from '../../store/list-rules.ts';
import { itemNameSchema } from '../../store/unused-items.ts';

const revokedSchema = z.object({
  kind: z.literal('revoked'),
  /** `abandoned`: the server could not be told in time, and the tokens were forgotten here. */
  receipt: z.enum(['confirmed', 'pending', 'notOffered', 'abandoned']),
  /** Milliseconds, as all times here. */
  endedAt: z.number(),
  /** While pending: the server's answer about the refresh token, if only other tokens still have to be revoked. */
  answer: z.enum(['confirmed', 'notOffered']).optional(),
  /** While pending: how often the server was asked in vain, and when it is asked next. */
  tries: z.number().int().optional(),
  nextTryAt: z.number().optional(),
  /** While pending: the time that the server itself asked for (Retry-After). A restart doesn't shorten the wait. */
  notBefore: z.number().optional(),
});

export type RevokedState = z.infer<typeof revokedSchema>;

const stateSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('active') }),
  z.object({
    kind: z.literal('signInRequired'),
    /** Part of a sentence: after “Sign in again:”. */
    why: z.string(),
    /** The server ended the refresh token, and no refresh was lost. */
    cause: z.literal('refreshTokenEnded').optional().catch(undefined),
    /** Milliseconds: a sign-in page opens only after the user has acted later than this. */
    awaitsUserSince: z.number().optional(),
    /** The server refused to refresh it, and said nothing against its refresh token. */
    isRefused: z.boolean().optional(),
    /** The server refused in words of its own, or forgot our client: a later refresh may succeed, and make it active. */
    mayRefreshAgain: z.boolean().optional(),
  }),
  revokedSchema,
]);

/** The state in the record. `refreshing` and `expired` are not stored: they follow from what is in memory. */
export type SignInState = z.infer<typeof stateSchema>;

/** Where the issuer's metadata was found, and by which revision's rules. */
const metadataSourceSchema = z.object({
  /** `default`: the MCP server names it on its own origin, and it published no metadata at the sign-in. */
  revision: z.enum(['current', 'earlier', 'default']),
  /** The issuer as the MCP server names it; in the earlier revision the authorization base URL. */
  identifier: z.string(),
  /** In the earlier revision: it published metadata at the sign-in. Absent: it did not. */
  isByMetadata: z.boolean().optional(),
});

export type MetadataSource = Readonly<z.infer<typeof metadataSourceSchema>>;

/** The item of an earlier sign-in: its token is kept only to be revoked, by the client that it was issued to. */
const earlierSchema = z.strictObject({
  item: itemNameSchema,
  registrationId: z.string(),
  /** Of an access token: milliseconds since 1970. Absent: it is a refresh token, or its end is unknown. */
  expiresAt: z.number().optional(),
  /** When the user ended it, before they signed in again: its revocation is owed. Milliseconds since 1970. */
  endedAt: z.number().optional(),
});

export type EarlierItem = z.infer<typeof earlierSchema>;

/** A shared sign-in serves every app whose permission names it; a narrow one serves one app only. */
const purposeSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('shared') }),
  z.object({ kind: z.literal('narrow'), appId: z.string() }),
]);

export const signInSchema = z.object({
  id: z.string().regex(/^[0-9a-f]{16}$/),
  /** Canonical endpoints that a user named and whose metadata led to this resource. */
  endpoints: z.array(z.string()).min(1),
  /** The value sent as `resource` (RFC 8707), byte for byte. */
  resource: z.string(),
  issuer: z.string(),
  /** Its name: the label that the user chose, else the subject of an ID token, else `default`. */
  account: z.string(),
  /** The subject of its ID token; null: its server named none. */
  subject: z.string().nullable(),
  /** Absent: shared. */
  purpose: purposeSchema.optional(),
  registrationId: z.string(),
  /** The vault's item with its tokens. Absent: it was ended, and none is left. */
  item: itemNameSchema.optional(),
  /** The oldest first. */
  earlier: z.array(earlierSchema).optional(),
  /** Absent: the issuer itself. */
  server: metadataSourceSchema.optional(),
  /** Scopes as the server granted them. */
  scope: z.array(z.string()),
  /**
   * Scopes that the server took from the refresh token permanently when a narrower token was asked for (lost-scope.ts);
   * empty once a sign-in brought them back. Absent: its server was not seen to do that.
   */
  lostScope: z.array(z.string()).optional(),
  /** The user named exactly these scopes: a later sign-in without scopes asks for the same. */
  isExactScope: z.boolean().optional(),
  /** Scopes as we asked for them, so that a step-up asks for the union and never twice in vain. */
  requestedScope: z.array(z.string()),
  state: stateSchema,
  hasRefreshToken: z.boolean(),
  /** Its tokens are bound to a DPoP key (RFC 9449), which the vault holds. Absent: they are Bearer tokens. */
  isKeyBound: z.boolean().optional(),
  /** Milliseconds since 1970 by the wall clock, as all times in records. */
  createdAt: z.number(),
  signedInAt: z.number().optional(),
  /** Of a sign-in that was ended: when the last access token expires that may still be valid somewhere. */
  liveUntil: z.number().optional(),
  /** The last end of this sign-in that the server confirmed; stays when somebody signs in again. */
  confirmedEnd: z.object({ endedAt: z.number(), confirmedAt: z.number() }).optional(),
  /** The audience of its newest access token; absent if the token can't be read. */
  audience: z.enum(['resource', 'unbound', 'other']).optional(),
  /** Of the last sign-in that asked for offline_access: whether a refresh token came, and whether consent was asked for. */
  offline: z.object({ hasCome: z.boolean(), byConsent: z.boolean() }).optional(),
});

export type SignIn = z.infer<typeof signInSchema>;

/** A sign-in that is ended, or that the user must renew, gives no more than before. */
export const signInRules: RecordRules<SignIn> = {
  keyOf: ({ id }) => id,
  isLess: (after, before) =>
    before !== undefined && (after.state.kind === 'revoked' || isOnlyOut(after, before)),
  itemsOf: itemsIn,
};

export function itemsIn({ item, earlier = [] }: SignIn): string[] {
  return [...(item === undefined ? [] : [item]), ...earlier.map((one) => one.item)];
}

function isOnlyOut({ state, ...after }: SignIn, { state: had, ...before }: SignIn): boolean {
  return state.kind === 'signInRequired' && had.kind === 'active' && isDeepStrictEqual(after, before);
}

/** Label for an account nobody named and no ID token identifies. */
export const defaultAccount = 'default';

/** The label by which another sign-in can name this account. `default` isn't one: it is our word for "no name". */
export function accountLabel({ account }: SignIn): string | undefined {
  return account === defaultAccount ? undefined : account;
}

const within = new WeakMap<SignIn, ReadonlySet<string>>();

/** For commands in messages, and for the network by which its servers are reached. */
export function firstEndpoint({
  endpoints: [first],
  resource,
}: Pick<SignIn, 'endpoints' | 'resource'>): string {
  return first ?? resource;
}

/** The endpoints that its resource covers (RFC 9728 §3.3). Computed once for each record, since no record changes. */
export function endpointsWithin(signIn: SignIn): ReadonlySet<string> {
  const known = within.get(signIn);
  if (known) return known;
  const judged = new Set(signIn.endpoints.filter((endpoint) => resourceCovers(signIn.resource, endpoint)));
  within.set(signIn, judged);
  return judged;
}

/** The subject that signed in, as the server named it; undefined if it named none. */
export function subjectOf({ subject }: Pick<SignIn, 'subject'>): string | undefined {
  return subject ?? undefined;
}

/** False for a sign-in that belongs to another app only. */
export function isFor({ purpose }: SignIn, appId: string): boolean {
  return purpose?.kind !== 'narrow' || purpose.appId === appId;
}

export const isShared = ({ purpose }: SignIn): boolean => purpose?.kind !== 'narrow';

/** A sign-in or a refresh for one app alone brought scopes that were not asked for. */
export const isWiderThanAsked = (signIn: SignIn): boolean =>
  !isShared(signIn) && !isWithin(withoutOfflineAccess(signIn.scope), signIn.requestedScope);

/** Not revoked: it is active, or the user must sign in again. */
export const isLiving = ({ state }: SignIn): boolean => state.kind !== 'revoked';

/** Every name of the sign-in's servers for which the user may have set an exception. */
export function namesOfServers({ endpoints, resource, issuer, server }: SignIn): string[] {
  return [...endpoints, resource, issuer, ...(server ? [server.identifier] : [])];
}
