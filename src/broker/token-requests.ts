/**
 * `token.get`, from the request to the answer: permission → sign-in → token in memory → answer. If memory has no fresh
 * token, the broker refreshes it (tokens/token-source.ts) or signs in (request-sign-ins.ts).
 *
 * Invariants (4, 6 and 10, dev/internals.md): no permission, no token. An app gets a token only if the token's
 * granted scopes lie within its permission, as literal sets. A token belongs to a sign-in, which is found by the endpoint
 * that led there, never by a name, and goes only to apps whose permission names that sign-in.
 *
 * A valid token in memory is answered without any I/O and without any `await`, as a plain value, unless the permission
 * has given no token yet or the MCP server must be asked first. This is an invariant: nothing can change between the
 * look-up and the answer, so nothing is checked twice. If a step waits, others go on meanwhile. Then its outcome is
 * `again`, or it checks again, and a comment there names the race.
 */
import { reasonOf } from '../base/errors.ts';
import { DeadlineExceeded } from '../base/request-deadline.ts';
import { isResourceOf } from '../oauth/base/resource.ts';
import { isWithin, withoutOfflineAccess } from '../oauth/base/scope.ts';
import type { AccountChoices } from './account-choices.ts';
import type { Consent } from './consent/consent.ts';
import { covering, coveringOrThrow } from './consent/current-permissions.ts';
import type { Covering } from './consent/current-permissions.ts';
import {
  chooseSignIn,
  lostScopesNeeded,
  scopesToNarrowTo,
  requireEndpoint,
  requireSameResource,
} from './consent/sign-in-choice.ts';
import type { BrokerParts } from './parts.ts';
import { pendingRequests, isStepUpWithoutScopes } from './request.ts';
import type { PermittedRequest, PendingRequest, Token, TokenRequest } from './request.ts';
import { isLiving } from './records/sign-in.ts';
import type { SignIn } from './records/sign-in.ts';
import { lacksCompanySignIn } from './records/company.ts';
import { isBoundTo } from './records/permission.ts';
import { cliAppId } from './records/app.ts';
import { unknownAccount } from './refusals/account-refusals.ts';
import * as refusals from './refusals/refusals.ts';
import type { Rejections } from './rejections.ts';
import type { RequestSignIns } from './request-sign-ins.ts';
import type { MaybePromise } from './maybe-promise.ts';
import { isFresh, scopeKey } from './tokens/token-cache.ts';
import type { AccessToken } from './tokens/token-cache.ts';
import { tokenFromSource } from './tokens/token-source.ts';
import type { TokenNeed } from './tokens/token-source.ts';

/** A request starts again after each sign-in, approval or lost race; if it starts more often, something flaps. */
const maxTries = 6;

/** What one try comes to. `again`: permission or sign-in may have changed, so the next try begins from the start. */
type Outcome = { readonly kind: 'token'; readonly token: Token } | typeof again;

const again = { kind: 'again' } as const;

interface TokenRequestParts {
  readonly parts: BrokerParts;
  readonly consent: Consent;
  readonly signIns: RequestSignIns;
  readonly rejections: Rejections;
  readonly choices: AccountChoices;
}

export class TokenRequests {
  readonly #parts: BrokerParts;
  readonly #consent: Consent;
  readonly #signIns: RequestSignIns;
  readonly #rejections: Rejections;
  readonly #choices: AccountChoices;
  readonly #begin: (request: TokenRequest) => PendingRequest;

  constructor({ parts, consent, signIns, rejections, choices }: TokenRequestParts) {
    this.#parts = parts;
    this.#consent = consent;
    this.#signIns = signIns;
    this.#rejections = rejections;
    this.#choices = choices;
    this.#begin = pendingRequests(parts);
  }

