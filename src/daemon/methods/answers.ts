/**
 * The broker's facts in the wire's words: RFC names, seconds, scopes as one text.
 *
 * Invariant: no answer here holds a secret (only `token.get` answers with one). An app sees only its own
 * part of a grant.
 */
import type { Broker } from '../../broker/broker.ts';
import { toWall, wholeSeconds } from '../../base/clock.ts';
import { explainGrant, leftOver, notableSkew } from '../../broker/explain.ts';
import type { NextRefresh } from '../../broker/explain.ts';
import type { StoredRow } from '../../audit/audit-row.ts';
import { serves } from '../../broker/consent/grant-choice.ts';
import { isKeySubject, shownKey } from '../../broker/records/api-key.ts';
import { namesOfServers } from '../../broker/records/grant.ts';
import type { Grant } from '../../broker/records/grant.ts';
import type { Grants } from '../../broker/records/grants.ts';
import type { Permission } from '../../broker/records/permission.ts';
import { triedUntil } from '../../broker/revocation/revoker.ts';
import type { Receipt } from '../../broker/revocation/revoker.ts';
import { isInterpreter } from '../../ipc/peer/program.ts';
import type { ResultOf } from '../../ipc/protocol/methods.ts';
import { processAnswer } from './open-questions.ts';
import type { Caller } from '../../ipc/server/server.ts';
import { formatScope } from '../../oauth/base/scope.ts';

export function grantAnswer(
  broker: Broker,
  grant: Grant,
  caller: Caller,
): ResultOf<'signIn.list'>['signIns'][number] {
  const { grants, permissions, leases, apps, cache, clock, refresher } = broker.parts;
  const wall = clock.wall();
  const { refreshedAt } = refresher.secrets.factsOf(grant);
  const names = grant.endpoints
    .flatMap((endpoint) => [...permissions.shownFor(endpoint, wall), ...leases.forEndpoint(endpoint, wall)])
    .filter((permission) => serves(permission, grant, grants.shownFor(permission.endpoint)))
    .filter((permission) => caller.role === 'owner' || permission.appId === caller.appId)
    .map((permission) => apps.nameOf(permission.appId));
  const expiresAt = Math.max(0, ...cache.of(grant.id).map((token) => token.expiresAt));
  return {
    id: grant.id,
    resource: grant.resource,
    endpoint: grant.endpoints[0] ?? grant.resource,
    issuer: grant.issuer,
    account: grant.account,
    scope: formatScope(grant.scope),
    state: shownState(broker, grant),
    exceptions: broker.parts.exceptions.shownFor(...namesOfServers(grant)),
    tokenType: grant.isKeyBound ? 'DPoP' : 'Bearer',
    audience: grant.audience,
    ...(grant.state.kind === 'signInRequired' ? { why: grant.state.why } : {}),
    ...receiptOf(broker, grant),
    ...(expiresAt > 0 && Number.isFinite(expiresAt)
      ? { expires_at: wholeSeconds(toWall(clock, expiresAt)) }
      : {}),
    ...(refreshedAt === undefined ? {} : { lastRefreshedAt: wholeSeconds(refreshedAt) }),
    ...troubleOf(broker, grant),
    apps: [...new Set(names)],
  };
}

/** Empty for a grant that isn't revoked. */
function receiptOf(
  { parts }: Broker,
  { state, liveUntil = 0 }: Grant,
): Partial<ResultOf<'signIn.revoke'>['revoked'][number]> {
  if (state.kind !== 'revoked') return {};
  const now = parts.clock.wall();
  const { receipt, endedAt, nextTry } = state;
  return {
    receipt,
    endedAt: wholeSeconds(endedAt),
    ...(liveUntil > now ? { liveUntil: wholeSeconds(liveUntil) } : {}),
    ...(nextTry === undefined ? {} : { nextTry: wholeSeconds(nextTry) }),
    ...(receipt === 'pending' ? { triedUntil: wholeSeconds(triedUntil(state)) } : {}),
  };
}

export function receiptAnswer(
  broker: Broker,
  grant: Grant,
  receipt: Receipt,
): ResultOf<'signIn.revoke'>['revoked'][number] {
  const { id, resource, issuer, account } = grant;
  return { id, resource, issuer, account, ...receiptOf(broker, grant), receipt };
}

type GrantAnswer = ResultOf<'signIn.list'>['signIns'][number];

function troubleOf({ parts }: Broker, grant: Grant): Pick<GrantAnswer, 'trouble' | 'attempt'> {
  const { refresher } = parts;
  const trouble = grant.state.kind === 'active' ? refresher.failures.backoff.trouble(grant.id) : undefined;
  const attempt = leftOver(parts, grant);
  const at = (steady: number): number => wholeSeconds(toWall(parts.clock, steady));
  return {
    ...(trouble && {
      trouble: {
        reason:
          refresher.failures.refusalOf(grant.id)?.reason ?? ('authorization_server_unreachable' as const),
        since: at(trouble.since),
        nextTryAt: at(trouble.nextTryAt),
      },
    }),
    ...(attempt && {
      attempt: {
        startedAt: wholeSeconds(attempt.startedAt),
        lost: attempt.isUnanswered ? ('answer' as const) : ('broker' as const),
      },
    }),
  };
}

