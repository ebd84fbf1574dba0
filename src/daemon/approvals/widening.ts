/**
 * Which permissions, and which ends of one, give an app more than it had, and what the user is asked before them.
 *
 * Invariants: what isn't clearly less is more. It is compared with what is stored, not with the lists,
 * which don't show all that a permission is held to.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Broker } from '../../broker/broker.ts';
import { wholeSeconds } from '../../base/clock.ts';
import { signInsOfAccount } from '../../broker/consent/sign-in-choice.ts';
import { apiKeyTarget, shownApiKey, type ApiKey } from '../../broker/records/api-key.ts';
import { namesSignIn, type AsRead, type Permission } from '../../broker/records/permission.ts';
import { noApiKey } from '../../broker/refusals/permission-refusals.ts';
import { KeyturnError, shellWord } from '../../base/errors.ts';
import type { ParamsOf, ResultOf } from '../../ipc/protocol/methods.ts';
import { formatScope, isWithin, parseScope, union } from '../../oauth/base/scope.ts';

export type ApprovalRequestAnswer = ResultOf<'request.list'>['requests'][number];

/** What a command would widen, in the wire's words. A secret of it (a client secret, a passphrase) isn't here. */
export type CommandApproval = Partial<ApprovalRequestAnswer> & {
  readonly command: NonNullable<ApprovalRequestAnswer['command']>;
};

/** Those of `apiKey.permission.set` are the same, without scopes and account. */
type PermissionParams = ParamsOf<'permission.set'>;

/** What the user denied an app at an endpoint. */
interface Denial {
  /** Single scopes; absent, with no accounts either: everything. */
  readonly scope?: readonly string[];
  readonly accounts?: readonly string[];
  /** Milliseconds since 1970; absent: until the user ends it. */
  readonly until?: number;
}

/** Undefined: nothing. Reads records, which are verified by then. */
export function denialOf({ parts }: Broker, appId: string, endpoint: string): Denial | undefined {
  const now = parts.clock.wall();
  const current = parts.permissions.find(appId, endpoint, now);
  const until = current?.until;
  if (current?.decision === 'deny') return { until };
  const forNow = parts.temporaryPermissions
    .of(appId, now)
    .filter(({ permission }) => permission.endpoint === endpoint);
  const standing = [...(current ? [current] : []), ...forNow.map(({ permission }) => permission)];
  const scope = union(...standing.map(({ deniedScope = [] }) => deniedScope));
  const ids = union(...standing.map(({ deniedSignInIds = [] }) => deniedSignInIds));
  if (scope.length === 0 && ids.length === 0) return undefined;
  const accounts = ids.map((id) => parts.signIns.byId(id)?.account ?? id);
  return {
    scope: scope.length > 0 ? scope : undefined,
    accounts: accounts.length > 0 ? accounts : undefined,
    until,
  };
}

/** Throws `not_found`. */
export function requireKey(broker: Broker, resource: string): ApiKey {
  const endpoint = broker.exact(resource);
  const key = broker.parts.apiKeys.for(endpoint);
  if (!key) throw noApiKey(endpoint);
  return key;
}

/** What a permission is stored under, and what a card shows of that. */
interface Place {
  readonly target: string;
  readonly shown: Pick<ApprovalRequestAnswer, 'resource' | 'apiKey'>;
}

/** Throws `invalid_resource`, and `not_found` where there is no key. */
type PlaceOf = (broker: Broker, resource: string) => Place;

export const tokenPlace: PlaceOf = (broker, resource) => {
  const endpoint = broker.canonical(resource);
  return { target: endpoint, shown: { resource: endpoint } };
};

/** The API key that the endpoint has now. */
export const keyPlace: PlaceOf = (broker, resource) => {
  const key = requireKey(broker, resource);
  return { target: apiKeyTarget(key), shown: { resource: key.endpoint, apiKey: shownApiKey(key) } };
};

/**
 * What a request would set. An account is added to the present permission: scopes and end that the request leaves out stay what
 * they are. Throws `not_found` for an unknown app or account, and `conflict` if it leaves out the scopes and
 * the permission has run out.
 */
