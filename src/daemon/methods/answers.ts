/**
 * The broker's facts in the wire's words: RFC names, seconds, scopes as one text.
 *
 * Invariant: no answer here holds a secret (only `token.get` answers with one). An app sees only its own
 * part of a sign-in.
 */
import type { Broker } from '../../broker/broker.ts';
import { toWall, wholeSeconds } from '../../base/clock.ts';
import { explainSignIn, lostRefreshOf, notableSkew, type NextRefresh } from '../../broker/explain.ts';
import type { StoredRow } from '../../audit/audit-row.ts';
import { serves } from '../../broker/consent/sign-in-choice.ts';
import { isApiKeyTarget, shownApiKey } from '../../broker/records/api-key.ts';
import { firstEndpoint, namesOfServers, type SignIn } from '../../broker/records/sign-in.ts';
import type { SignIns } from '../../broker/records/sign-ins.ts';
import type { Permission } from '../../broker/records/permission.ts';
import { triedUntil, type Receipt } from '../../broker/revocation/revoker.ts';
import { isInterpreter } from '../../ipc/peer/program.ts';
import type { ResultOf } from '../../ipc/protocol/methods.ts';
import { processAnswer } from './request-methods.ts';
import type { Caller } from '../../ipc/server/server.ts';
import { formatScope } from '../../oauth/base/scope.ts';

export function signInAnswer(broker: Broker, signIn: SignIn, caller: Caller): SignInAnswer {
  const { signIns, permissions, temporaryPermissions, apps, cache, clock, refresher } = broker.parts;
  const wall = clock.wall();
  const { refreshedAt } = refresher.secrets.factsOf(signIn);
  const names = signIn.endpoints
    .flatMap((endpoint) => [
      ...permissions.shownFor(endpoint, wall),
      ...temporaryPermissions.forEndpoint(endpoint, wall),
    ])
    .filter((permission) => serves(permission, signIn, signIns.shownFor(permission.endpoint)))
    .filter((permission) => caller.role === 'owner' || permission.appId === caller.appId)
    .map((permission) => apps.nameOf(permission.appId));
  const expiresAt = Math.max(0, ...cache.of(signIn.id).map((token) => token.expiresAt));
  return {
    id: signIn.id,
    resource: signIn.resource,
    endpoint: firstEndpoint(signIn),
    issuer: signIn.issuer,
    account: signIn.account,
    scope: formatScope(signIn.scope),
    state: shownState(broker, signIn),
    exceptions: broker.parts.exceptions.shownFor(...namesOfServers(signIn)),
    tokenType: signIn.isKeyBound ? 'DPoP' : 'Bearer',
    audience: signIn.audience,
    why: signIn.state.kind === 'signInRequired' ? signIn.state.why : undefined,
    ...receiptOf(broker, signIn),
    expires_at:
      expiresAt > 0 && Number.isFinite(expiresAt) ? wholeSeconds(toWall(clock, expiresAt)) : undefined,
    lastRefreshedAt: refreshedAt && wholeSeconds(refreshedAt),
    ...troubleOf(broker, signIn),
    apps: [...new Set(names)],
  };
}

/** Empty for a sign-in that isn't revoked. */
function receiptOf(
  { parts }: Broker,
  { state, liveUntil = 0 }: SignIn,
): Partial<ResultOf<'signIn.revoke'>['revoked'][number]> {
  if (state.kind !== 'revoked') return {};
  const now = parts.clock.wall();
  const { receipt, endedAt, nextTryAt } = state;
  return {
    receipt,
    endedAt: wholeSeconds(endedAt),
    liveUntil: liveUntil > now ? wholeSeconds(liveUntil) : undefined,
    nextTryAt: nextTryAt && wholeSeconds(nextTryAt),
    triedUntil: receipt === 'pending' ? wholeSeconds(triedUntil(state)) : undefined,
  };
}

export function receiptAnswer(
  broker: Broker,
  signIn: SignIn,
  receipt: Receipt,
): ResultOf<'signIn.revoke'>['revoked'][number] {
  const { id, resource, issuer, account } = signIn;
  return { id, resource, issuer, account, ...receiptOf(broker, signIn), receipt };
}

type SignInAnswer = ResultOf<'signIn.list'>['signIns'][number];

function troubleOf({ parts }: Broker, signIn: SignIn): Pick<SignInAnswer, 'trouble' | 'lostRefresh'> {
  const { refresher } = parts;
  const trouble = signIn.state.kind === 'active' ? refresher.failures.backoff.trouble(signIn.id) : undefined;
  const attempt = lostRefreshOf(parts, signIn);
  const at = (steady: number): number => wholeSeconds(toWall(parts.clock, steady));
  return {
    trouble: trouble && {
      reason: refresher.failures.refusals.last(signIn.id)?.reason ?? 'authorization_server_unreachable',
      since: at(trouble.since),
      nextTryAt: at(trouble.nextTryAt),
    },
    lostRefresh: attempt && {
      startedAt: wholeSeconds(attempt.startedAt),
      cause: attempt.isUnanswered ? 'answerLost' : 'brokerStopped',
    },
  };
}

/** An app sees of the log what it did itself, and what happened to the sign-in. */
export function explanationAnswer(
  broker: Broker,
  signIn: SignIn,
  caller: Caller,
  rows: readonly StoredRow[],
): Explanation {
  const own = caller.role === 'owner' ? undefined : broker.parts.apps.nameOf(caller.appId);
  const { refresh, ...sentences } = explainSignIn(broker.parts, signIn);
  const rejections = rejectionAnswers(broker, signIn).filter(({ app }) => own === undefined || app === own);
  return {
    signIn: signInAnswer(broker, signIn, caller),
    signedInAt: wholeSeconds(signIn.signedInAt ?? signIn.createdAt),
    ...sentences,
    rejections: rejections.length === 0 ? undefined : rejections,
    refresh: refresh && refreshAnswer(refresh),
    // A row for repeats is written after their minute, and stands where the last of them was.
    timeline: rows
      .toSorted((one, other) => one.time - other.time)
      .filter(({ app }) => own === undefined || app === undefined || app === own)
      .map(({ time, event, outcome = '', app, count }) => {
        return { at: wholeSeconds(time), event, outcome, app, count };
      }),
  };
}

