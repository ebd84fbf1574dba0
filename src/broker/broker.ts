/**
 * The broker: joins permissions, grants, vault and sign-in, and answers `token.get`.
 *
 * A token's whole way, top to bottom: permission → cached token → refresh → (only if allowed)
 * interaction: challenge → discovery → registration → authorization → token → vault → answer.
 *
 * Invariants: no permission, no token (DESIGN 6). A local client gets a token only if the token's
 * granted scopes lie within its permission, as literal sets (10). A token belongs to a grant, which is
 * found by the endpoint that led there, never by a name (4), and goes only to programs whose permission names
 * that grant. A valid token in memory is answered without any I/O.
 */
import { reasonOf } from '../base/errors.ts';
import type { KeyturnError } from '../base/errors.ts';
import { asTyped, canonicalResource } from '../oauth/base/resource.ts';
import { stepUpScope, isWithin, withoutOfflineAccess, union } from '../oauth/base/scope.ts';
import { Consent } from './consent/consent.ts';
import { listedScope, stillNames } from './sign-in/destination.ts';
import type { AccessRequest } from './consent/consent.ts';
import type { SignInRequest } from './sign-in/sign-in-context.ts';
import { chooseGrant, narrowerThan, requireEndpoint, requireSameResource } from './consent/grant-choice.ts';
import { accountLabel, namesBeside } from './records/grant.ts';
import type { Grant } from './records/grant.ts';
import { StepUpLimit } from './refusals/limits.ts';
import { lostFor } from './refusals/lost-scope.ts';
import type { BrokerParts } from './parts.ts';
import { requestDeadline, DeadlineExceeded } from '../base/request-deadline.ts';
import type { RequestDeadline } from '../base/request-deadline.ts';
import { anotherPageFirst, stillPending } from './refusals/pending-refusals.ts';
import type { Permission } from './records/permission.ts';
import type { Question } from './questions/question.ts';
import * as refusals from './refusals/refusals.ts';
import { waitsForUser } from './refusals/login-required.ts';
import { SignIns } from './sign-in/sign-ins.ts';
import type { SignInMethod, Starter } from './questions/starter.ts';
import { isAlive, scopeKey } from './tokens/token-cache.ts';
import type { AccessToken } from './tokens/token-cache.ts';
import { expiryGrace, TokenRefusals } from './refusals/token-refusals.ts';
import type { Rejection, RejectionOutcome, RefusalPause } from './refusals/token-refusals.ts';
import { hintOf, isStepUp, isUnnamedStepUp, neededScope } from './questions/token-request.ts';
import type { Token, TokenRequest } from './questions/token-request.ts';
import { tokenOf } from './tokens/token-source.ts';

/** A request looks at its grant anew after each sign-in, card or lost race; more rounds mean something flaps. */
const maxRounds = 6;

export interface LoginRequest {
  readonly resource: string;
  readonly scope?: readonly string[];
  readonly account?: string;
  readonly issuer?: string;
  /** By a client that is registered anew, whatever is registered there already. */
  readonly isNewClient?: boolean;
  readonly method: SignInMethod;
  readonly starter?: Starter;
  /** Milliseconds. */
  readonly timeout: number;
  readonly signal: AbortSignal;
}

/** A request on its way: what was asked and how long it waits. */
interface Asked {
  readonly request: TokenRequest;
  readonly endpoint: string;
  /** Its scopes are those that the answer must carry. */
  wanted: AccessRequest;
  readonly waiting: RequestDeadline;
  /** One sign-in for one request, besides a step-up. */
  hasSignedIn: boolean;
}

/** What a sign-in is for; `grant` is the one that it should renew. */
interface SignInFor extends Pick<SignInRequest, 'notGranted' | 'isStepUp'> {
  readonly scope: readonly string[];
  readonly account: string | undefined;
  readonly grant: Grant | undefined;
}

/** One round of it, with the permission as it stands. */
interface Way extends Readonly<Omit<Asked, 'hasSignedIn'>> {
  readonly asked: Asked;
  readonly permission: Permission;
}

export class Broker {
  readonly parts: BrokerParts;
  readonly consent: Consent;
  readonly #signIns: SignIns;
  readonly #stepUps: StepUpLimit;
  readonly #refusals: TokenRefusals;
  /** Grants whose token was refused: before the next one is handed out, their server is asked who its issuer is. */
  readonly #suspects = new Set<string>();
  /** By grant, what its server lists, asked once for each generation of the grant. */
  readonly #listed = new Map<string, { readonly generation: number; readonly scope: readonly string[] }>();