export function decisionOf(broker: Broker, params: PermissionParams, placeOf = tokenPlace): Permission {
  const { permissions, clock, signIns, apps } = broker.parts;
  const appId = apps.resolve(params.app);
  const endpoint = placeOf(broker, params.resource).target;
  const createdAt = clock.wall();
  const until = params.until === undefined ? undefined : params.until * 1000;
  const scope = params.scope === undefined ? undefined : parseScope(params.scope);
  const given = { ...(scope === undefined ? {} : { scope }), ...(until === undefined ? {} : { until }) };
  const decided = { appId, endpoint, decision: params.decision, createdAt, ...given };
  const { account } = params;
  if (account === undefined || params.decision === 'deny') return decided;
  const named = { ...decided, signInIds: signInsOfAccount(signIns, { appId, endpoint, account }) };
  const current = permissions.find(appId, endpoint, createdAt);
  if (current?.decision !== 'allow') {
    const hasRunOut = !current && permissions.asRead(decided).read?.decision === 'allow';
    if (hasRunOut && scope === undefined) throw ranOut(apps.nameOf(appId), endpoint);
    return named;
  }
  const { fixAtFirstToken, resource } = current;
  // Of several accounts, the one that was named last serves the requests that name none.
  const hasOthers = current.signInIds?.some((id) => !named.signInIds.includes(id)) ?? false;
  return {
    ...(current.until === undefined ? {} : { until: current.until }),
    ...(current.scope === undefined ? {} : { scope: current.scope }),
    ...(scope === undefined && fixAtFirstToken !== undefined ? { fixAtFirstToken } : {}),
    ...(resource === undefined ? {} : { resource }),
    ...(hasOthers ? { account } : {}),
    ...named,
  };
}

/** What a request sets, as it was when its card was made, or, without a card, when it was carried out. */
export interface PermissionChange {
  readonly decided: Permission;
  /** It is valid only while this is unchanged. Absent: it is always valid. */
  readonly expected?: AsRead;
}

/** Throws what `decisionOf` throws. */
export function permissionChange(
  broker: Broker,
  params: PermissionParams,
  placeOf = tokenPlace,
): PermissionChange {
  const decided = decisionOf(broker, params, placeOf);
  const addsAccount = params.account !== undefined && params.decision === 'allow';
  // What gives no more needs no approval, and must not undo what the user decides meanwhile.
  if (!addsAccount && widensPermission(broker, params, placeOf)) return { decided };
  return { decided, expected: broker.parts.permissions.asRead(decided) };
}

/** What is set now, which is what was judged. Throws `conflict` if it would be something else by now. */
export function requireUnchanged(
  broker: Broker,
  params: PermissionParams,
  { decided }: PermissionChange,
): Permission {
  const now = decisionOf(broker, params);
  if (isDeepStrictEqual({ ...now, createdAt: 0 }, { ...decided, createdAt: 0 })) return now;
  throw new KeyturnError('conflict', `The permission for ${now.endpoint} changed in the meantime.`, {
    rule: 'An approval sets only what its card showed',
    hint: 'Look at the present permission (`keyturn app list`), and name the scopes: `keyturn app allow` with --scope.',
  });
}

/**
 * True unless the app has such a permission already, and it reaches as far as the new one and lasts as long.
 * Reads records, which are verified by then. Throws what `permission.set` would throw for such params.
 */
