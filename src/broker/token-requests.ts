/**
 * `token.get`, from the request to the answer: permission → grant → token in memory → answer. Where memory has no fresh
 * token: refresh (tokens/token-source.ts), or sign-in (request-sign-ins.ts).
 *
 * Invariants (4, 6 and 10, docs/internals.md): no permission, no token. A local client gets a token only if the token's
 * granted scopes lie within its permission, as literal sets. A token belongs to a grant, which is found by the endpoint
 * that led there, never by a name, and goes only to programs whose permission names that grant.
 *
 * A valid token in memory is answered without any I/O and without any `await` between the look-up and the answer, so
 * nothing can change in between and nothing is checked twice. Where a step waits, others go on: then the request starts
 * again (a step that returns undefined), or checks again, and a comment there names the race.
 */
import { reasonOf } from '../base/errors.ts';
import { DeadlineExceeded, requestDeadline } from '../base/request-deadline.ts';
import { canonicalResource } from '../oauth/base/resource.ts';
import { isWithin, union, withoutOfflineAccess } from '../oauth/base/scope.ts';
import type { AccountChoices } from './account-choices.ts';
import { placeOf } from './account-choices.ts';
import type { Consent } from './consent/consent.ts';
import type { Covering, CurrentPermissions } from './consent/current-permissions.ts';
import {
  chooseGrant,
  lostFor,
  scopesToNarrowTo,
  requireEndpoint,
  requireSameResource,
} from './consent/grant-choice.ts';
import type { BrokerParts } from './parts.ts';
import type { PermittedRequest, PendingRequest } from './pending-request.ts';
import { isStepUp, isUnnamedStepUp } from './questions/token-request.ts';
import type { Token, TokenRequest } from './questions/token-request.ts';
import type { Grant } from './records/grant.ts';
import { hasLostCompany } from './records/company.ts';
import { isChild } from './records/local-client.ts';
import { isBoundTo } from './records/permission.ts';
import { refuseByPolicy } from './refusals/grant-policy.ts';
import * as refusals from './refusals/refusals.ts';
import type { Rejections } from './rejections.ts';
import type { RequestSignIns } from './request-sign-ins.ts';
import { isFresh, scopeKey } from './tokens/token-cache.ts';
import type { AccessToken } from './tokens/token-cache.ts';
import { ScopeExchange } from './tokens/scope-exchange.ts';
import { renewedToken } from './tokens/token-source.ts';

/** A request starts again after each sign-in, card or lost race; if it starts more often, something flaps. */
const maxTries = 6;

export interface TokenRequestParts {
  readonly parts: BrokerParts;
  readonly consent: Consent;
  readonly signIns: RequestSignIns;
  readonly rejections: Rejections;
  readonly choices: AccountChoices;
}

export class TokenRequests {
  readonly #parts: BrokerParts;
  readonly #consent: Consent;
  readonly #current: CurrentPermissions;
  readonly #signIns: RequestSignIns;
  readonly #rejections: Rejections;
  readonly #choices: AccountChoices;
  readonly #exchange: ScopeExchange;

  constructor({ parts, consent, signIns, rejections, choices }: TokenRequestParts) {
    this.#parts = parts;
    this.#consent = consent;
    this.#current = consent.current;
    this.#signIns = signIns;
    this.#rejections = rejections;
    this.#choices = choices;
    this.#exchange = new ScopeExchange(parts);
  }

  async answer(request: TokenRequest): Promise<Token> {
    const endpoint = canonicalResource(request.resource, this.#parts.urlPolicy);
    const deadline = requestDeadline(this.#parts.clock, request.timeout, request.signal);
    const { clientId, asker, account } = request;
    // A child run asks nobody: the person decided about the program behind it.
    const interaction = isChild(clientId) ? 'never' : request.interaction;
    const access = {
      clientId,
      ...(asker === undefined ? {} : { asker }),
      ...(account === undefined ? {} : { account }),
      endpoint,
      scope: neededScope(request),
      interaction,
    };
    const pending = { request, endpoint, access, deadline, hasSignedIn: false };
    try {
      // Before anything else: during a pause nobody is asked, and no page opens.
      this.#parts.pause.refuse();
      if (request.chosenBy) await this.#choices.requireFolder(pending);
      return await this.#withConsent(pending);
    } catch (error) {
      const refusal =
        error instanceof DeadlineExceeded ? this.#signIns.stillPending(clientId, endpoint) : error;
      this.#note(request, endpoint, 'refused', reasonOf(refusal));
      throw refusal;
    } finally {
      deadline.end();
    }
  }

  /** One card may answer several requests, and "once" is for one of them: the others ask again. */
  async #withConsent(pending: PendingRequest): Promise<Token> {
    const { deadline } = pending;
    const { leases } = this.#parts;
    for (;;) {
      // Read anew each time: a sign-in may have chosen a grant for this request.
      const { access } = pending;
      const spent = leases.spentBy(access.clientId);
      const permissions = this.#current.covering(access);
      if (!permissions) await this.#consent.requirePermission(access, deadline);
      try {
        return await this.#retryConflicts(pending, permissions);
      } catch (error) {
        // Race: another request used up what was allowed once, while this one waited.
        const isUsedUp = leases.spentBy(access.clientId) > spent;
        if (!isUsedUp || reasonOf(error) !== 'consent_required' || access.interaction === 'never')
          throw error;
      }
    }
  }

  /** `known`: the permissions, if nothing was awaited since they were looked up. */
  async #retryConflicts(pending: PendingRequest, known: Covering | undefined): Promise<Token> {
    let permissions = known;
    for (let tries = 0; tries < maxTries; tries += 1) {
      try {
        const token = await this.#tryOnce(pending, permissions);
        if (token) return token;
      } catch (error) {
        // Race: somebody else changed the grant. The newer state decides.
        if (reasonOf(error) !== 'conflict') throw error;
      }
      // Race: the last try waited, and a permission may have ended meanwhile.
      permissions = undefined;
    }
    throw refusals.changesTooFast(pending.endpoint);
  }