  constructor(parts: BrokerParts) {
    this.parts = parts;
    this.consent = new Consent(parts);
    this.#signIns = new SignIns(parts);
    this.#stepUps = new StepUpLimit(() => parts.clock.now());
    this.#refusals = new TokenRefusals(() => parts.clock.now());
  }

  /**
   * The broker is about to stop: whoever waits for the person is told so, and asks the next broker.
   * Resolves when every rotation and sign-in under way has its tokens in the vault.
   */
  async end(): Promise<void> {
    const reason = refusals.brokerStopping();
    const signIns = this.#signIns.end(reason);
    const questions = this.consent.end(reason);
    this.parts.interactions.end(reason);
    await Promise.all([signIns, questions]);
    await this.parts.refresher.settled();
  }

  /** The canonical endpoint for what a person typed. Throws `invalid_resource`. */
  canonical(resource: string): string {
    return canonicalResource(resource, this.parts.urlPolicy);
  }

  async getToken(request: TokenRequest): Promise<Token> {
    const endpoint = this.canonical(request.resource);
    const waiting = requestDeadline(this.parts.clock, request.timeout, request.signal);
    const { clientId, asker, account, interaction } = request;
    const wanted = {
      clientId,
      ...(asker === undefined ? {} : { asker }),
      ...(account === undefined ? {} : { account }),
      endpoint,
      scope: neededScope(request),
      interaction,
    };
    try {
      return await this.#permittedWalk({ request, endpoint, wanted, waiting, hasSignedIn: false });
    } catch (error) {
      const told = error instanceof DeadlineExceeded ? this.#stillPending(clientId, endpoint) : error;
      this.#note(request, endpoint, 'refused', reasonOf(told));
      throw told;
    } finally {
      waiting.end();
    }
  }

