/**
 * The broker's facts in the wire's words: RFC names, seconds, scopes as one text.
 *
 * Invariant: no answer here holds a secret (token.ts has the one that does). A local client sees of a grant what is its own.
 */
import type { ProcessFacts } from '../../broker/questions/client-process.ts';
import type { Broker } from '../../broker/broker.ts';
import { toWall } from '../../base/clock.ts';
import { explainGrant, leftOver, notableSkew } from '../../broker/explain.ts';
import type { NextRefresh } from '../../broker/explain.ts';
import type { StoredRow } from '../../audit/audit-row.ts';
import { reaches } from '../../broker/consent/grant-choice.ts';
import { namesOfServers } from '../../broker/records/grant.ts';
import type { Grant, Grants } from '../../broker/records/grant.ts';
import type { Interaction } from '../../broker/questions/interaction.ts';
import type { ApprovalRequest, OfferedGrant, Question } from '../../broker/questions/question.ts';
import type { Permission } from '../../broker/records/permission.ts';
import { triedUntil } from '../../broker/revocation/revoker.ts';
import type { SignInDetails } from '../../broker/questions/starter.ts';
import type { Receipt } from '../../broker/revocation/revoker.ts';
import { isInterpreter } from '../../ipc/peer/program.ts';
import type { ResultOf } from '../../ipc/protocol/methods.ts';
import type { Caller } from '../../ipc/server/server.ts';
import { formatScope } from '../../oauth/base/scope.ts';
import { spelled } from '../system/spelling.ts';

const seconds = (milliseconds: number): number => Math.floor(milliseconds / 1000);

export function grantAnswer(
  broker: Broker,
  grant: Grant,
  caller: Caller,
): ResultOf<'grant.list'>['grants'][number] {
  const { permissions, leases, clients, cache, clock } = broker.parts;
  const wall = clock.wall();
  const names = grant.endpoints
    .flatMap((endpoint) => [...permissions.shownFor(endpoint, wall), ...leases.forEndpoint(endpoint, wall)])
    .filter((permission) => reaches(permission, grant))
    .filter((permission) => caller.role === 'owner' || permission.clientId === caller.clientId)
    .map((permission) => clients.nameOf(permission.clientId));
  const expiresAt = Math.max(0, ...cache.of(grant.id).map((token) => token.expiresAt));
  return {
    id: grant.id,
    resource: grant.resource,
    endpoint: grant.endpoints[0] ?? grant.resource,
    issuer: grant.issuer,
    account: grant.account,
    scope: formatScope(grant.scope),
    state: shownState(broker, grant),
    overrides: broker.parts.overrides.shownFor(...namesOfServers(grant)),
    ...(grant.audience === undefined ? {} : { audience: grant.audience }),
    ...(grant.state.kind === 'loginRequired' ? { why: grant.state.why } : {}),
    ...receiptOf(broker, grant),
    ...(expiresAt > 0 ? { expires_at: seconds(toWall(clock, expiresAt)) } : {}),
    ...(grant.lastRefreshedAt === undefined ? {} : { lastRefreshedAt: seconds(grant.lastRefreshedAt) }),
    ...troubleOf(broker, grant),
    clients: [...new Set(names)],
  };
}

/** Empty for a grant that isn't revoked. */
function receiptOf(
  { parts }: Broker,
  { state, liveUntil = 0 }: Grant,
): Partial<ResultOf<'grant.revoke'>['revoked'][number]> {
  if (state.kind !== 'revoked') return {};
  const now = parts.clock.wall();
  const { receipt, endedAt, nextTry } = state;
  return {
    receipt,
    ...(endedAt === undefined ? {} : { endedAt: seconds(endedAt) }),
    ...(liveUntil > now ? { liveUntil: seconds(liveUntil) } : {}),
    ...(nextTry === undefined ? {} : { nextTry: seconds(nextTry) }),
    ...(receipt === 'pending' ? { triedUntil: seconds(triedUntil(state, now)) } : {}),
  };
}

