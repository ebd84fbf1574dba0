/**
 * `token.get`, from the request to the answer: permission → sign-in → token in memory → answer. If memory has no fresh
 * token, the broker refreshes it (tokens/token-source.ts) or signs in (request-sign-ins.ts).
 *
 * A card shows an approval request in a window. A page is the authorization server's, in the user's browser.
 *
 * Invariants (4, 6 and 10, dev/internals.md): no permission, no token. An app gets a token only if the token's
 * granted scopes are within its permission, as literal sets. A token is of one sign-in, and goes only to apps whose
 * permission names that. The request's endpoint finds the sign-in; no app can name one of another server.
 *
 * A fresh token in memory is answered without any I/O and without any `await`, as a plain value, unless the permission
 * has given no token yet or the MCP server must be asked first. This is an invariant: nothing can change between the
 * look-up and the answer, so nothing needs to be checked again. If a step waits, others go on meanwhile. Then its result is
 * `again`, or it checks again, and a comment there names the race.
 */
import { reasonOf } from '../base/errors.ts';
import { DeadlineExceeded } from '../base/request-deadline.ts';
import { isResourceOf } from '../oauth/base/resource.ts';
import { isWithin, withoutOfflineAccess } from '../oauth/base/scope.ts';
import type { AccountChoices } from './account-choices.ts';
import type { Consent } from './consent/consent.ts';
import { coveringPermissions, coveringPermissionsOrThrow } from './consent/current-permissions.ts';
import type { CoveringPermissions } from './consent/current-permissions.ts';
import {
  chooseSignIn,
  lostScopesNeeded,
  scopesToNarrowTo,
  requireEndpointOfSignIn,
  requireSameResource,
} from './consent/sign-in-choice.ts';
import type { BrokerParts } from './parts.ts';
import { begunRequests, isStepUpWithoutScopes } from './request.ts';
import type { PermittedRequest, BegunRequest, HandedToken, TokenRequest } from './request.ts';
import type { SignIn } from './records/sign-in.ts';
import { lacksCompanySignIn } from './records/company.ts';
import { isFixedTo } from './records/permission.ts';
import { unknownAccount } from './refusals/account-refusals.ts';
import * as refusals from './refusals/refusals.ts';
import type { Rejections } from './rejections.ts';
import type { RequestSignIns } from './request-sign-ins.ts';
import type { MaybePromise } from './maybe-promise.ts';
import { PageReplaced } from './sign-in/page-queue.ts';
import { isFresh, scopeKey } from './tokens/token-cache.ts';
import type { AccessToken } from './tokens/token-cache.ts';
import { tokenFromSource } from './tokens/token-source.ts';
import type { WantedToken } from './tokens/token-source.ts';

/** A request starts again after each sign-in, approval or lost race; if it starts more often, something flaps. */
const maxTries = 6;

/** What one try comes to. `again`: permission or sign-in may have changed, so the next try begins from the start. */
type TryResult = { readonly kind: 'token'; readonly token: HandedToken } | typeof again;

const again = { kind: 'again' } as const;

interface TokenRequestParts {
  readonly brokerParts: BrokerParts;
  readonly consent: Consent;
  readonly requestSignIns: RequestSignIns;
  readonly rejections: Rejections;
  readonly accountChoices: AccountChoices;
}

export class TokenRequests {
  readonly #parts: BrokerParts;
  readonly #consent: Consent;
  readonly #requestSignIns: RequestSignIns;
  readonly #rejections: Rejections;
  readonly #accountChoices: AccountChoices;
  readonly #begin: (request: TokenRequest) => BegunRequest;

  constructor({ brokerParts, consent, requestSignIns, rejections, accountChoices }: TokenRequestParts) {
    this.#parts = brokerParts;
    this.#consent = consent;
    this.#requestSignIns = requestSignIns;
    this.#rejections = rejections;
    this.#accountChoices = accountChoices;
    this.#begin = begunRequests(brokerParts);
  }

