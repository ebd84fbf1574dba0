/**
 * Refreshes tokens: one at a time per sign-in, however many apps ask.
 *
 * Invariants (2 and 3, dev/internals.md): the new refresh token is durable before any caller sees the new access
 * token, and is kept even when the rest of the answer is refused; sign-in, refresh and revocation take turns at a
 * sign-in's tokens, so that none writes over what is newer; only the server's own refusals (`invalid_grant`, and of a
 * client that we registered, at once; others after a few), or a missing refresh token or client, make a sign-in
 * `signInRequired`, and even they delete no token. No refresh request leaves before the sign-in's item in the vault
 * says so, which proves that the vault can keep the answer; the item says so until the outcome is kept. After a crash
 * or a lost answer the next refresh finds that note: the start of a broker looks for none. A refresh writes the
 * document only if it changes what the record says. Such a change is dropped if the record no longer names the item
 * that the refresh read.
 */
import { isDeepStrictEqual } from 'node:util';
import { reasonOf } from '../../base/errors.ts';
import type { Http } from '../../oauth/base/http.ts';
import { isSameScope } from '../../oauth/base/scope.ts';
import { refresh, type TokenResponse } from '../../oauth/grants/token.ts';
import type { HomeDocument } from '../../store/document.ts';
import type { Vault } from '../../vault/base/vault.ts';
import type { Audit } from '../../audit/audit.ts';
import type { AccessPause } from '../refusals/access-pause.ts';
import type { Clock } from '../../base/clock.ts';
import { SignInSecrets, type SignInSecret, type RefreshAttempt } from './sign-in-secret.ts';
import { firstEndpoint, isLiving, isShared, type SignIn } from '../records/sign-in.ts';
import type { SignIns } from '../records/sign-ins.ts';
import { SignInTurns } from './sign-in-turns.ts';
import { lostAfter, narrowsPermanently } from './lost-scope.ts';
import { NarrowsPermanently } from '../refusals/refusals.ts';
import { SharedWork } from '../../base/shared-work.ts';
import { liveUntil, scopeKey, type AccessToken, type TokenCache } from './token-cache.ts';
import {
  activeSignIn,
  keyOfSet,
  endedError,
  isForgottenRegistration,
  backoffKeyOf,
  attemptAfter,
  signInRequired,
  registrationForgotten,
  RefreshFailures,
  type Progress,
  type FailedRefresh,
  type HeldSignIn,
} from './failed-refresh.ts';
import { prepareRefresh, type PreparedRefresh } from './prepared-refresh.ts';
import type { ExceptionRecords } from '../records/exception.ts';
import type { Registrations } from '../records/registrations.ts';
import type { AuthorizationServers } from './authorization-servers.ts';

/** Milliseconds: a day. Most access tokens live an hour, and an end shows only at the narrower refresh after that. */
const reportTrusted = 24 * 60 * 60 * 1000;

export interface RefresherParts {
  readonly exceptions: ExceptionRecords;
  readonly registrations: Registrations;
  readonly servers: AuthorizationServers;
  readonly cache: TokenCache;
  readonly network: (endpoint: string) => Http;
  readonly clock: Clock;
  readonly vault: Pick<Vault, 'get' | 'set'>;
  /** Before something goes out. Throws what keeps it here. */
  readonly requireSettingsAnswered: () => Promise<void>;
  readonly signIns: SignIns;
  readonly audit: Audit;
  readonly pause: Pick<AccessPause, 'throwIfPaused'>;
  readonly document: Pick<HomeDocument, 'requireNewest' | 'number' | 'requireAsNew'>;
}

export class Refresher {
  readonly secrets: SignInSecrets;
  /**
   * Refreshes for different scope sets of a sign-in follow one another, and everything else that touches its tokens.
   */
  readonly turns = new SignInTurns();
  readonly #parts: RefresherParts;
  readonly #shared = new SharedWork<AccessToken>({ finishes: true });
  readonly failures: RefreshFailures;
  /** By sign-in, until when an app is believed that a refresh ended its access token with other scopes. */
  readonly #endsOthers = new Map<string, number>();

  constructor(parts: RefresherParts) {
    this.#parts = parts;
    this.secrets = new SignInSecrets(parts);
    this.failures = new RefreshFailures(parts);
  }

  /**
   * An app says that a refresh for one scope set ended the token of another one. Keyturn can't see that itself. The
   * report may be false, or about a server's passing fault, and costs the other apps a sign-in each: so it is
   * believed in memory and for a time only.
   */
  sawOtherEnd(signInId: string): void {
    this.#endsOthers.set(signInId, this.#parts.clock.now() + reportTrusted);
  }