/** An app sees of the log what it did itself, and what happened to the grant. */
export function explanationAnswer(
  broker: Broker,
  grant: Grant,
  caller: Caller,
  rows: readonly StoredRow[],
): ResultOf<'signIn.show'>['signIns'][number] {
  const own = caller.role === 'owner' ? undefined : broker.parts.apps.nameOf(caller.appId);
  const { refresh, ...sentences } = explainGrant(broker.parts, grant);
  const refusals = refusalAnswers(broker, grant).filter(({ app }) => own === undefined || app === own);
  return {
    signIn: grantAnswer(broker, grant, caller),
    signedInAt: wholeSeconds(grant.createdAt),
    ...sentences,
    ...(refusals.length === 0 ? {} : { refusals }),
    ...(refresh === undefined ? {} : { refresh: refreshAnswer(refresh) }),
    // A row for repeats is written after their minute, and stands where the last of them was.
    timeline: rows
      .toSorted((one, other) => one.time - other.time)
      .filter(({ app }) => own === undefined || app === undefined || app === own)
      .map(({ time, event, outcome = '', app, count }) => ({
        at: wholeSeconds(time),
        event,
        outcome,
        app,
        count,
      })),
  };
}

type RefusalAnswer = NonNullable<ResultOf<'signIn.show'>['signIns'][number]['refusals']>[number];

function refusalAnswers(broker: Broker, grant: Grant): RefusalAnswer[] {
  const { apps, clock } = broker.parts;
  return broker.rejections.pausesOf(grant).map(({ appId, operation, until }) => ({
    app: apps.nameOf(appId),
    operation,
    until: wholeSeconds(toWall(clock, until)),
  }));
}

function refreshAnswer(
  refresh: NextRefresh,
): NonNullable<ResultOf<'signIn.show'>['signIns'][number]['refresh']> {
  const { by } = refresh;
  if (!('after' in refresh) || refresh.after === undefined) return { by };
  return { by, after: wholeSeconds(refresh.after) };
}

/** Issuers of our grants whose clocks are notably off. */
export function clocksAnswer({ grants, servers }: Broker['parts']): ResultOf<'status'>['clocks'] {
  const issuers = new Set(grants.shown().map(({ issuer }) => issuer));
  return [...issuers]
    .map((issuer) => ({ issuer, skew: servers.skewOf(issuer) }))
    .filter(({ skew }) => Math.abs(skew) > notableSkew)
    .map(({ issuer, skew }) => ({ issuer, ahead: Math.round(skew / 1000) }));
}

function shownState({ parts }: Broker, grant: Grant): string {
  if (grant.state.kind !== 'active') return grant.state.kind;
  return parts.refresher.turns.isTaken(grant.id) ? 'refreshing' : 'active';
}

type AppAnswer = ResultOf<'app.list'>['apps'][number];

export function appAnswers({ parts }: Broker): AppAnswer[] {
  const { apps, permissions, leases, clock } = parts;
  const wall = clock.wall();
  return apps.withCli().map((app) => ({
    appId: app.id,
    name: apps.nameOf(app.id),
    pairedAt: wholeSeconds(app.pairedAt),
    ...(app.lastUsedAt === undefined ? {} : { lastUsedAt: wholeSeconds(app.lastUsedAt) }),
    ...fileAnswer(app.executable),
    ...(app.proxy === undefined ? {} : { proxied: true as const }),
    forward: app.forward,
    permissions: [
      ...permissions.shownOf(app.id, wall).flatMap((permission) => permissionAnswer(parts, permission)),
      ...leases.of(app.id, wall).flatMap(({ permission, run, once }) =>
        permissionAnswer(parts, permission).map((answer) => ({
          ...answer,
          ...(run === undefined ? {} : { run: processAnswer(run) }),
          once,
        })),
      ),
    ],
  }));
}

/** The file that a program was paired from. Homes of before know the path of an interpreter as well. */
function fileAnswer(executable: string | undefined): Pick<AppAnswer, 'executable' | 'file'> {
  if (executable === undefined) return {};
  return { executable, file: isInterpreter(executable) ? 'interpreter' : 'attested' };
}

function accountsOf(all: Grants, { grants = [] }: Permission): string[] {
  const shown = all.shown();
  return grants.flatMap((id) => shown.find((grant) => grant.id === id)?.account ?? []);
}

/** None for a permission of an API key that is no more: it gives nothing. */
function permissionAnswer(
  { apps, grants, keys }: Broker['parts'],
  permission: Permission,
): AppAnswer['permissions'] {
  const { decision } = permission;
  const lastUsedAt = apps.lastUseAt(permission);
  const times = {
    ...(permission.until === undefined ? {} : { until: wholeSeconds(permission.until) }),
    ...(lastUsedAt === undefined ? {} : { lastUsedAt: wholeSeconds(lastUsedAt) }),
  };
  if (isKeySubject(permission.endpoint)) {
    const key = keys.shownOf(permission.endpoint);
    return key ? [{ resource: key.endpoint, apiKey: shownKey(key), decision, ...times }] : [];
  }
  const accounts = accountsOf(grants, permission);
  return [
    {
      resource: permission.endpoint,
      decision,
      ...(permission.scope === undefined ? {} : { scope: formatScope(permission.scope) }),
      ...(accounts.length > 0 ? { accounts } : {}),
      ...(accounts.length > 1 && permission.account !== undefined ? { account: permission.account } : {}),
      ...times,
    },
  ];
}

/** By name, as far as they have a value; and each with where it comes from. */
export function settingAnswer(
  details: ResultOf<'settings.get'>['details'],
  keyturnApp: ResultOf<'settings.get'>['keyturnApp'],
): ResultOf<'settings.get'> {
  const set = details.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value] as const]));
  return { settings: Object.fromEntries(set), details, keyturnApp };
}
