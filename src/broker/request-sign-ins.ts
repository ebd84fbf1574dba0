/**
 * The sign-ins that an app's request starts: where none serves, where scopes are missing (step-up), and where a
 * server took scopes away.
 *
 * Invariants: one sign-in for one request, besides a step-up; step-ups are bounded. What the user ended, or a sign-in
 * page that failed, opens no further page: the user starts the next one. The request starts again
 * after each sign-in.
 */
import type { KeyturnError } from '../base/errors.ts';
import { asTyped, queryOf } from '../oauth/base/resource.ts';
import { isWithin, stepUpScope, union } from '../oauth/base/scope.ts';
import { coveringPermissions, type WantedAccess } from './consent/current-permissions.ts';
import type { Consent } from './consent/consent.ts';
import { scopesToNarrowTo } from './consent/sign-in-choice.ts';
import type { BrokerParts } from './parts.ts';
import { hintOf, type PermittedRequest, type BegunRequest } from './request.ts';
import { accountLabel, isLiving, isShared, isWiderThanAsked, type SignIn } from './records/sign-in.ts';
import { namesSignIn, type Permission } from './records/permission.ts';
import { revokeSignIn } from './revocation/revoker.ts';
import { StepUpLimit } from './step-up-limit.ts';
import { waitsForUser } from './tokens/failed-refresh.ts';
import { anotherSignedIn } from './refusals/account-refusals.ts';
import * as refusals from './refusals/refusals.ts';
import type { SignInRequest } from './sign-in/sign-in-context.ts';
import type { SignInRuns } from './sign-in/sign-in-runs.ts';
import { listedScope } from './destination/asked-resource.ts';

/** What the user signs in for; `signIn` is the one to renew. */
interface SignInFor extends Pick<SignInRequest, 'notGranted' | 'isStepUp' | 'onlyFor'> {
  readonly scope: readonly string[];
  readonly account: string | undefined;
  readonly signIn: SignIn | undefined;
}

export class RequestSignIns {
  readonly #parts: BrokerParts;
  readonly #consent: Consent;
  readonly #signInRuns: SignInRuns;
  readonly #stepUps: StepUpLimit;
  /** What the server of a sign-in lists, asked once for each record of it. */
  readonly #listed = new WeakMap<SignIn, readonly string[]>();

  /** Ids of shared sign-ins that ended at the first refresh after an app got its own: some servers keep one of them. */
  readonly #endedByOwn = new Set<string>();

  constructor(parts: BrokerParts, consent: Consent, signInRuns: SignInRuns) {
    this.#parts = parts;
    this.#consent = consent;
    this.#signInRuns = signInRuns;
    this.#stepUps = new StepUpLimit(() => parts.clock.now());
  }

  /** The user acted there: the limit of step-ups starts again. */
  userActed(endpoint: string): void {
    this.#stepUps.clear(endpoint);
  }

  /** The refusal of a request whose time is over: it says what the request still waits for. */
  refusalAtDeadline(appId: string, endpoint: string): KeyturnError {
    return this.#signInRuns.refusalAtDeadline({ appId, endpoint });
  }