  /**
   * A fresh access token, with the sign-in's scopes or, given `scope`, with just those (RFC 6749 §6).
   * Throws `login_required` when the refresh token is dead, `Unreachable` when nobody knows,
   * `conflict` when the sign-in was ended meanwhile, `paused`, and the vault's own errors. The caller may stop
   * waiting; the refresh goes on.
   */
  async refresh(
    signInId: string,
    scope: readonly string[] | undefined,
    caller: AbortSignal,
  ): Promise<AccessToken> {
    const key = `${signInId} ${scopeKey(scope)}`;
    return this.#shared.join(key, () => this.turns.take(signInId, () => this.#run(signInId, scope)), caller);
  }

  /** Resolves when no refresh is under way, to the sign-ins whose newest token the vault still refuses. */
  async settled(): Promise<readonly SignIn[]> {
    await this.turns.settled();
    const refused = new Set(await this.secrets.flush());
    return refused.size === 0
      ? []
      : this.#parts.signIns.shown().filter(({ item }) => item !== undefined && refused.has(item));
  }

  async #run(signInId: string, scope: readonly string[] | undefined): Promise<AccessToken> {
    const { signIns, audit, pause } = this.#parts;
    pause.throwIfPaused();
    const read = activeSignIn(signIns, signInId);
    this.failures.obeyBackoff(read.id, read);
    if (scope !== undefined) this.failures.obeyBackoff(keyOfSet(signInId, scope), read);
    await this.#confirmed();
    const signIn = activeSignIn(signIns, signInId);
    // What is taken from a sign-in of one app is taken from nobody else.
    if (scope !== undefined && isShared(signIn)) this.#refuseLosing(signIn);
    const parts = { ...this.#parts, secrets: this.secrets };
    const request = await prepareRefresh(parts, signIn, scope).catch((error: unknown) =>
      this.#failed(signIn, error),
    );
    const { secret, registrationRecord } = request;
    const attempt = await this.#noteAttempt(signIn, secret).catch((error: unknown) =>
      this.#failed(signIn, error),
    );
    const progress: Progress = { isRotating: false };
    const answer = await this.#send(signIn, request, progress).catch((error: unknown) =>
      this.#refused(signIn, attempt, { error, progress, secret, registrationRecord, scope }),
    );
    this.failures.forget(signIn.id);
    if (scope !== undefined) this.failures.forget(keyOfSet(signInId, scope));
    const token = await this.#keep(signIn, answer, { ...request, progress });
    const { id, issuer } = signIn;
    const outcome = secret.attempt ? 'recovered' : 'ok';
    audit.note({ event: 'refresh', outcome, signIn: id, issuer, scope: token.scope });
    return token;
  }

  /** No other broker works on a copy of this home. */
  async #confirmed(): Promise<void> {
    try {
      await this.#parts.requireSettingsAnswered();
      await this.#parts.document.requireNewest();
    } catch (error) {
      this.failures.isUpkeepHeld = true;
      throw error;
    }
  }

  /** What an issuer does is seen at any sign-in of it. */
  #refuseLosing(signIn: SignIn): void {
    const { clock, signIns } = this.#parts;
    const kin = signIns.all().filter(({ issuer }) => issuer === signIn.issuer);
    const isReported = kin.some(({ id }) => clock.now() < (this.#endsOthers.get(id) ?? 0));
    if (isReported || narrowsPermanently(kin, signIn.issuer)) throw new NarrowsPermanently(signIn);
  }

  /** Before the request. An earlier attempt that is still noted stays: its answer is the one we miss. */
  async #noteAttempt(signIn: HeldSignIn, secret: SignInSecret): Promise<RefreshAttempt> {
    const attempt = secret.attempt ?? { startedAt: this.#parts.clock.wall() };
    const { liveUntil: until } = this.secrets.factsOf(signIn);
    await this.secrets.write(signIn.item, { ...secret, attempt, liveUntil: until });
    this.failures.isUpkeepHeld = false;
    // The user may have ended the sign-in while that was written: then nothing is asked any more.
    if (!this.#isStill(signIn)) throw endedError(signIn);
    return attempt;
  }

  /** The sign-in has not ended, and nobody has signed in since. */
  #isStill({ id, item }: HeldSignIn): boolean {
    const now = this.#parts.signIns.byId(id);
    return now !== undefined && isLiving(now) && now.item === item;
  }

  /** A change of the record that follows from a refresh. Best effort: the next refresh tries again. */
  async #change({ id, item }: HeldSignIn, fields: Partial<SignIn>): Promise<void> {
    await this.#parts.signIns
      .update(id, (now) => (isLiving(now) && now.item === item ? fields : undefined))
      .catch(() => undefined);
  }

  /** In the sign-in's turn: a new sign-in that comes meanwhile waits. */
  async #send(
    signIn: HeldSignIn,
    { secret, ...request }: PreparedRefresh,
    progress: Progress,
  ): Promise<TokenResponse> {
    const onRotation = async (refreshToken: string): Promise<void> => {
      progress.isRotating = true;
      const narrowed = request.scope === undefined ? {} : { narrowedTo: [...request.scope] };
      const refreshedAt = this.#parts.clock.wall();
      const rotated = { ...secret, ...narrowed, refreshToken, refreshedAt, attempt: undefined };
      await this.secrets.rotate(signIn.item, rotated);
      progress.isRotating = false;
      progress.rotated = rotated;
    };
    const http = this.#parts.network(firstEndpoint(signIn));
    return refresh({ ...request, onRotation }, http);
  }

  /** Afterwards: the item says that the refresh is over, and the record what it has changed. */
  async #keep(
    signIn: HeldSignIn,
    answer: TokenResponse,
    { scope, secret, progress }: PreparedRefresh & { readonly progress: Progress },
  ): Promise<AccessToken> {
    const { cache, clock } = this.#parts;
    const lostScope = lostAfter(signIn, answer, secret.narrowedTo);
    const until = liveUntil(clock, this.secrets.factsOf(signIn), answer);
    const newest = progress.rotated ?? { ...secret, refreshedAt: clock.wall(), attempt: undefined };
    const isWhole = (lostScope ?? []).length === 0;
    const kept: SignInSecret =
      scope === undefined
        ? { ...newest, scope: [...answer.scope], narrowedTo: isWhole ? undefined : newest.narrowedTo }
        : { ...newest, narrowedTo: progress.rotated ? newest.narrowedTo : [...scope] };
    const isKept =
      progress.rotated !== undefined &&
      isSameScope(kept.scope, newest.scope) &&
      kept.narrowedTo === newest.narrowedTo;
    // The refresh token is in the vault already, so that a refusal costs nothing.
    if (!isKept) await this.secrets.writeIfPossible(signIn.item, { ...kept, liveUntil: until });
    this.secrets.learn(signIn.item, { ...kept, liveUntil: until });
    const granted = scope === undefined ? { scope: [...answer.scope], lostScope } : {};
    const fields = { ...granted, audience: answer.audience, state: { kind: 'active' } as const };
    if (isNews(signIn, fields)) await this.#change(signIn, fields);
    if (!this.#isStill(signIn)) throw endedError(signIn);
    return cache.put(signIn.id, scopeKey(scope), answer);
  }

  /** No refresh request was sent. Rejects with the error, or with one that says when the next try will be. */
  async #failed(signIn: HeldSignIn, error: unknown): Promise<never> {
    const refusal = this.failures.note(signIn, error);
    if (reasonOf(error) === 'login_required') {
      const why = 'its refresh token or its client is no longer stored';
      await this.#change(signIn, { state: { kind: 'signInRequired', why } });
    }
    throw refusal;
  }

  /** The request was sent, and no token came of it. Rejects as `#failed` does. */
  async #refused(signIn: HeldSignIn, attempt: RefreshAttempt, refused: FailedRefresh): Promise<never> {
    const { error, registrationRecord, progress, secret } = refused;
    const isForgotten = isForgottenRegistration(error, registrationRecord);
    const key = backoffKeyOf(signIn, refused);
    const state = this.failures.count(signIn, refused, key);
    const mayRefreshAgain = state?.kind === 'signInRequired' && state.mayRefreshAgain === true;
    const isEnded = state !== undefined && !mayRefreshAgain;
    const refusal = this.failures.note(signIn, error, { key, isEnded });
    if (isForgotten) await this.#parts.registrations.reject(registrationRecord);
    if (isEnded) this.failures.forget(signIn.id);
    if (state) await this.#change(signIn, { state });
    // Else the newest secret is in the vault, or waits for it.
    if (!progress.isRotating && !progress.rotated)
      await this.secrets.writeIfPossible(signIn.item, { ...secret, attempt: attemptAfter(attempt, refused) });
    if (isForgotten) throw registrationForgotten(registrationRecord);
    throw mayRefreshAgain ? signInRequired(signIn, state.why) : refusal;
  }
}

/** True if the record says something else. */
function isNews(
  signIn: SignIn,
  { scope, ...fields }: Pick<SignIn, 'audience' | 'state'> & Partial<Pick<SignIn, 'scope' | 'lostScope'>>,
): boolean {
  const keys = Object.keys(fields) as readonly (keyof typeof fields)[];
  return (
    (scope !== undefined && !isSameScope(scope, signIn.scope)) ||
    keys.some((key) => !isDeepStrictEqual(fields[key], signIn[key]))
  );
}