  /** One card may answer several requests, and "once" is for one of them: the others ask again. */
  async #permittedWalk(asked: Asked): Promise<Token> {
    const { wanted, waiting } = asked;
    for (;;) {
      const spent = this.parts.leases.spentBy(wanted.clientId);
      await this.consent.requirePermission(wanted, waiting);
      try {
        return await this.#walk(asked);
      } catch (error) {
        const isUsedUp = this.parts.leases.spentBy(wanted.clientId) > spent;
        if (!isUsedUp || reasonOf(error) !== 'consent_required' || wanted.interaction === 'never')
          throw error;
      }
    }
  }

  async #walk(asked: Asked): Promise<Token> {
    for (let round = 0; round < maxRounds; round += 1) {
      try {
        const token = await this.#round(asked);
        if (token) return token;
      } catch (error) {
        // Somebody else changed the grant: the newer state decides.
        if (reasonOf(error) !== 'conflict') throw error;
      }
    }
    throw refusals.changesTooFast(asked.endpoint);
  }

  /** Undefined: permission or grant have changed, look again. */
  async #round(asked: Asked): Promise<Token | undefined> {
    const { request, endpoint, wanted, waiting } = asked;
    const permission = this.consent.currentPermission(wanted);
    // What the index says of them counts only where the vault says so too.
    const grants = this.parts.grants.forEndpoint(endpoint);
    if (!grants.every(({ id }) => this.parts.refresher.isVouched(id))) {
      await this.parts.refresher.vouch(grants);
    }
    const choice = chooseGrant(this.parts, wanted, this.consent.currentPermissions(wanted));
    if (choice.kind === 'ask') {
      await this.consent.requirePermission({ ...wanted, grantId: choice.grant.id }, waiting);
      return undefined;
    }
    if (choice.kind === 'lost') {
      await this.parts.refresher.refuseUnheld(choice.grant.id);
      return undefined;
    }
    if (choice.kind === 'unknownAccount') {
      throw refusals.unknownAccount(endpoint, choice.account, choice.known);
    }
    const way = { request, endpoint, wanted, waiting, asked, permission };
    if (choice.kind === 'signIn') {
      await this.#signInFor(way, choice.grant);
      return undefined;
    }
    return this.#roundWith({ ...way, permission: choice.permission }, choice.grant);
  }

  async #roundWith(way: Way, grant: Grant): Promise<Token | undefined> {
    const { wanted } = way;
    if (grant.state.kind !== 'active') {
      await this.#signInFor(way, grant);
      return undefined;
    }
    if (!this.parts.refresher.isHeld(grant.id)) await this.parts.refresher.refuseUnheld(grant.id);
    const lost = lostFor(grant, way.permission, wanted.scope);
    if (lost.length > 0) {
      await this.#restore(way, grant, lost);
      return undefined;
    }
    if (!isWithin(wanted.scope, grant.scope)) {
      await this.#stepUp(way, grant);
      return undefined;
    }
    if (await this.#stepUpToListed(way, grant)) return undefined;
    const token = await this.#tokenFrom(way, grant);
    return token && this.#handOut(way, grant, token);
  }

  /** A token for this permission. Undefined: the grant changed, look again. */
  async #tokenFrom(way: Way, grant: Grant): Promise<AccessToken | undefined> {
    requireSameResource(way.permission, grant);
    if (!(await this.#isStillNamed(way, grant))) return undefined;
    const narrow = narrowerThan(grant, way.permission);
    if (narrow && (narrow.length === 0 || !grant.hasRefreshToken)) {
      throw refusals.notNarrowed(way.permission, grant);
    }
    if (this.parts.cache.get(grant.id, scopeKey(narrow))) this.#refuseDuringPause(way, grant);
    const { minimumValidity } = way.request;
    const token = await tokenOf(this.parts, grant, { narrow, minimumValidity, waiting: way.waiting });
    if (token === 'signIn') await this.#signInFor(way, grant);
    return typeof token === 'string' ? undefined : token;
  }

  /** Undefined where permission or grant changed while the token was on its way. */
  async #handOut(way: Way, grant: Grant, token: AccessToken): Promise<Token | undefined> {
    const { wanted, endpoint, permission } = way;
    if (!this.consent.currentPermissions(wanted).includes(permission)) return undefined;
    requireEndpoint(this.parts.grants, endpoint, grant);
    // As it is now: the refresh that gave this token may have come back with less than there was.
    const current = this.parts.grants.byId(grant.id);
    if (current && lostFor(current, permission, wanted.scope).length > 0) return undefined;
    if (!isWithin(wanted.scope, token.scope)) throw refusals.notGranted(endpoint, wanted.scope, grant);
    const bound = await this.consent.bind(permission, grant, token.scope);
    // Read anew: writing it down took time, in which the user may have ended it.
    if (!this.consent.currentPermissions(wanted).includes(bound)) return undefined;
    if (!this.parts.cache.holds(grant.id, token)) return undefined;
    // DESIGN invariant 10: literal sets, checked on what the server really granted.
    if (bound.scope && !isWithin(withoutOfflineAccess(token.scope), bound.scope))
      throw refusals.notNarrowed(bound, grant);
    this.parts.leases.used(bound);
    token.handedTo.add(wanted.clientId);
    this.parts.clients.used(wanted.clientId, this.parts.clock.wall());
    this.#note(way.request, endpoint, 'token', 'ok', { grant, token });
    const { accessToken, tokenId, expiresAt, scope } = token;
    const { resource, account, issuer } = grant;
    return { accessToken, tokenId, expiresAt, scope, resource, account, issuer };
  }

  /** Spec, Step-up: a new authorization with the union of what was asked before and what is needed now. */
  async #stepUp(way: Way, grant: Grant): Promise<void> {
    const { request, endpoint, wanted } = way;
    if (isWithin(wanted.scope, grant.requestedScope)) {
      throw refusals.notGranted(endpoint, wanted.scope, grant);
    }
    const tried = { clientId: request.clientId, endpoint, operation: request.operation ?? '' };
    if (this.#stepUps.isExhausted(tried)) throw refusals.stepUpExhausted(endpoint);
    const missing = wanted.scope.filter((scope) => !grant.scope.includes(scope));
    this.#refuseUnattended(way, `it needs a new sign-in for ${missing.join(' ')}`);
    this.#stepUps.add(tried);
    await this.#startSignIn(way, {
      ...stepUpScope(grant, wanted.scope),
      account: accountLabel(grant),
      grant,
      isStepUp: true,
    });
  }

  /**
   * Spec, Step-up and Scope selection: a challenge without `scope` asks for all that the server lists. What was asked for
   * before isn't asked for again; then the token stays, and the server's answer stands. Answers whether somebody signed in.
   */
  async #stepUpToListed(way: Way, grant: Grant): Promise<boolean> {
    const { request, endpoint, wanted, waiting, asked, permission } = way;
    if (!isUnnamedStepUp(request.challenge) || asked.hasSignedIn) return false;
    const hint = { endpoint, typed: asTyped(request.resource), ...hintOf(request, permission) };
    const known = this.#listed.get(grant.id);
    const isKnown = known?.generation === grant.generation;
    const scope = isKnown ? known.scope : await listedScope(this.parts, hint);
    this.#listed.set(grant.id, { generation: grant.generation, scope });
    const had = union(grant.requestedScope, grant.scope, permission.refused ?? []);
    const more = scope.filter((name) => !had.includes(name));
    if (more.length === 0) return false;
    const wider = { ...wanted, scope: union(wanted.scope, more) };
    await this.consent.requirePermission(wider, waiting);
    await this.#stepUp({ ...way, wanted: wider }, grant);
    return true;
  }

  /** One sign-in brings back what a narrower token took (lost-scope.ts). */
  async #restore(way: Way, grant: Grant, lost: readonly string[]): Promise<void> {
    const { wanted, asked, endpoint } = way;
    if (asked.hasSignedIn) throw refusals.notGranted(endpoint, lost, grant);
    this.#refuseUnattended(way, refusals.scopesLost(grant.issuer, lost));
    await this.#startSignIn(way, {
      scope: union(grant.requestedScope, grant.scope, lost, wanted.scope),
      account: accountLabel(grant),
      grant,
    });
  }

  async #signInFor(way: Way, grant: Grant | undefined): Promise<void> {
    const { endpoint, request, wanted, asked, permission } = way;
    if (grant?.state.kind === 'revoked') throw refusals.grantRevoked(endpoint);
    if (grant && waitsForUser(grant, permission)) throw refusals.endedAlong(endpoint, grant);
    if (asked.hasSignedIn) throw refusals.uselessSignIn(endpoint);
    this.#refuseUnattended(way, grant ? refusals.whyAgain(grant) : 'nobody has signed in there yet');
    const isHeld = grant && this.parts.refresher.isHeld(grant.id);
    await this.#startSignIn(way, {
      ...(isHeld ? stepUpScope(grant, wanted.scope) : { scope: wanted.scope }),
      account: request.account ?? (grant && accountLabel(grant)),
      grant,
    });
  }

  #refuseUnattended({ endpoint, request }: Way, why: string): void {
    if (this.#signIns.needsUser(endpoint)) throw refusals.lastPageFailed(endpoint);
    // Where the owner entered a client that needs no person, only discovery tells whether it is for this server.
    if (this.parts.registrations.hasUnattended()) return;
    if (request.interaction === 'never') throw refusals.noSignIn(endpoint, why);
    this.#signIns.refusePaused(endpoint);
  }

  async #startSignIn(way: Way, { scope, account, grant, ...noted }: SignInFor): Promise<void> {
    const { endpoint, permission, request, wanted, waiting, asked } = way;
    const arrived = await this.#signIns.automatic(
      {
        endpoint,
        typed: asTyped(request.resource),
        ...noted,
        ...(scope.length === 0 ? {} : { scope }),
        ...(account === undefined ? {} : { account }),
        ...(permission.scope === undefined ? {} : { bound: union(permission.scope, scope) }),
        ...hintOf(request, permission),
        isUnattended: request.interaction === 'never',
        ...(grant === undefined ? {} : { grantId: grant.id }),
      },
      waiting.signal,
    );
    asked.hasSignedIn = true;
    if (!grant || arrived.id === grant.id) return;
    const chosen = { ...wanted, grantId: arrived.id };
    // The server may name another issuer now. Either way it is a grant of its own, which no permission names yet.
    const isMoved = arrived.issuer !== grant.issuer || arrived.resource !== grant.resource;
    if (!isMoved && request.account !== undefined) {
      throw refusals.anotherSignedIn(this.parts.clients.nameOf(request.clientId), endpoint, grant, arrived);
    }
    await this.consent.requirePermission(chosen, waiting);
    // What the person chose answers this request. The next one goes on with the grant that the permission names first.
    if (!isMoved) asked.wanted = chosen;
  }

  /** The user signs in on purpose: earlier failures and limits of this endpoint are forgotten. */
  async login({ resource, timeout, signal, ...asked }: LoginRequest): Promise<Grant> {
    const endpoint = this.canonical(resource);
    this.consent.signingIn(endpoint);
    this.userActed(endpoint);
    const waiting = requestDeadline(this.parts.clock, timeout, signal);
    try {
      await this.parts.refresher.vouch(this.parts.grants.forEndpoint(endpoint));
      const beside = namesBeside(this.parts.grants, endpoint, asked.account);
      return await this.#signIns.byUser(
        { endpoint, typed: asTyped(resource), ...asked, ...beside },
        waiting.signal,
      );
    } catch (error) {
      throw error instanceof DeadlineExceeded ? this.#stillPending(undefined, endpoint) : error;
    } finally {
      waiting.end();
    }
  }

  /** The sign-in that waits at a page, to be told of where the page led. Throws `not_found`. */
  signInPage(id: string): Extract<Question, { readonly kind: 'login' }> {
    const question = this.parts.interactions.find(id)?.question;
    if (question?.kind !== 'login') throw refusals.noSuchSignIn();
    return question;
  }

  userActed(endpoint: string): void {
    this.#signIns.userActed(endpoint);
    this.#stepUps.clear(endpoint);
    // A decision counts though the index can't be read; then no grant is known that was refused.
    if (!this.parts.grants.isReadable) return;
    for (const { id } of this.parts.grants.forEndpoint(endpoint)) this.#refusals.clear(id);
  }

  /**
   * A protected server refused this token. Only a token in memory that this local client received is
   * replaced; for any other the newer one is simply returned next time (DESIGN, token.reject). A token at
   * its end is replaced without being counted: every program that keeps its token until then reports one.
   */
  rejectToken(rejection: Rejection): RejectionOutcome {
    const { clientId, token: named, operation, hasWorked = false, challenge } = rejection;
    // The token is good, and another one of the same scopes would be refused as well.
    if (isStepUp(challenge)) return { isReplaced: false };
    const isNamed = (token: AccessToken): boolean =>
      'tokenId' in named ? token.tokenId === named.tokenId : token.accessToken === named.accessToken;
    const { cache, clock, grants } = this.parts;
    for (const { id: grantId } of grants.all()) {
      const token = cache.of(grantId).find(isNamed);
      if (!token?.handedTo.has(clientId)) continue;
      if (isAlive(token, clock.now(), expiryGrace)) {
        const use = { clientId, grantId, operation };
        const pause = this.#refusals.left(use);
        if (pause > 0) return { isReplaced: false, pause };
        this.#refusals.add(use, hasWorked);
        this.#suspects.add(grantId);
      }
      cache.refuse(grantId, token);
      return { isReplaced: true };
    }
    return { isReplaced: false };
  }

  /** The pauses after refused tokens, for an explanation of the grant. */
  refusalsOf({ id }: Grant): RefusalPause[] {
    return this.#refusals.pausesOf(id);
  }

  /** A refused token may mean that the protected server moved to another issuer: then the grant is over. */
  async #isStillNamed({ endpoint, request }: Way, grant: Grant): Promise<boolean> {
    if (!this.#suspects.has(grant.id)) return true;
    const challenge = request.challenge?.bearer;
    const asked = {
      endpoint,
      typed: asTyped(request.resource),
      ...(challenge === undefined ? {} : { challenge }),
    };
    const answer = await stillNames(this.parts, asked, grant);
    // Marked until there is an answer, so that nobody who asks meanwhile is handed a token unchecked.
    if (answer !== 'unknown') this.#suspects.delete(grant.id);
    if (answer !== 'no') return true;
    const why = 'the protected server now names another issuer';
    // As it is now: a refresh may have noted itself there meanwhile.
    const current = this.parts.grants.byId(grant.id);
    if (current?.state.kind === 'active') {
      await this.parts.grants.change(current, { state: { kind: 'loginRequired', why } });
    }
    return false;
  }

  /**
   * The caller says that its last token was refused, and during a pause no other one takes its place (spec,
   * Retries). A caller that says nothing gets the token there is.
   */
  #refuseDuringPause({ request, endpoint }: Way, grant: Grant): void {
    if (request.challenge?.status !== 401 || isStepUp(request.challenge)) return;
    const { clientId, operation } = request;
    const pause = this.#refusals.left({ clientId, grantId: grant.id, operation });
    if (pause > 0) throw refusals.tokensRefused(endpoint, pause);
  }

  #stillPending(clientId: string | undefined, endpoint: string): KeyturnError {
    const { interactions, isDesk } = this.parts;
    if (this.#signIns.isQueued(endpoint)) return anotherPageFirst(endpoint, isDesk);
    return stillPending(interactions.list(), { clientId, endpoint, isDesk });
  }

  #note(
    request: TokenRequest,
    endpoint: string,
    event: 'token' | 'refused',
    outcome: string,
    given?: { readonly grant: Grant; readonly token: AccessToken },
  ): void {
    const { audit, clients } = this.parts;
    const row = { event, outcome, client: clients.nameOf(request.clientId), endpoint };
    if (!given) return audit.note(row);
    const { id, resource, issuer } = given.grant;
    const fingerprint = audit.fingerprint(given.token.accessToken);
    const shown = fingerprint === undefined ? {} : { fingerprint };
    return audit.note({ ...row, grant: id, resource, issuer, scope: given.token.scope, ...shown });
  }
}