type Explanation = ResultOf<'signIn.show'>['signIns'][number];

function rejectionAnswers(broker: Broker, signIn: SignIn): NonNullable<Explanation['rejections']> {
  const { apps, clock } = broker.parts;
  return broker.rejections.limits.pausesOf(signIn.id).map(({ appId, operation, until }) => ({
    app: apps.nameOf(appId),
    operation,
    until: wholeSeconds(toWall(clock, until)),
  }));
}

function refreshAnswer(refresh: NextRefresh): Explanation['refresh'] {
  const after = 'after' in refresh ? refresh.after : undefined;
  return { by: refresh.by, after: after && wholeSeconds(after) };
}

/** Issuers of our sign-ins whose clocks are notably off. */
export function clocksAnswer({ signIns, servers }: Broker['parts']): ResultOf<'status'>['clocks'] {
  const issuers = new Set(signIns.shown().map(({ issuer }) => issuer));
  return [...issuers]
    .map((issuer) => ({ issuer, skew: servers.skewOf(issuer) }))
    .filter(({ skew }) => Math.abs(skew) > notableSkew)
    .map(({ issuer, skew }) => ({ issuer, ahead: Math.round(skew / 1000) }));
}

function shownState({ parts }: Broker, signIn: SignIn): string {
  if (signIn.state.kind !== 'active') return signIn.state.kind;
  return parts.refresher.turns.isTaken(signIn.id) ? 'refreshing' : 'active';
}

type AppAnswer = ResultOf<'app.list'>['apps'][number];

export function appAnswers({ parts }: Broker): AppAnswer[] {
  const { apps, permissions, temporaryPermissions, clock } = parts;
  const wall = clock.wall();
  return apps.withCli().map((app) => ({
    appId: app.id,
    name: apps.nameOf(app.id),
    pairedAt: wholeSeconds(app.pairedAt),
    lastUsedAt: app.lastUsedAt && wholeSeconds(app.lastUsedAt),
    ...fileAnswer(app.executable),
    proxied: app.proxy === undefined ? undefined : true,
    forward: app.forward,
    permissions: [
      ...permissions.shownOf(app.id, wall).flatMap((permission) => permissionAnswer(parts, permission)),
      ...temporaryPermissions.of(app.id, wall).flatMap(({ permission, run, once }) =>
        permissionAnswer(parts, permission).map((answer) => ({
          ...answer,
          run: run && processAnswer(run),
          once,
        })),
      ),
    ],
  }));
}

/** The file that an app was paired from, or the interpreter that ran it. */
function fileAnswer(executable: string | undefined): Pick<AppAnswer, 'executable' | 'file'> {
  if (executable === undefined) return {};
  return { executable, file: isInterpreter(executable) ? 'interpreter' : 'attested' };
}

type Accounts = Pick<AppAnswer['permissions'][number], 'accounts' | 'issuers' | 'account' | 'deniedAccounts'>;

function accountsOf(all: SignIns, permission: Permission): Accounts {
  const { endpoint, signInIds = [], deniedSignInIds = [], account } = permission;
  const shown = all.shown();
  const there = new Set(all.shownFor(endpoint).map(({ issuer }) => issuer));
  const known = (ids: readonly string[]): SignIn[] =>
    ids.flatMap((id) => shown.find((signIn) => signIn.id === id) ?? []);
  const named = known(signInIds);
  const denied = known(deniedSignInIds).map((signIn) => signIn.account);
  const deniedAccounts = denied.length > 0 ? denied : undefined;
  if (named.length === 0) return { deniedAccounts };
  return {
    deniedAccounts,
    accounts: named.map((signIn) => signIn.account),
    ...(there.size > 1 ? { issuers: named.map(({ issuer }) => issuer) } : {}),
    ...(named.length > 1 && account !== undefined ? { account } : {}),
  };
}

/** None for a permission of an API key that is no more: it gives nothing. */
function permissionAnswer(
  { apps, signIns, apiKeys }: Broker['parts'],
  permission: Permission,
): AppAnswer['permissions'] {
  const { decision } = permission;
  const lastUsedAt = apps.lastUseAt(permission);
  const times = {
    until: permission.until && wholeSeconds(permission.until),
    decidedAt: wholeSeconds(permission.createdAt),
    lastUsedAt: lastUsedAt && wholeSeconds(lastUsedAt),
  };
  if (isApiKeyTarget(permission.endpoint)) {
    const key = apiKeys.shownOf(permission.endpoint);
    return key ? [{ resource: key.endpoint, apiKey: shownApiKey(key), decision, ...times }] : [];
  }
  return [
    {
      resource: permission.endpoint,
      decision,
      ...(permission.scope === undefined ? {} : { scope: formatScope(permission.scope) }),
      ...(permission.deniedScope?.length ? { deniedScope: formatScope(permission.deniedScope) } : {}),
      ...accountsOf(signIns, permission),
      ...times,
    },
  ];
}

/** By name, as far as they have a value; and each with where it comes from. */
export function settingAnswer(
  details: ResultOf<'settings.get'>['details'],
  approver: ResultOf<'settings.get'>['approver'],
): ResultOf<'settings.get'> {
  const set = details.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value] as const]));
  return { settings: Object.fromEntries(set), details, approver };
}