  /** Undefined: permission or grant have changed, start again. */
  async #tryOnce(
    pending: PendingRequest,
    known: Covering = this.#current.requireCovering(pending.access),
  ): Promise<Token | undefined> {
    const { access, endpoint, deadline } = pending;
    const { grants, pause, refresher } = this.#parts;
    // Race: the owner may have paused while a card was open. No sign-in begins then.
    pause.refuse();
    const comparison = refresher.secrets.comparison;
    let permissions = known;
    let there = grants.forEndpoint(endpoint);
    // What the index says of a grant counts only where the vault says so too.
    if (!comparison.areCompared(there)) {
      await refresher.compareWithVault(there);
      // Races: the index may have been mended by the vault, and the user may have ended a permission.
      there = grants.forEndpoint(endpoint);
      permissions = this.#current.requireCovering(access);
    }
    // A grant that is for one program serves its children too.
    const asked = isChild(access.clientId)
      ? { ...access, clientId: this.#parts.delegations.rootOf(access.clientId) }
      : access;
    const choice = chooseGrant({ there, comparison }, asked, permissions);
    switch (choice.kind) {
      case 'use':
        return this.#serve({ pending, access, permission: choice.permission }, choice.grant);
      case 'signIn':
        return startAgainAfter(
          this.#signIns.signIn({ pending, access, permission: permissions[0] }, choice.grant),
        );
      case 'choose':
        return startAgainAfter(this.#choices.choose(pending, choice.permission, choice.accounts));
      case 'ask':
        // Race: a permission ended since the file's choice was checked.
        this.#choices.refuseOther(pending);
        refuseByPolicy(this.#parts, choice.grant);
        return startAgainAfter(
          this.#consent.requirePermission({ ...access, grantId: choice.grant.id }, deadline),
        );
      case 'moved':
        throw refusals.movedAway(endpoint, choice.grant);
      case 'lost':
        return startAgainAfter(refresher.readOrRefuse(choice.grant.id));
      case 'unknownAccount':
        this.#choices.refuseOther(pending);
        throw refusals.unknownAccount(endpoint, choice.account, choice.known);
    }
  }

  /** What the permission gives of this grant. Undefined: start again. */
  async #serve(permitted: PermittedRequest, grant: Grant): Promise<Token | undefined> {
    const { pending, access, permission } = permitted;
    const { cache, clock, refresher } = this.#parts;
    const { challenge, minimumValidity } = pending.request;
    let hasWaited = false;
    if (grant.state.kind === 'moved') throw refusals.movedAway(pending.endpoint, grant);
    if (grant.state.kind !== 'active') return startAgainAfter(this.#signIns.signIn(permitted, grant));
    refuseByPolicy(this.#parts, grant);
    if (!refresher.secrets.comparison.isVouched(grant.id))
      return startAgainAfter(refresher.readOrRefuse(grant.id));
    const lost = lostFor(grant, permission, access.scope);
    if (lost.length > 0) return startAgainAfter(this.#signIns.restore(permitted, grant, lost));
    if (!isWithin(access.scope, grant.scope)) return startAgainAfter(this.#signIns.stepUp(permitted, grant));
    if (isUnnamedStepUp(challenge)) {
      if (await this.#signIns.stepUpToListed(permitted, grant)) return undefined;
      hasWaited = true;
    }
    requireSameResource(permission, grant);
    if (this.#rejections.isSuspect(grant)) {
      if (!(await this.#rejections.isStillNamed(pending, grant))) return undefined;
      hasWaited = true;
    }
    const narrow = scopesToNarrowTo(grant, permission);
    if (narrow && (narrow.length === 0 || !grant.hasRefreshToken))
      throw refusals.notNarrowed(permission, grant);
    let token = cache.get(grant.id, scopeKey(narrow));
    if (token && challenge) this.#rejections.refuseDuringPause(pending, grant);
    if (!token || !isFresh(token, clock.now(), minimumValidity)) {
      if (hasLostCompany(this.#parts, grant)) return startAgainAfter(this.#signIns.signIn(permitted, grant));
      const isDelegated = isChild(access.clientId);
      const need = { cached: token, narrow, isDelegated, minimumValidity, deadline: pending.deadline };
      const renewed = await renewedToken({ ...this.#parts, exchange: this.#exchange }, grant, need);
      if (renewed === 'signIn') return startAgainAfter(this.#signIns.signIn(permitted, grant));
      if (renewed === 'changed') return undefined;
      token = renewed;
      hasWaited = true;
    }
    const current = hasWaited ? this.#stillServing(permitted, grant, token) : grant;
    return current && this.#handOut(permitted, current, token);
  }

  /**
   * The grant as it is now. Undefined where it no longer serves. Races, while the request waited: the user may have
   * ended the permission or the grant, a lease may be over, and the refresh may have come back with fewer scopes than
   * before.
   */
  #stillServing(
    { access, permission }: PermittedRequest,
    { id }: Grant,
    token: AccessToken,
  ): Grant | undefined {
    const { cache, grants } = this.#parts;
    const grant = grants.byId(id);
    const isAllowed = this.#current.covering(access)?.includes(permission) === true;
    if (!grant || !isAllowed || !cache.holds(id, token)) return undefined;
    return lostFor(grant, permission, access.scope).length > 0 ? undefined : grant;
  }

  async #handOut(
    { pending, access, permission }: PermittedRequest,
    grant: Grant,
    token: AccessToken,
  ): Promise<Token | undefined> {
    const { request, endpoint } = pending;
    const { cache, clients, clock, leases, pause } = this.#parts;
    requireEndpoint(grant, endpoint);
    // A token that came while the rule was waived, where the policy keeps it now.
    if (grant.audience === 'other') this.#parts.policy.refuseOverride('audience');
    if (!isWithin(access.scope, token.scope)) throw refusals.notGranted(endpoint, access.scope, grant);
    let bound = permission;
    if (!isBoundTo(permission, grant.id)) {
      bound = await this.#consent.changes.bind(permission, grant, token.scope);
      // Race: the user may have ended the permission or the grant while that was written.
      const isAllowed = this.#current.covering(access)?.includes(bound) === true;
      if (!isAllowed || !cache.holds(grant.id, token)) return undefined;
    }
    // Invariant 10: literal sets, checked on what the server really granted.
    if (bound.scope && !isWithin(withoutOfflineAccess(token.scope), bound.scope))
      throw refusals.notNarrowed(bound, grant);
    // Race: the owner may have paused while this request waited.
    pause.refuse();
    leases.used(bound);
    token.handedTo.add(access.clientId);
    clients.used(access.clientId, clock.wall());
    this.#note(request, endpoint, 'token', 'ok', { grant, token });
    const { accessToken, tokenId, expiresAt, scope } = token;
    const { resource, account, issuer } = grant;
    const tokenType = token.proofKey ? 'DPoP' : 'Bearer';
    return { accessToken, tokenType, tokenId, expiresAt, scope, resource, account, issuer };
  }

  /** The row in the audit log. */
  #note(
    { clientId, chosenBy }: TokenRequest,
    endpoint: string,
    event: 'token' | 'refused',
    outcome: string,
    given?: { readonly grant: Grant; readonly token: AccessToken },
  ): void {
    const { audit, clients } = this.#parts;
    const folder = chosenBy && placeOf(this.#parts, clientId, chosenBy.folder);
    const row = {
      event,
      outcome,
      client: clients.nameOf(clientId),
      endpoint,
      ...(folder === undefined ? {} : { folder }),
    };
    if (!given) return audit.note(row);
    const { id, resource, issuer } = given.grant;
    const fingerprint = audit.fingerprint(given.token.accessToken);
    const shown = fingerprint === undefined ? {} : { fingerprint };
    return audit.note({ ...row, grant: id, resource, issuer, scope: given.token.scope, ...shown });
  }
}

/**
 * The caller's scopes and those of an insufficient_scope challenge (RFC 6750 §3.1): the scopes that the token needs.
 */
function neededScope({ scope = [], challenge }: TokenRequest): string[] {
  return withoutOfflineAccess(union(scope, isStepUp(challenge) ? (challenge?.bearer?.scope ?? []) : []));
}

/** The request starts again, since permission and grant may be others now. */
async function startAgainAfter(work: Promise<void>): Promise<undefined> {
  await work;
}