export function widensPermission(broker: Broker, params: PermissionParams, placeOf = tokenPlace): boolean {
  const { permissions, clock } = broker.parts;
  const {
    app: _app,
    resource: _resource,
    decision,
    scope: _scope,
    until: _until,
    account: _account,
    ...more
  } = params;
  const decided = decisionOf(broker, params, placeOf);
  const { appId, endpoint, scope: wanted } = decided;
  const until = decided.until === undefined ? undefined : wholeSeconds(decided.until);
  const refused = denialOf(broker, appId, endpoint);
  if (decision !== 'allow') return refused !== undefined && isOverSooner(until, refused.until);
  const current = permissions.find(appId, endpoint, clock.wall());
  if (current?.decision !== 'allow' || Object.values(more).some((value) => value !== undefined)) return true;
  if (decided.signInIds?.some((id) => !namesSignIn(current, id))) return true;
  if (decided.account !== undefined && decided.account !== current.account) return true;
  return (
    !reachesOnly(wanted, current.scope) ||
    !endsBy(until, current.until) ||
    isOpenEnded(broker, current) ||
    undoesDenial(wanted, refused)
  );
}

/**
 * What the user of the Keyturn app is asked before a permission is set. Undefined: it gives no more than what is allowed
 * already.
 */
export function permissionRequest(
  broker: Broker,
  params: PermissionParams,
  placeOf = tokenPlace,
): CommandApproval | undefined {
  const { appId, scope, until } = decisionOf(broker, params, placeOf);
  if (!widensPermission(broker, params, placeOf)) return undefined;
  const place = placeOf(broker, params.resource);
  if (params.decision === 'deny') return denialEndRequest(broker, appId, place, params.until);
  return {
    command: 'allow',
    app: broker.parts.apps.nameOf(appId),
    ...place.shown,
    scope: scope && formatScope(scope),
    account: params.account,
    until: until && wholeSeconds(until),
  };
}

/** `until`, in seconds: the denial would end then; absent: now. */
export function denialEndRequest(
  broker: Broker,
  appId: string,
  { target, shown }: Place,
  until?: number,
): CommandApproval | undefined {
  const denial = denialOf(broker, appId, target);
  if (!denial) return undefined;
  return {
    command: 'endDenial',
    app: broker.parts.apps.nameOf(appId),
    ...shown,
    scope: denial.scope && formatScope(denial.scope),
    accounts: denial.accounts,
    until,
  };
}

/** Absent: not limited to any scopes. */
function reachesOnly(wanted: readonly string[] | undefined, has: readonly string[] | undefined): boolean {
  return has === undefined || (wanted !== undefined && isWithin(wanted, has));
}

/** Absent: until it is ended. `wanted` in seconds since 1970, `has` in milliseconds. */
function endsBy(wanted: number | undefined, has: number | undefined): boolean {
  // The lists show whole seconds, and what is as long as they say is no longer.
  return has === undefined || (wanted !== undefined && wanted <= wholeSeconds(has));
}

/**
 * True if a permission is held to the scopes of its first token, or to the resource that the server named
 * then and doesn't name any more. Set again it is held to neither.
 */
function isOpenEnded({ parts }: Broker, { endpoint, resource, fixAtFirstToken }: Permission): boolean {
  if (fixAtFirstToken === true) return true;
  return (
    resource !== undefined &&
    parts.signIns.forEndpoint(endpoint).some((signIn) => signIn.resource !== resource)
  );
}

/** The user denied single scopes on a card; a permission for all of them names each. */
function undoesDenial(wanted: readonly string[] | undefined, refused: Denial | undefined): boolean {
  return refused?.scope?.some((name) => wanted === undefined || wanted.includes(name)) ?? false;
}

/** A denial with an end, instead of a refusal that lasts longer. `wanted` in seconds, `has` in milliseconds. */
function isOverSooner(wanted: number | undefined, has: number | undefined): boolean {
  return wanted !== undefined && (has === undefined || wanted < wholeSeconds(has));
}

function ranOut(appName: string, endpoint: string): KeyturnError {
  return new KeyturnError('conflict', `The permission of ${appName} for ${endpoint} has expired.`, {
    rule: 'A new account gets the scopes of the present permission; this one has expired and has none',
    hint: `Name them: keyturn app allow ${shellWord(appName)} ${shellWord(endpoint)} --account ACCOUNT --scope "A B" (and --for TIME). For every scope, run \`keyturn app revoke ${shellWord(appName)} ${shellWord(endpoint)}\` first.`,
  });
}