export function receiptAnswer(
  broker: Broker,
  grant: Grant,
  receipt: Receipt,
): ResultOf<'grant.revoke'>['revoked'][number] {
  const { id, resource, issuer, account } = grant;
  return { id, resource, issuer, account, ...receiptOf(broker, grant), receipt };
}

type GrantAnswer = ResultOf<'grant.list'>['grants'][number];

function troubleOf({ parts }: Broker, grant: Grant): Pick<GrantAnswer, 'trouble' | 'attempt'> {
  const { refresher } = parts;
  const trouble = grant.state.kind === 'active' ? refresher.backoff.trouble(grant.id) : undefined;
  const attempt = leftOver(parts, grant);
  const at = (steady: number): number => seconds(toWall(parts.clock, steady));
  return {
    ...(trouble && {
      trouble: {
        reason: refresher.refusalOf(grant.id)?.reason ?? ('authorization_server_unreachable' as const),
        since: at(trouble.since),
        nextTryAt: at(trouble.nextTryAt),
      },
    }),
    ...(attempt && {
      attempt: {
        startedAt: seconds(attempt.startedAt),
        lost: attempt.isUnanswered ? ('answer' as const) : ('broker' as const),
      },
    }),
  };
}

/** A local client sees of the log what it did itself, and what happened to the grant. */
export function explanationAnswer(
  broker: Broker,
  grant: Grant,
  caller: Caller,
  rows: readonly StoredRow[],
): ResultOf<'grant.explain'>['grants'][number] {
  const own = caller.role === 'owner' ? undefined : broker.parts.clients.nameOf(caller.clientId);
  const { refresh, ...sentences } = explainGrant(broker.parts, grant);
  const refusals = refusalAnswers(broker, grant).filter(({ client }) => own === undefined || client === own);
  return {
    grant: grantAnswer(broker, grant, caller),
    signedInAt: seconds(grant.createdAt),
    ...sentences,
    ...(refusals.length === 0 ? {} : { refusals }),
    ...(refresh === undefined ? {} : { refresh: refreshAnswer(refresh) }),
    // A row for repeats is written after their minute, and stands where the last of them was.
    timeline: rows
      .toSorted((one, other) => one.time - other.time)
      .filter(({ client }) => own === undefined || client === undefined || client === own)
      .map(({ time, event, outcome = '', client, count }) => ({
        at: seconds(time),
        event,
        outcome,
        ...(client === undefined ? {} : { client }),
        ...(count === undefined ? {} : { count }),
      })),
  };
}

type RefusalAnswer = NonNullable<ResultOf<'grant.explain'>['grants'][number]['refusals']>[number];

function refusalAnswers(broker: Broker, grant: Grant): RefusalAnswer[] {
  const { clients, clock } = broker.parts;
  return broker.refusalsOf(grant).map(({ clientId, operation, until }) => ({
    client: clients.nameOf(clientId),
    ...(operation === undefined ? {} : { operation }),
    until: seconds(toWall(clock, until)),
  }));
}

function refreshAnswer(
  refresh: NextRefresh,
): NonNullable<ResultOf<'grant.explain'>['grants'][number]['refresh']> {
  const { by } = refresh;
  if (!('after' in refresh) || refresh.after === undefined) return { by };
  return { by, after: seconds(refresh.after) };
}

/** Issuers of our grants whose clocks are notably off. */
export function clocksAnswer({ grants, servers }: Broker['parts']): ResultOf<'status'>['clocks'] {
  const issuers = new Set(grants.all().map(({ issuer }) => issuer));
  return [...issuers]
    .map((issuer) => ({ issuer, skew: servers.skewOf(issuer) }))
    .filter(({ skew }) => Math.abs(skew) > notableSkew)
    .map(({ issuer, skew }) => ({ issuer, ahead: Math.round(skew / 1000) }));
}

function shownState({ parts }: Broker, grant: Grant): string {
  if (grant.state.kind !== 'active') return grant.state.kind;
  return parts.refresher.isRefreshing(grant.id) ? 'refreshing' : 'active';
}