  /** From memory at once; else a promise. Throws, or rejects with, the refusal. */
  answer(request: TokenRequest): MaybePromise<Token> {
    const pending = this.#begin(request);
    try {
      // Before anything else: during a pause no card and no page opens.
      this.#parts.pause.throwIfPaused();
      const permissions = covering(this.#parts, pending.wanted);
      const first = permissions && this.#tryOnce(pending, permissions);
      // Without an await, see above.
      if (first && !(first instanceof Promise) && first.kind === 'token') return first.token;
      return this.#answerLater(pending, first);
    } catch (error) {
      throw this.#refused(pending, error);
    }
  }

  /** `first`: the first try, already begun, if there is a permission for it. */
  async #answerLater(pending: PendingRequest, first: MaybePromise<Outcome> | undefined): Promise<Token> {
    try {
      return await this.#untilToken(pending, first);
    } catch (error) {
      throw this.#refused(pending, error);
    } finally {
      pending.deadline.end();
    }
  }

  #refused({ request, endpoint }: PendingRequest, error: unknown): unknown {
    const isLate = error instanceof DeadlineExceeded;
    const refusal = isLate ? this.#signIns.stillPending(request.appId, endpoint) : error;
    const outcome = reasonOf(refusal);
    const app = this.#parts.apps.nameOf(request.appId);
    // `stillPending` gives this reason if no card or page was opened in time: then nobody refused.
    if (!isLate || outcome !== 'authorization_server_unreachable')
      this.#parts.audit.note({ event: 'refused', outcome, app, endpoint });
    return refusal;
  }

  /**
   * Tries until a try gives the token. One card may answer several requests, and "once" is for one of them: the others
   * ask again. That begins a new series of tries.
   */
  async #untilToken(pending: PendingRequest, first: MaybePromise<Outcome> | undefined): Promise<Token> {
    const { temporary } = this.#parts;
    let spent = temporary.countSpent(pending.request.appId);
    let begun = first;
    for (let tries = 0; tries < maxTries; tries += 1, begun = undefined) {
      // Read again each time: signing in may have set `signInId` in `wanted`.
      const { wanted, deadline } = pending;
      if (tries === 0 && !begun && !covering(this.#parts, wanted))
        await this.#consent.askUnlessAllowed(wanted, deadline);
      try {
        // Race: a try before this one waited, and a permission may have ended meanwhile.
        const outcome = await (begun ?? this.#tryOnce(pending, coveringOrThrow(this.#parts, wanted)));
        if (outcome.kind === 'token') return outcome.token;
      } catch (error) {
        // Race: somebody else changed the sign-in. The newer state decides.
        if (reasonOf(error) === 'conflict') continue;
        // Race: another request used up what was allowed once, while this one waited.
        const spentNow = temporary.countSpent(pending.request.appId);
        const mayAsk = reasonOf(error) === 'consent_required' && wanted.interaction !== 'never';
        if (spentNow <= spent || !mayAsk) throw error;
        [spent, tries] = [spentNow, -1];
      }
    }
    throw refusals.changesTooFast(pending.endpoint);
  }

  #tryOnce(pending: PendingRequest, permissions: Covering): MaybePromise<Outcome> {
    // Race: the user may have paused while a card was open. No sign-in begins then.
    this.#parts.pause.throwIfPaused();
    const { wanted, endpoint, deadline } = pending;
    const signIns = this.#signInsFor(pending);
    const [longestLasting] = permissions;
    const choice = chooseSignIn(signIns, wanted, permissions);
    switch (choice.kind) {
      case 'use':
        return this.#tokenOf({ pending, wanted, permission: choice.permission }, choice.signIn);
      case 'signIn':
        return againAfter(
          this.#signIns.signIn({ pending, wanted, permission: longestLasting }, choice.signIn),
        );
      case 'choose':
        return againAfter(this.#choices.choose(pending, choice.permission, choice.accounts));
      case 'ask':
        return againAfter(
          this.#consent.askUnlessAllowed({ ...wanted, signInId: choice.signIn.id }, deadline),
        );
      case 'unknownAccount':
        // An app doesn't learn of accounts that it may not use. The command line may.
        throw unknownAccount(
          endpoint,
          choice.account,
          pending.request.appId === cliAppId ? accountsIn(signIns.filter(isLiving)) : choice.known,
        );
    }
  }

  /** The sign-ins of the endpoint. One whose resource identifier has a query is for that URL only. */
  #signInsFor({ endpoint, request }: PendingRequest): SignIn[] {
    const signIns = this.#parts.signIns.forEndpoint(endpoint);
    return signIns.every(({ resource }) => !resource.includes('?'))
      ? signIns
      : signIns.filter(({ resource }) => isResourceOf(resource, request.resource));
  }

  /** A token of this sign-in. If it isn't active or lacks scopes, it is renewed first. */
  #tokenOf(permitted: PermittedRequest, signIn: SignIn): MaybePromise<Outcome> {
    const { pending, wanted, permission } = permitted;
    if (signIn.state.kind !== 'active') {
      return this.#parts.refresher.failures.mayRefreshAgain(signIn)
        ? this.#tryRefreshAgain(permitted, signIn)
        : againAfter(this.#signIns.signIn(permitted, signIn));
    }
    const lost = lostScopesNeeded(signIn, permission, wanted.scope);
    if (lost.length > 0) return againAfter(this.#signIns.regainScopes(permitted, signIn, lost));
    if (!isWithin(wanted.scope, signIn.scope)) return againAfter(this.#signIns.stepUp(permitted, signIn));
    if (isStepUpWithoutScopes(pending.request.challenge) || this.#rejections.hadTokenRejected(signIn))
      return this.#askServerFirst(permitted, signIn);
    requireSameResource(permission, signIn);
    return this.#tokenFromMemoryOrNew(permitted, signIn);
  }

  /** The authorization server may accept the refresh token now. After a failure the next try signs in. */
  async #tryRefreshAgain({ pending }: PermittedRequest, { id }: SignIn): Promise<Outcome> {
    const { signal } = pending.deadline;
    await this.#parts.refresher.refresh(id, undefined, signal).catch((error: unknown) => {
      if (reasonOf(error) !== 'login_required') throw error;
    });
    return again;
  }

  /** The MCP server wants scopes that it doesn't name, or rejected a token of this sign-in: asks it what it wants now. */
  async #askServerFirst(permitted: PermittedRequest, signIn: SignIn): Promise<Outcome> {
    const { pending, permission } = permitted;
    if (
      isStepUpWithoutScopes(pending.request.challenge) &&
      (await this.#signIns.stepUpToAdvertisedScopes(permitted, signIn))
    )
      return again;
    requireSameResource(permission, signIn);
    if (
      this.#rejections.hadTokenRejected(signIn) &&
      !(await this.#rejections.isStillNamedByServer(pending, signIn))
    )
      return again;
    return this.#tokenFromMemoryOrNew(permitted, signIn, true);
  }

  #tokenFromMemoryOrNew(
    permitted: PermittedRequest,
    signIn: SignIn,
    hasWaited = false,
  ): MaybePromise<Outcome> {
    const { pending, permission } = permitted;
    const { cache, clock } = this.#parts;
    const { challenge, minimumValidity } = pending.request;
    const narrow = scopesToNarrowTo(signIn, permission);
    if (narrow && (narrow.length === 0 || !signIn.hasRefreshToken))
      throw refusals.notNarrowed(permission, signIn);
    const token = cache.get(signIn.id, scopeKey(narrow));
    if (token && challenge) this.#rejections.throwWhileNotReplacing(pending, signIn);
    if (!token || !isFresh(token, clock.now(), minimumValidity))
      return this.#handOutFromSource(permitted, signIn, { cached: token, narrow });
    return hasWaited
      ? this.#handOutIfUnchanged(permitted, signIn, token)
      : this.#handOut(permitted, signIn, token);
  }

  async #handOutFromSource(
    permitted: PermittedRequest,
    signIn: SignIn,
    { cached, narrow }: Pick<TokenNeed, 'cached' | 'narrow'>,
  ): Promise<Outcome> {
    const { deadline, request } = permitted.pending;
    const { minimumValidity } = request;
    if (lacksCompanySignIn(this.#parts, signIn)) return againAfter(this.#signIns.signIn(permitted, signIn));
    const need = { cached, narrow, minimumValidity, deadline };
    const token = await tokenFromSource(this.#parts, signIn, need);
    if (token === 'signIn') return againAfter(this.#signIns.signIn(permitted, signIn));
    if (token === 'ownSignIn') return againAfter(this.#signIns.ownSignIn(permitted, signIn));
    return token === 'changed' ? again : this.#handOutIfUnchanged(permitted, signIn, token);
  }

  /** After a wait: permission, sign-in and token may have changed. */
  #handOutIfUnchanged(
    permitted: PermittedRequest,
    signIn: SignIn,
    token: AccessToken,
  ): MaybePromise<Outcome> {
    const current = this.#signInIfUnchanged(permitted, signIn, token);
    return current ? this.#handOut(permitted, current, token) : again;
  }

  /**
   * The sign-in as it is now; undefined if its token may no longer be handed out. Races, while the request waited: the
   * user may have revoked the permission or the sign-in, a temporary permission may be over, and the refresh may have
   * brought fewer scopes than before.
   */
  #signInIfUnchanged(
    { wanted, permission }: PermittedRequest,
    { id }: SignIn,
    token: AccessToken,
  ): SignIn | undefined {
    const { cache, signIns } = this.#parts;
    const signIn = signIns.byId(id);
    const isAllowed = covering(this.#parts, wanted)?.includes(permission) === true;
    if (!signIn || !isAllowed || !cache.holds(id, token)) return undefined;
    return lostScopesNeeded(signIn, permission, wanted.scope).length > 0 ? undefined : signIn;
  }

  #handOut(permitted: PermittedRequest, signIn: SignIn, token: AccessToken): MaybePromise<Outcome> {
    const { pending, wanted, permission } = permitted;
    const { endpoint } = pending;
    requireEndpoint(signIn, endpoint);
    if (!isWithin(wanted.scope, token.scope)) throw refusals.notGranted(endpoint, wanted.scope, signIn);
    return isBoundTo(permission, signIn.id)
      ? this.#answerWith(permitted, signIn, token)
      : this.#bindAndAnswer(permitted, signIn, token);
  }

  /** The permission's first token: from now on the permission is for this sign-in. */
  async #bindAndAnswer(
    { pending, wanted, permission }: PermittedRequest,
    signIn: SignIn,
    token: AccessToken,
  ): Promise<Outcome> {
    const bound = await this.#consent.changes.bind(permission, signIn, token.scope);
    // Race: the user may have revoked the permission or the sign-in while that was written.
    const isAllowed = covering(this.#parts, wanted)?.includes(bound) === true;
    if (!isAllowed || !this.#parts.cache.holds(signIn.id, token)) return again;
    return this.#answerWith({ pending, wanted, permission: bound }, signIn, token);
  }

  #answerWith({ pending, permission }: PermittedRequest, signIn: SignIn, token: AccessToken): Outcome {
    const { request, endpoint } = pending;
    const { accessToken, tokenId, expiresAt, scope } = token;
    const { id, resource, account, issuer } = signIn;
    const { apps, audit, clock, temporary, pause } = this.#parts;
    // Invariant 10: literal sets, checked on what the server really granted.
    if (permission.scope && !isWithin(withoutOfflineAccess(scope), permission.scope))
      throw refusals.notNarrowed(permission, signIn);
    // Race: the user may have paused while this request waited.
    pause.throwIfPaused();
    if (!request.isCallerGone) {
      temporary.used(permission, tokenId);
      token.handedTo.add(request.appId);
      apps.used(permission, clock.wall());
      // A row of the audit log names a token by a MAC over all of it, which is computed once.
      token.fingerprint ??= audit.fingerprint(accessToken);
      const row = { app: apps.nameOf(request.appId), endpoint, signIn: id, resource, issuer, scope };
      audit.note({ event: 'token', outcome: 'ok', ...row, fingerprint: token.fingerprint });
    }
    const tokenType = token.dpopKey ? 'DPoP' : 'Bearer';
    return {
      kind: 'token',
      token: { accessToken, tokenType, tokenId, expiresAt, scope, resource, account, issuer },
    };
  }
}

/** Permission and sign-in may be others then. */
async function againAfter(work: Promise<void>): Promise<Outcome> {
  await work;
  return again;
}

/** The oldest sign-in's first. */
const accountsIn = (signIns: readonly SignIn[]): string[] => [
  ...new Set(signIns.toSorted((a, b) => a.createdAt - b.createdAt).map(({ account }) => account)),
];