  /** `signIn`: the one that served once, if there is any. */
  async signIn(permitted: PermittedRequest, signIn: SignIn | undefined): Promise<void> {
    const { wanted, begun, permission } = permitted;
    const { endpoint, request } = begun;
    if (signIn && this.#hasOwnEnded(signIn)) this.#endedByOwn.add(signIn.id);
    // An app doesn't learn of an account that it may not use.
    const known = signIn && namesSignIn(permission, signIn.id) ? signIn : undefined;
    if (signIn?.state.kind === 'revoked') {
      const client = this.#parts.registrations.byId(signIn.registrationId);
      throw refusals.signInRevoked(endpoint, known, client?.grantType !== undefined);
    }
    if (signIn && waitsForUser(signIn, permission)) throw refusals.endedAlong(endpoint, signIn, known);
    if (begun.hasSignedIn) throw refusals.uselessSignIn(endpoint);
    if (!signIn) this.#consent.refuseWhereApiKeyOnly(wanted);
    this.#requirePage(begun, signIn ? refusals.whyAgain(signIn) : 'you have not signed in there yet');
    await this.#start(permitted, {
      ...(signIn ? stepUpScope(signIn, wanted.scope) : { scope: wanted.scope }),
      account: request.account ?? (signIn && accountLabel(signIn)),
      signIn,
    });
  }

  /** MCP, Step-Up Authorization Flow: a new authorization with the scopes asked before and those needed now. */
  async stepUp(permitted: PermittedRequest, signIn: SignIn): Promise<void> {
    const { wanted, begun } = permitted;
    const { endpoint, request } = begun;
    if (isWithin(wanted.scope, signIn.requestedScope)) {
      throw refusals.notGranted(endpoint, wanted.scope, signIn);
    }
    const stepUp = { appId: request.appId, endpoint, operation: request.operation ?? '' };
    if (this.#stepUps.isExhausted(stepUp)) throw refusals.stepUpExhausted(endpoint);
    const missing = wanted.scope.filter((scope) => !signIn.scope.includes(scope));
    const due = stepUpScope(signIn, wanted.scope);
    this.#requirePage(begun, `it needs a new sign-in for ${missing.join(' ')}`, due.scope);
    this.#stepUps.add(stepUp);
    await this.#start(permitted, {
      ...due,
      account: accountLabel(signIn),
      signIn,
      isStepUp: true,
    });
  }

  /**
   * MCP, Step-Up Authorization Flow and Scope Selection Strategy: a challenge without `scope` asks for all that the
   * server lists. What was asked for before isn't asked for again; then the token stays, and the server's answer
   * stands. Answers whether somebody signed in.
   */
  async stepUpToAdvertisedScopes(permitted: PermittedRequest, signIn: SignIn): Promise<boolean> {
    const { wanted, begun, permission } = permitted;
    if (begun.hasSignedIn) return false;
    const listed = await this.#listedFor(permitted, signIn);
    const had = union(signIn.requestedScope, signIn.scope, permission.deniedScope ?? []);
    const more = listed.filter((name) => !had.includes(name));
    if (more.length === 0) return false;
    const wider = { ...wanted, scope: union(wanted.scope, more) };
    await this.#consent.askUnlessAllowed(wider, begun.deadline);
    await this.stepUp({ ...permitted, wanted: wider }, signIn);
    return true;
  }

  async #listedFor({ begun, permission }: PermittedRequest, signIn: SignIn): Promise<readonly string[]> {
    const { endpoint, request } = begun;
    const known = this.#listed.get(signIn);
    if (known) return known;
    const typed = asTyped(request.resource);
    const scope = await listedScope(this.#parts, { endpoint, typed, ...hintOf(request, permission) });
    this.#listed.set(signIn, scope);
    return scope;
  }

  /** One sign-in brings back what a narrower token took (lost-scope.ts). */
  async regainScopes(permitted: PermittedRequest, signIn: SignIn, lost: readonly string[]): Promise<void> {
    const { wanted, begun } = permitted;
    if (begun.hasSignedIn) throw refusals.notGranted(begun.endpoint, lost, signIn);
    this.#requirePage(begun, refusals.scopesLost(signIn.issuer, lost));
    await this.#start(permitted, {
      scope: union(signIn.requestedScope, signIn.scope, lost, wanted.scope),
      account: accountLabel(signIn),
      signIn,
    });
  }

  /**
   * A sign-in for this app alone, with no more than its permission, where a refresh can't narrow the shared one
   * (lost-scope.ts). It is of the same account and gives no more than the permission does, so no card is needed for it.
   */
  async signInForAppAlone(permitted: PermittedRequest, shared: SignIn): Promise<void> {
    const { wanted, begun, permission } = permitted;
    const { endpoint, request } = begun;
    const { signIns } = this.#parts;
    const scope = shared.scope.filter((name) => permission.scope?.includes(name));
    const own = signIns
      .aloneAt(shared.resource, shared.issuer, request.appId)
      .filter(({ account }) => account === shared.account);
    const ready = own.find(
      (one) => one.state.kind === 'active' && scopesToNarrowTo(one, permission) === undefined,
    );
    // Race: the permission changed during the sign-in, and could not name the new one then.
    if (ready) return void (await this.#consent.changes.fix(permission, ready, ready.scope));
    const wider = own.find((one) => isWiderThanAsked(one) && isOfNow(one, shared));
    if (wider) await this.#refuseWider(permission, wider);
    if (this.#endedByOwn.has(shared.id)) throw refusals.notNarrowed(permission, shared);
    if (request.interaction === 'never' || begun.hasSignedIn) throw new refusals.NarrowsPermanently(shared);
    const ended = own.find((one) => isEndedAfter(one, shared));
    if (ended) throw refusals.signInRevoked(endpoint, ended);
    this.#requirePage(begun, 'it needs a sign-in for this app alone');
    await this.#start(permitted, {
      scope: union(scope, wanted.scope),
      account: accountLabel(shared),
      signIn: shared,
      onlyFor: request.appId,
    });
  }

  #hasOwnEnded(shared: SignIn): boolean {
    const { resource, issuer, account, state, signedInAt = 0 } = shared;
    if (state.kind !== 'signInRequired' || state.cause !== 'refreshTokenEnded' || !isShared(shared))
      return false;
    const { refreshedAt = 0 } = this.#parts.refresher.secrets.factsOf(shared);
    const lastSeen = Math.max(signedInAt, refreshedAt);
    const there = this.#parts.signIns
      .all()
      .filter((one) => one.resource === resource && one.issuer === issuer);
    return there.some((one) => !isShared(one) && one.account === account && (one.signedInAt ?? 0) > lastSeen);
  }

  /** The server ignores scopes: another page would be of no use. The record says so until the user signs in again. */
  async #refuseWider(permission: Permission, wider: SignIn): Promise<never> {
    if (isLiving(wider)) await revokeSignIn(this.#parts, wider);
    throw refusals.notNarrowed(permission, wider);
  }

  #requirePage({ endpoint, request }: BegunRequest, why: string, scope?: readonly string[]): void {
    if (this.#signInRuns.pages.needsUser(endpoint)) throw refusals.lastPageFailed(endpoint, scope);
    // Where the user entered a client that needs no user, only discovery tells whether it is for this server.
    if (this.#parts.registrations.hasUnattended()) return;
    if (request.interaction === 'never') throw refusals.noSignIn(endpoint, why, scope);
    this.#signInRuns.pages.refusePaused(endpoint);
  }

  async #start(permitted: PermittedRequest, { scope, account, signIn, ...noted }: SignInFor): Promise<void> {
    const { begun, permission } = permitted;
    const { endpoint, request, deadline } = begun;
    const signedIn = await this.#signInRuns.automatic(
      {
        endpoint,
        typed: asTyped(request.resource),
        query: queryOf(request.resource),
        ...noted,
        scope: scope.length === 0 ? undefined : scope,
        account,
        allowedScope: permission.scope && union(permission.scope, scope),
        ...hintOf(request, permission),
        mayNotAsk: request.interaction === 'never',
        isAllowed: () => isCovered(this.#parts, permitted.wanted),
        signInId: signIn?.id,
        onlyFor: noted.onlyFor ?? (signIn && !isShared(signIn) ? request.appId : undefined),
      },
      deadline.signal,
    );
    begun.hasSignedIn = true;
    if (isWiderThanAsked(signedIn) && scopesToNarrowTo(signedIn, permission))
      await this.#refuseWider(permission, signedIn);
    if (!isShared(signedIn))
      return void (await this.#consent.changes.fix(permission, signedIn, signedIn.scope));
    if (signIn && signedIn.id !== signIn.id) await this.#goOnWith(permitted, signIn, signedIn);
  }

  /** The user signed in, and not for the one to renew. No permission names the other one yet. */
  async #goOnWith({ wanted, begun }: PermittedRequest, meant: SignIn, signedIn: SignIn): Promise<void> {
    const { request, endpoint, deadline } = begun;
    const chosen: WantedAccess = { ...wanted, signInId: signedIn.id };
    // The server may name another issuer now.
    const isMoved = signedIn.issuer !== meant.issuer || signedIn.resource !== meant.resource;
    if (!isMoved && request.account !== undefined) {
      const name = this.#parts.apps.nameOf(request.appId);
      throw anotherSignedIn(name, endpoint, meant, signedIn);
    }
    await this.#consent.askUnlessAllowed(chosen, deadline);
    // What the user chose answers this request. The next one goes on with the sign-in that the permission names first.
    if (!isMoved) begun.wanted = chosen;
  }
}

function isCovered(parts: BrokerParts, wanted: WantedAccess): boolean {
  try {
    return coveringPermissions(parts, wanted) !== undefined;
  } catch {
    // Denied meanwhile.
    return false;
  }
}

/** The app's own sign-in ended, and the user has not signed in since. */
const isEndedAfter = (own: SignIn, { signedInAt = 0 }: SignIn): boolean =>
  own.state.kind === 'revoked' && own.state.endedAt > signedInAt;

const isOfNow = (own: SignIn, shared: SignIn): boolean =>
  own.state.kind === 'active' || isEndedAfter(own, shared);