type ClientAnswer = ResultOf<'client.list'>['clients'][number];

export function clientAnswers({ parts }: Broker): ClientAnswer[] {
  const { clients, permissions, leases, clock, grants } = parts;
  const wall = clock.wall();
  return clients.withCli().map((client) => ({
    clientId: client.id,
    name: client.name,
    pairedAt: seconds(client.pairedAt),
    ...(client.lastUsedAt === undefined ? {} : { lastUsedAt: seconds(client.lastUsedAt) }),
    ...fileAnswer(client.executable),
    permissions: [
      ...permissions.shownOf(client.id, wall).map((permission) => permissionAnswer(grants, permission)),
      ...leases.of(client.id, wall).map(({ permission, run, once }) => ({
        ...permissionAnswer(grants, permission),
        ...(run === undefined ? {} : { run: askerAnswer(run) }),
        ...(once === undefined ? {} : { once }),
      })),
    ],
  }));
}

/** The file that a program was paired from. Homes of before know the path of an interpreter as well. */
function fileAnswer(executable: string | undefined): Pick<ClientAnswer, 'executable' | 'file'> {
  if (executable === undefined) return {};
  return { executable, file: isInterpreter(executable) ? 'interpreter' : 'attested' };
}

/** None while the index of grants can't be read: `status` tells of that. */
function accountsOf(index: Grants, { grants = [] }: Permission): string[] {
  return index.isReadable ? grants.flatMap((id) => index.byId(id)?.account ?? []) : [];
}

function permissionAnswer(grants: Grants, permission: Permission): ClientAnswer['permissions'][number] {
  const accounts = accountsOf(grants, permission);
  return {
    resource: permission.endpoint,
    decision: permission.decision,
    ...(permission.scope === undefined ? {} : { scope: formatScope(permission.scope) }),
    ...(accounts.length > 0 ? { accounts } : {}),
    ...(permission.until === undefined ? {} : { until: seconds(permission.until) }),
  };
}

/** By name, as far as they have a value; and each with where it comes from. */
export function settingAnswer(
  details: ResultOf<'settings.get'>['details'],
  desk: ResultOf<'settings.get'>['desk'],
): ResultOf<'settings.get'> {
  const set = details.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value] as const]));
  return { settings: Object.fromEntries(set), details, desk };
}

/** Without what it does: the facts alone go over the wire. */
function askerAnswer({ verified, ...facts }: ProcessFacts): NonNullable<InteractionAnswer['asker']> {
  const { pid, executable, file, changeableBy, claim, enclosures, parents } = facts;
  return {
    verified,
    ...(pid === undefined ? {} : { pid }),
    ...(executable === undefined ? {} : { executable }),
    ...(file === undefined ? {} : { file }),
    ...(changeableBy === undefined ? {} : { changeableBy }),
    ...(claim === undefined ? {} : { claim: { ...claim, arguments: [...claim.arguments] } }),
    ...(enclosures === undefined ? {} : { enclosures: [...enclosures] }),
    ...(parents === undefined ? {} : { parents: [...parents] }),
  };
}

type InteractionAnswer = ResultOf<'interaction.list'>['interactions'][number];

/** `mayFinish`: the answer says how to finish a sign-in. */
export function interactionAnswer(
  { id, question, createdAt }: Interaction,
  mayFinish: boolean,
): InteractionAnswer {
  const common = { id, kind: question.kind, createdAt: seconds(createdAt), state: 'open' };
  switch (question.kind) {
    case 'allow':
      return {
        ...common,
        client: question.clientName,
        ...(question.asker === undefined ? {} : { asker: askerAnswer(question.asker) }),
        resource: question.endpoint,
        ...(question.scope === undefined ? {} : { scope: formatScope(question.scope) }),
        ...offeredAnswer(question.grant),
      };
    case 'pair':
      return {
        ...common,
        client: question.clientName,
        code: question.code,
        ...(question.asker === undefined ? {} : { asker: askerAnswer(question.asker) }),
      };
    case 'login':
    case 'device':
      return { ...common, ...signInAnswer(question, mayFinish) };
    case 'account':
      return {
        ...common,
        resource: question.endpoint,
        issuer: spelled(question.issuer),
        ...(question.account === undefined ? {} : { account: question.account }),
        accounts: [...question.known],
      };
    case 'settings':
      return { ...common, settings: question.settings.map((setting) => ({ ...setting })) };
    case 'command':
      return { ...common, asker: askerAnswer(question.asker), ...requestAnswer(question.request) };
  }
}

