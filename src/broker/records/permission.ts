/**
 * Permissions: what the user decided about one app at one endpoint. A permission whose `decision` is `deny` is a denial.
 *
 * Invariants: nothing is authorized by silence. No permission means no token; a denial stays until the
 * user changes it; one whose time is over counts as none. Scopes are compared as literal sets. A
 * permission that names sign-ins yields tokens of those sign-ins and of no other.
 */
import { z } from 'zod';
import { KeyturnError } from '../../base/errors.ts';
import { isWithin, union } from '../../oauth/base/scope.ts';
import type { RecordRules } from '../../store/list-rules.ts';
import type { RecordList } from '../../store/home-document.ts';

export const permissionSchema = z.object({
  appId: z.string(),
  /** The canonical endpoint; for an API key its target (api-key.ts), which no endpoint looks like. */
  endpoint: z.string(),
  /** The canonical resource, once discovery verified it. Another one later voids the permission. */
  resource: z.string().optional(),
  /** Ids of the sign-ins whose tokens the app may have, in order. Absent: the first token names one. */
  signInIds: z.array(z.string()).optional(),
  /** For requests that name none. Absent: the only one; the user is asked where there are several. */
  account: z.string().optional(),
  /** Ids of sign-ins that the user denied on a card; no card asks about them again. */
  deniedSignInIds: z.array(z.string()).optional(),
  decision: z.enum(['allow', 'deny']),
  /** The fixed set of scopes; absent: any scope that the user consents to at the issuer. */
  scope: z.array(z.string()).optional(),
  /** Scopes beyond `scope` that the user denied on a card; no card asks about them again. */
  deniedScope: z.array(z.string()).optional(),
  /** The card named no scopes: the set is fixed to what the first token carries. */
  fixAtFirstToken: z.boolean().optional(),
  /** When it ends, in milliseconds since 1970. Absent: when the user ends it. */
  until: z.number().optional(),
  createdAt: z.number(),
});

export type Permission = z.infer<typeof permissionSchema>;

/** There is one permission of an app for an endpoint. */
export const keyOf = ({ appId, endpoint }: AppAtEndpoint): string => JSON.stringify([appId, endpoint]);

const contains = (one: readonly string[] = [], other: readonly string[] = []): boolean =>
  other.every((each) => one.includes(each));

const hasRefusal = ({ decision, deniedScope = [], deniedSignInIds = [] }: Permission): boolean =>
  decision === 'deny' || deniedScope.length > 0 || deniedSignInIds.length > 0;

/**
 * A denial takes away, unless it ends before the refusal that it replaces. So does a permission for no more
 * scopes, sign-ins and time than before, with every refusal of before.
 */
export const permissionRules: RecordRules<Permission> = {
  keyOf,
  isLess: (after, before) => {
    const [ends, ended] = [after.until ?? Infinity, before?.until ?? Infinity];
    if (after.decision === 'deny') return !before || !hasRefusal(before) || ends >= ended;
    if (before?.decision !== 'allow' || ends > ended || after.account !== before.account) return false;
    const hasScopes = before.scope === undefined || (after.scope && isWithin(after.scope, before.scope));
    // Without a name the first token picks any sign-in.
    const hasSignIns =
      !namesAnySignIn(before) || (namesAnySignIn(after) && contains(before.signInIds, after.signInIds));
    const isOpen = after.scope === undefined && before.fixAtFirstToken !== after.fixAtFirstToken;
    const hasResource = before.resource === undefined || before.resource === after.resource;
    const isStillRefused =
      contains(after.deniedScope, before.deniedScope) &&
      contains(after.deniedSignInIds, before.deniedSignInIds);
    return Boolean(hasScopes) && hasSignIns && !isOpen && hasResource && isStillRefused;
  },
};

/** The permission as a request read it. A change that expects it is valid only if the stored one is still the same. */
export interface AsRead {
  readonly read: Permission | undefined;
}

export class Permissions {
  readonly #file: RecordList<Permission>;
  #listener: () => void = () => undefined;

  constructor(file: RecordList<Permission>) {
    this.#file = file;
  }

  /** `listener` is called after every change. */
  watch(listener: () => void): void {
    this.#listener = listener;
  }

  /** The permission in force at `now` (milliseconds); undefined if the user has not decided. */
  find(appId: string, endpoint: string, now: number): Permission | undefined {
    return this.#file.items.find((p) => p.appId === appId && p.endpoint === endpoint && isInForce(p, now));
  }

  of(appId: string, now: number): Permission[] {
    return this.#file.items.filter((p) => p.appId === appId && isInForce(p, now));
  }

  /** These two, verified or not, are for the user's lists only. */
  shownOf(appId: string, now: number): Permission[] {
    return this.#file.shown.filter((p) => p.appId === appId && isInForce(p, now));
  }

  shownFor(endpoint: string, now: number): Permission[] {
    return this.#file.shown.filter((p) => p.endpoint === endpoint && allows(p, now));
  }

  /** In force or not. */
  asRead(key: AppAtEndpoint): AsRead {
    return { read: recordAt(this.#file.items, key) };
  }

  /** Sets the one permission of (app, endpoint). Throws `conflict` if the stored one isn't `expected`. */
  async set(permission: Permission, expected?: AsRead): Promise<void> {
    await this.#change((items) => {
      refuseOther(items, permission, expected);
      return [...others(items, permission), permission];
    });
  }