  /** From memory at once; else a promise. Throws, or rejects with, the refusal. */
  answer(request: TokenRequest): MaybePromise<HandedToken> {
    const begun = this.#begin(request);
    try {
      // Before anything else: during a pause no card and no page opens.
      this.#parts.pause.throwIfPaused();
      const permissions = coveringPermissions(this.#parts, begun.wanted);
      const first = permissions && this.#tryOnce(begun, permissions);
      // Without an await, see above.
      if (first && !(first instanceof Promise) && first.kind === 'token') return first.token;
      return this.#answerLater(begun, first);
    } catch (error) {
      throw this.#refused(begun, error);
    }
  }

  /** `first`: the first try, already begun, if there is a permission for it. */
  async #answerLater(begun: BegunRequest, first: MaybePromise<TryResult> | undefined): Promise<HandedToken> {
    try {
      return await this.#untilToken(begun, first);
    } catch (error) {
      throw this.#refused(begun, error);
    } finally {
      begun.deadline.end();
    }
  }

  #refused({ request, endpoint }: BegunRequest, error: unknown): unknown {
    const isLate = error instanceof DeadlineExceeded;
    const refusal = isLate ? this.#requestSignIns.refusalAtDeadline(request.appId, endpoint) : error;
    const outcome = reasonOf(refusal);
    const app = this.#parts.apps.nameOf(request.appId);
    // `refusalAtDeadline` gives this reason if no card or page was opened in time: then nobody refused.
    if (!isLate || outcome !== 'authorization_server_unreachable')
      this.#parts.audit.note({ event: 'refused', outcome, app, endpoint });
    return refusal;
  }

  /**
   * Tries until a try gives the token. One card may answer several requests, and "once" is for one of them: the others
   * ask again. That begins a new series of tries.
   */
  async #untilToken(begun: BegunRequest, first: MaybePromise<TryResult> | undefined): Promise<HandedToken> {
    const { temporaryPermissions } = this.#parts;
    let usedBefore = temporaryPermissions.onceUsedCount(begun.request.appId);
    let [firstTry, mostTries] = [first, maxTries];
    for (let tries = 0; tries < mostTries; tries += 1, firstTry = undefined) {
      // Read again each time: signing in may have set `signInId` in `wanted`.
      const { wanted, deadline } = begun;
      if (tries === 0 && !firstTry && !coveringPermissions(this.#parts, wanted))
        await this.#consent.askUnlessAllowed(wanted, deadline);
      try {
        // Race: a try before this one waited, and a permission may have ended meanwhile.
        const result = await (firstTry ??
          this.#tryOnce(begun, coveringPermissionsOrThrow(this.#parts, wanted)));
        if (result.kind === 'token') return result.token;
      } catch (error) {
        // The user did something, so nothing flaps.
        if (error instanceof PageReplaced) mostTries += 1;
        // Race: somebody else changed the sign-in. The newer state decides.
        if (reasonOf(error) === 'conflict') continue;
        // Race: another request used up what was allowed once, while this one waited.
        const usedNow = temporaryPermissions.onceUsedCount(begun.request.appId);
        const mayAsk = reasonOf(error) === 'consent_required' && wanted.interaction !== 'never';
        if (usedNow <= usedBefore || !mayAsk) throw error;
        [usedBefore, tries] = [usedNow, -1];
      }
    }
    throw refusals.changesTooFast(begun.endpoint);
  }

  #tryOnce(begun: BegunRequest, permissions: CoveringPermissions): MaybePromise<TryResult> {
    // Race: the user may have paused while a card was open. No sign-in begins then.
    this.#parts.pause.throwIfPaused();
    const { wanted, endpoint, deadline } = begun;
    const [first] = permissions;
    const choice = chooseSignIn(this.#signInsFor(begun), wanted, permissions);
    switch (choice.kind) {
      case 'use':
        return this.#tokenOf({ begun, wanted, permission: choice.permission }, choice.signIn);
      case 'mustSignIn':
        return againAfter(this.#requestSignIns.signIn({ begun, wanted, permission: first }, choice.signIn));
      case 'choose':
        return againAfter(this.#accountChoices.choose(begun, choice.permission, choice.accounts));
      case 'ask':
        return againAfter(
          this.#consent.askUnlessAllowed({ ...wanted, signInId: choice.signIn.id }, deadline),
        );
      case 'unknownAccount':
        throw unknownAccount(endpoint, choice.account, choice.known);
    }
  }

  /** The sign-ins of the endpoint. One whose resource identifier has a query is for that URL only. */
  #signInsFor({ endpoint, request }: BegunRequest): SignIn[] {
    const signIns = this.#parts.signIns.forEndpoint(endpoint);
    return signIns.every(({ resource }) => !resource.includes('?'))
      ? signIns
      : signIns.filter(({ resource }) => isResourceOf(resource, request.resource));
  }

  /** A token of this sign-in; first a refresh or a new sign-in, if it isn't active or lacks scopes. */
  #tokenOf(permitted: PermittedRequest, signIn: SignIn): MaybePromise<TryResult> {
    const { begun, wanted, permission } = permitted;
    if (signIn.state.kind !== 'active') {
      return this.#parts.refresher.failures.mayRefreshAgain(signIn)
        ? this.#tryRefreshAgain(permitted, signIn)
        : againAfter(this.#requestSignIns.signIn(permitted, signIn));
    }
    // The server took them away after a refresh for fewer scopes (tokens/lost-scope.ts).
    const lost = lostScopesNeeded(signIn, permission, wanted.scope);
    if (lost.length > 0) return againAfter(this.#requestSignIns.regainScopes(permitted, signIn, lost));
    if (!isWithin(wanted.scope, signIn.scope))
      return againAfter(this.#requestSignIns.stepUp(permitted, signIn));
    if (isStepUpWithoutScopes(begun.request.challenge) || this.#rejections.hadTokenRejected(signIn))
      return this.#askServerFirst(permitted, signIn);
    requireSameResource(permission, signIn);
    return this.#tokenFromMemoryOrNew(permitted, signIn);
  }

  /** The authorization server may accept the refresh token now. After `login_required` the next try signs in. */
  async #tryRefreshAgain({ begun }: PermittedRequest, { id }: SignIn): Promise<TryResult> {
    const { signal } = begun.deadline;
    await this.#parts.refresher.refresh(id, undefined, signal).catch((error: unknown) => {
      if (reasonOf(error) !== 'login_required') throw error;
    });
    return again;
  }

  /** The MCP server wants scopes that it doesn't name, or rejected a token of this sign-in: asks it what it wants now. */
  async #askServerFirst(permitted: PermittedRequest, signIn: SignIn): Promise<TryResult> {
    const { begun, permission } = permitted;
    if (
      isStepUpWithoutScopes(begun.request.challenge) &&
      (await this.#requestSignIns.stepUpToAdvertisedScopes(permitted, signIn))
    )
      return again;
    requireSameResource(permission, signIn);
    if (
      this.#rejections.hadTokenRejected(signIn) &&
      !(await this.#rejections.isIssuerStillNamed(begun, signIn))
    )
      return again;
    return this.#tokenFromMemoryOrNew(permitted, signIn, true);
  }

  #tokenFromMemoryOrNew(
    permitted: PermittedRequest,
    signIn: SignIn,
    hasWaited = false,
  ): MaybePromise<TryResult> {
    const { begun, permission } = permitted;
    const { cache, clock } = this.#parts;
    const { challenge, minimumValidity } = begun.request;
    const narrowTo = scopesToNarrowTo(signIn, permission);
    if (narrowTo && (narrowTo.length === 0 || !signIn.hasRefreshToken))
      throw refusals.notNarrowed(permission, signIn);
    const token = cache.get(signIn.id, scopeKey(narrowTo));
    if (token && challenge) this.#rejections.throwWhileNotReplacing(begun, signIn);
    if (!token || !isFresh(token, clock.now(), minimumValidity))
      return this.#handOutFromSource(permitted, signIn, { cached: token, narrowTo });
    return hasWaited
      ? this.#handOutIfUnchanged(permitted, signIn, token)
      : this.#handOut(permitted, signIn, token);
  }

  async #handOutFromSource(
    permitted: PermittedRequest,
    signIn: SignIn,
    { cached, narrowTo }: Pick<WantedToken, 'cached' | 'narrowTo'>,
  ): Promise<TryResult> {
    const { deadline, request } = permitted.begun;
    const { minimumValidity } = request;
    // It came from a company sign-in, at an identity provider, that isn't active.
    if (lacksCompanySignIn(this.#parts, signIn))
      return againAfter(this.#requestSignIns.signIn(permitted, signIn));
    const wanted = { cached, narrowTo, minimumValidity, deadline };
    const token = await tokenFromSource(this.#parts, signIn, wanted);
    if (token === 'mustSignIn') return againAfter(this.#requestSignIns.signIn(permitted, signIn));
    if (token === 'mustSignInForAppAlone')
      return againAfter(this.#requestSignIns.signInForAppAlone(permitted, signIn));
    return token === 'changed' ? again : this.#handOutIfUnchanged(permitted, signIn, token);
  }

  /** After a wait: permission, sign-in and token may have changed. */
  #handOutIfUnchanged(
    permitted: PermittedRequest,
    signIn: SignIn,
    token: AccessToken,
  ): MaybePromise<TryResult> {
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
    const isAllowed = coveringPermissions(this.#parts, wanted)?.includes(permission) === true;
    if (!signIn || !isAllowed || !cache.holds(id, token)) return undefined;
    return lostScopesNeeded(signIn, permission, wanted.scope).length > 0 ? undefined : signIn;
  }

  #handOut(permitted: PermittedRequest, signIn: SignIn, token: AccessToken): MaybePromise<TryResult> {
    const { begun, wanted, permission } = permitted;
    const { endpoint } = begun;
    requireEndpointOfSignIn(signIn, endpoint);
    if (!isWithin(wanted.scope, token.scope)) throw refusals.notGranted(endpoint, wanted.scope, signIn);
    return isFixedTo(permission, signIn.id)
      ? this.#answerWith(permitted, signIn, token)
      : this.#fixAndAnswer(permitted, signIn, token);
  }

  /** The permission's first token: from now on the permission is for this sign-in. */
  async #fixAndAnswer(
    { begun, wanted, permission }: PermittedRequest,
    signIn: SignIn,
    token: AccessToken,
  ): Promise<TryResult> {
    const fixed = await this.#consent.changes.fix(permission, signIn, token.scope);
    // Race: the user may have revoked the permission or the sign-in while that was written.
    const isAllowed = coveringPermissions(this.#parts, wanted)?.includes(fixed) === true;
    if (!isAllowed || !this.#parts.cache.holds(signIn.id, token)) return again;
    return this.#answerWith({ begun, wanted, permission: fixed }, signIn, token);
  }

  #answerWith({ begun, permission }: PermittedRequest, signIn: SignIn, token: AccessToken): TryResult {
    const { request, endpoint } = begun;
    const { accessToken, tokenId, expiresAt, scope } = token;
    const { id, resource, account, issuer } = signIn;
    const { apps, audit, clock, temporaryPermissions, pause } = this.#parts;
    // Invariant 10: literal sets, checked on what the server really granted.
    if (permission.scope && !isWithin(withoutOfflineAccess(scope), permission.scope))
      throw refusals.notNarrowed(permission, signIn);
    // Race: the user may have paused while this request waited.
    pause.throwIfPaused();
    if (!request.isCallerGone) {
      temporaryPermissions.used(permission, tokenId);
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

/** After `work`, permission and sign-in may have changed: the next try reads them again. */
async function againAfter(work: Promise<void>): Promise<TryResult> {
  await work;
  return again;
}