type SignInQuestion = Extract<Question, { readonly kind: 'login' | 'device' }>;

function signInAnswer(question: SignInQuestion, mayFinish: boolean): Partial<InteractionAnswer> {
  const common = {
    resource: question.endpoint,
    issuer: spelled(question.issuer),
    ...(question.account === undefined ? {} : { account: question.account }),
    ...(question.beside === undefined ? {} : { accounts: [...question.beside] }),
    startedBy: starterAnswer(question),
  };
  if (question.kind === 'device') {
    return mayFinish
      ? { ...common, code: question.userCode, url: question.completeUrl ?? question.url }
      : common;
  }
  return {
    ...common,
    ...(mayFinish ? { url: question.url } : {}),
    ...(question.hint === undefined ? {} : { hint: question.hint }),
    ...(mayFinish && question.startUrl !== undefined ? { startUrl: question.startUrl } : {}),
    ...(question.isNewClient === undefined ? {} : { newClient: question.isNewClient }),
    ...(question.ifForgotten === 'byHand' ? { replacedByHand: true as const } : {}),
    ...(question.formerIssuer === undefined ? {} : { formerIssuer: spelled(question.formerIssuer) }),
  };
}

/** A sign-in without a starter is nobody's but the windows'. */
const starterAnswer = ({ starter }: SignInDetails): 'program' | 'command' | 'window' =>
  starter?.by ?? 'window';

/** Whose tokens a yes allows. */
function offeredAnswer(grant: OfferedGrant | undefined): Partial<InteractionAnswer> {
  if (!grant) return {};
  const { issuer, account, held, isAnother } = grant;
  return { issuer: spelled(issuer), account, ...(isAnother ? { accounts: [...held] } : {}) };
}

type PermissionRequest = Extract<ApprovalRequest, { readonly command: 'allow' | 'endDenial' }>;

/** Which account a permission is for, or which ones a denial is about. */
function whoseAnswer(request: PermissionRequest): Partial<InteractionAnswer> {
  if (request.command === 'allow') return request.account === undefined ? {} : { account: request.account };
  return request.accounts === undefined ? {} : { accounts: [...request.accounts] };
}

function requestAnswer(request: ApprovalRequest): Partial<InteractionAnswer> {
  const { command } = request;
  switch (command) {
    case 'allow':
    case 'endDenial':
      return {
        command,
        client: request.clientName,
        resource: request.endpoint,
        ...(request.scope === undefined ? {} : { scope: formatScope(request.scope) }),
        ...whoseAnswer(request),
        ...(request.until === undefined ? {} : { until: seconds(request.until) }),
      };
    case 'register':
      return request;
    case 'login':
      return {
        command,
        resource: request.endpoint,
        method: request.method,
        ...(request.issuer === undefined ? {} : { issuer: request.issuer }),
        ...(request.account === undefined ? {} : { account: request.account }),
        ...(request.scope === undefined ? {} : { scope: formatScope(request.scope) }),
        ...(request.isNewClient === undefined ? {} : { newClient: request.isNewClient }),
      };
    case 'override':
      return { command, server: request.server, override: request.override };
    case 'settings': {
      const { name, value } = request;
      return { command, setting: { name, ...(value === undefined ? {} : { value }) } };
    }
    case 'unlock':
    case 'passphrase':
      return { command };
  }
}