  /** Throws `conflict` if the user decided otherwise since `read`: the newer decision counts. */
  async replace(read: Permission, next: Permission): Promise<void> {
    await this.#change((items) => {
      if (!items.includes(read)) throw changedMeanwhile(read);
      return items.map((permission) => (permission === read ? next : permission));
    });
  }

  /** Returns whether there was one. Throws `conflict` if the stored one isn't `expected`. */
  async revoke(appId: string, endpoint: string, expected?: AsRead): Promise<boolean> {
    const key = { appId, endpoint };
    const { read } = this.asRead(key);
    await this.#change((items) => {
      refuseOther(items, key, expected);
      return others(items, key);
    });
    return read !== undefined;
  }

  /** Ends what is stored under this endpoint, of every app. Denials are under `next` then; without it they end too. */
  async removeAllFor(endpoint: string, next?: string): Promise<void> {
    if (!this.#file.items.some((p) => p.endpoint === endpoint)) return;
    const kept = (p: Permission): Permission[] =>
      next !== undefined && p.decision === 'deny' ? [{ ...p, endpoint: next }] : [];
    await this.#change((items) => items.flatMap((p) => (p.endpoint === endpoint ? kept(p) : [p])));
  }

  async removeAllOf(appId: string): Promise<void> {
    await this.#change((items) => items.filter((p) => p.appId !== appId));
  }

  /** What is taken away ends at once, even if it can't be stored. */
  #change(edit: Parameters<RecordList<Permission>['change']>[0]): Promise<void> {
    return this.#file.change(edit).finally(() => this.#listener());
  }
}

/** What a request needs from a permission. */
export interface WantedPermission {
  readonly scope: readonly string[];
  /** The id of the one sign-in that would serve, if the permission has to name it. */
  readonly signInId?: string | undefined;
}

export function covers(permission: Permission, { scope, signInId }: WantedPermission): boolean {
  if (permission.decision === 'deny') return false;
  if (signInId !== undefined && !namesSignIn(permission, signInId)) return false;
  if (permission.scope) return isWithin(scope, permission.scope);
  // Its card named no scopes: the user's sign-in page names them, and an app that names some needs a card with them.
  return scope.length === 0 || !permission.fixAtFirstToken;
}

export function isDenied(permission: Permission, { scope, signInId }: WantedPermission): boolean {
  if (permission.decision === 'deny' || scope.some((name) => permission.deniedScope?.includes(name)))
    return true;
  return signInId !== undefined && deniesSignIn(permission, signInId);
}

export function namesSignIn({ signInIds = [] }: Permission, signInId: string): boolean {
  return signInIds.includes(signInId);
}

export function deniesSignIn({ deniedSignInIds = [] }: Permission, signInId: string): boolean {
  return deniedSignInIds.includes(signInId);
}

/** True once the first token has fixed the permission to this sign-in, the resource and the scopes. */
export function isFixedTo(permission: Permission, signInId: string): boolean {
  const { resource, fixAtFirstToken = false } = permission;
  return namesSignIn(permission, signInId) && resource !== undefined && !fixAtFirstToken;
}

/** False until a card, a choice of the user or its first token names one. */
export function namesAnySignIn({ signInIds = [] }: Permission): boolean {
  return signInIds.length > 0;
}

/**
 * What a new decision of the user keeps of `before`: the app's accounts, and what the user denied on a card,
 * unless the new decision names those very scopes or accounts.
 */
export function carriedOver(
  before: Permission | undefined,
  { decision, scope, signInIds = [], account = before?.account }: Permission,
): Pick<Permission, 'deniedScope' | 'signInIds' | 'account' | 'deniedSignInIds'> {
  if (decision === 'deny' || before?.decision !== 'allow') return {};
  const named = union(before.signInIds ?? [], signInIds);
  const deniedSignInIds = before.deniedSignInIds?.filter((id) => !named.includes(id)) ?? [];
  const deniedScope = scope && before.deniedScope?.filter((name) => !scope.includes(name));
  return {
    ...(deniedScope ? { deniedScope } : {}),
    ...(named.length > 0 ? { signInIds: named } : {}),
    ...(account === undefined ? {} : { account }),
    ...(deniedSignInIds.length > 0 ? { deniedSignInIds } : {}),
  };
}

export type AppAtEndpoint = Pick<Permission, 'appId' | 'endpoint'>;

function recordAt(items: readonly Permission[], { appId, endpoint }: AppAtEndpoint): Permission | undefined {
  return items.find((p) => p.appId === appId && p.endpoint === endpoint);
}

function refuseOther(items: readonly Permission[], key: AppAtEndpoint, expected: AsRead | undefined): void {
  if (expected && recordAt(items, key) !== expected.read) throw changedMeanwhile(key);
}

function others(items: readonly Permission[], { appId, endpoint }: AppAtEndpoint): Permission[] {
  return items.filter((p) => p.appId !== appId || p.endpoint !== endpoint);
}

function isInForce({ until }: Permission, now: number): boolean {
  return until === undefined || until > now;
}

function allows(permission: Permission, now: number): boolean {
  return permission.decision === 'allow' && isInForce(permission, now);
}

function changedMeanwhile({ endpoint }: AppAtEndpoint): KeyturnError {
  return new KeyturnError('conflict', `The permission for ${endpoint} changed in the meantime.`, {
    hint: 'Try again: the newer decision counts.',
  });
}
