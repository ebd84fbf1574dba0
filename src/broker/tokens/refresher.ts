/**
 * Refreshes grants: one at a time per grant, however many programs ask.
 *
 * Invariants (2 and 3, dev/internals.md): the new refresh token is durable before any caller sees the new access
 * token, and is kept even when the rest of the answer is refused; sign-in, refresh and revocation take turns at a
 * grant's tokens, so that none writes over what is newer; only the server's own refusals make a grant `signInRequired`
 * (`invalid_grant` at once, others after a few), and even they delete no token. No request leaves before the grant's
 * item in the vault says so, which proves that the vault can keep the answer; the item says so until the outcome is
 * kept: after a crash or a lost answer `explain` says what happened. A refresh writes the document only if it changes
 * what the record says. Such a change is dropped if the record no longer names the item that the refresh read.
 */
import { isDeepStrictEqual } from 'node:util';
import { reasonOf } from '../../base/errors.ts';
import type { Http } from '../../oauth/base/http.ts';
import { isSameScope } from '../../oauth/base/scope.ts';
import { refresh } from '../../oauth/grants/token.ts';
import type { TokenResponse } from '../../oauth/grants/token.ts';
import { UnclearRefusal } from '../../oauth/grants/token-failure.ts';
import type { AuthorityDocument } from '../../store/document.ts';
import type { Vault } from '../../vault/base/vault.ts';
import type { Audit } from '../../audit/audit.ts';
import type { AccessPause } from '../refusals/access-pause.ts';
import type { Clock } from '../../base/clock.ts';
import { GrantSecrets } from '../grants/grant-secret.ts';
import type { GrantSecret, RefreshAttempt } from '../grants/grant-secret.ts';
import { isLiving, isShared } from '../records/grant.ts';
import type { Grant } from '../records/grant.ts';
import type { Grants } from '../records/grants.ts';
import { GrantTurns } from './grant-turns.ts';
import { lostAfter, narrowsPermanently } from './lost-scope.ts';
import { NarrowsPermanently } from '../refusals/refusals.ts';
import { SharedWork } from '../../base/shared-work.ts';
import { liveUntil, scopeKey } from './token-cache.ts';
import type { AccessToken, TokenCache } from './token-cache.ts';
import {
  activeGrant,
  keyOfSet,
  endedError,
  isForgottenRegistration,
  pausedBy,
  attemptAfter,
  signInRequired,
  registrationForgotten,
  RefreshFailures,
} from './failed-refresh.ts';
import type { Progress, FailedRefresh, HeldGrant } from './failed-refresh.ts';
import { prepareRefresh } from './prepared-refresh.ts';
import type { PreparedRefresh } from './prepared-refresh.ts';
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
  readonly requireSettled: () => Promise<void>;
  readonly grants: Grants;
  readonly audit: Audit;
  readonly pause: Pick<AccessPause, 'throwIfPaused'>;
  readonly document: Pick<AuthorityDocument, 'confirm' | 'number' | 'requireAsNew'>;
}

export class Refresher {
  readonly secrets: GrantSecrets;
  /** Refreshes for different scope sets of a grant follow one another, and everything else that touches its tokens. */
  readonly turns = new GrantTurns();
  readonly #parts: RefresherParts;
  readonly #shared = new SharedWork<AccessToken>({ finishes: true });
  readonly failures: RefreshFailures;
  /** By grant, until when an app is believed that a refresh ended its access token with other scopes. */
  readonly #endsOthers = new Map<string, number>();

  constructor(parts: RefresherParts) {
    this.#parts = parts;
    this.secrets = new GrantSecrets(parts);
    this.failures = new RefreshFailures(parts);
  }

  /**
   * An app says that a refresh for one scope set ended the token of another one. Keyturn can't see that itself. The
   * report may be false, or about a server's passing fault, and costs the other programs a sign-in each: so it is
   * believed in memory and for a time only.
   */
  sawOtherEnd(grantId: string): void {
    this.#endsOthers.set(grantId, this.#parts.clock.now() + reportTrusted);
  }

  /**
   * A fresh access token, with the grant's scopes or, given `scope`, with just those (RFC 6749 §6).
   * Throws `login_required` when the refresh token is dead, `Unreachable` when nobody knows,
   * `conflict` when the grant was ended meanwhile, `paused`, and the vault's own errors. The caller may stop
   * waiting; the refresh goes on.
   */
  async refresh(
    grantId: string,
    scope: readonly string[] | undefined,
    caller: AbortSignal,
  ): Promise<AccessToken> {
    const key = `${grantId} ${scopeKey(scope)}`;
    return this.#shared.join(key, () => this.turns.take(grantId, () => this.#run(grantId, scope)), caller);
  }

  /**
   * Resolves when no refresh is under way: nothing is cut off between the server's answer and the vault. To the grants
   * whose newest token the vault still refuses.
   */
  async settled(): Promise<readonly Grant[]> {
    await this.turns.settled();
    const refused = new Set(await this.secrets.flush());
    return refused.size === 0
      ? []
      : this.#parts.grants.shown().filter(({ item }) => item !== undefined && refused.has(item));
  }

  async #run(grantId: string, scope: readonly string[] | undefined): Promise<AccessToken> {
    const { grants, audit, pause } = this.#parts;
    pause.throwIfPaused();
    const read = activeGrant(grants, grantId);
    this.failures.obeyBackoff(read.id, read);
    if (scope !== undefined) this.failures.obeyBackoff(keyOfSet(grantId, scope), read);
    await this.#confirmed();
    const grant = activeGrant(grants, grantId);
    // What is taken from a grant of one app is taken from nobody else.
    if (scope !== undefined && isShared(grant)) this.#refuseLosing(grant);
    const parts = { ...this.#parts, secrets: this.secrets };
    const request = await prepareRefresh(parts, grant, scope).catch((error: unknown) =>
      this.#failed(grant, error),
    );
    const { secret, record } = request;
    const attempt = await this.#noteAttempt(grant, secret).catch((error: unknown) =>
      this.#failed(grant, error),
    );
    const progress: Progress = { isRotating: false };
    const answer = await this.#send(grant, request, progress).catch((error: unknown) =>
      this.#refused(grant, attempt, { error, progress, secret, record, scope }),
    );
    this.failures.succeeded(grant.id);
    if (scope !== undefined) this.failures.succeeded(keyOfSet(grantId, scope));
    const token = await this.#keep(grant, answer, { ...request, progress });
    const { id, issuer } = grant;
    const outcome = secret.attempt ? 'recovered' : 'ok';
    audit.note({ event: 'refresh', outcome, signIn: id, issuer, scope: token.scope });
    return token;
  }

  /** No other broker works on a copy of this home. */
  async #confirmed(): Promise<void> {
    try {
      await this.#parts.requireSettled();
      await this.#parts.document.confirm();
    } catch (error) {
      this.failures.isVaultInTrouble = true;
      throw error;
    }
  }

  /** What an issuer does is seen at any grant of it. */
  #refuseLosing(grant: Grant): void {
    const { clock, grants } = this.#parts;
    const kin = grants.all().filter(({ issuer }) => issuer === grant.issuer);
    const isReported = kin.some(({ id }) => clock.now() < (this.#endsOthers.get(id) ?? 0));
    if (isReported || narrowsPermanently(kin, grant.issuer)) throw new NarrowsPermanently(grant);
  }

  /**
   * In the vault before the request leaves (dev/reliability.md, step 1). If an earlier attempt is still noted, we keep
   * that one, because its answer is the one we miss.
   */
  async #noteAttempt(grant: HeldGrant, secret: GrantSecret): Promise<RefreshAttempt> {
    const attempt = secret.attempt ?? { startedAt: this.#parts.clock.wall() };
    const { liveUntil: until } = this.secrets.factsOf(grant);
    await this.secrets.write(grant.item, { ...secret, attempt, liveUntil: until });
    this.failures.isVaultInTrouble = false;
    // The user may have ended the grant while that was written: then nothing is asked any more.
    if (!this.#isStill(grant)) throw endedError(grant);
    return attempt;
  }

  /** The grant has not ended, and nobody has signed in since. */
  #isStill({ id, item }: HeldGrant): boolean {
    const now = this.#parts.grants.byId(id);
    return now !== undefined && isLiving(now) && now.item === item;
  }

  /** A change of the record that follows from a refresh. Best effort: the next refresh tries again. */
  async #change({ id, item }: HeldGrant, fields: Partial<Grant>): Promise<void> {
    await this.#parts.grants
      .update(id, (now) => (isLiving(now) && now.item === item ? fields : undefined))
      .catch(() => undefined);
  }

  /** dev/reliability.md, step 2. In the grant's turn: a sign-in that comes meanwhile waits. */
  async #send(
    grant: HeldGrant,
    { secret, ...request }: PreparedRefresh,
    progress: Progress,
  ): Promise<TokenResponse> {
    const onRotation = async (refreshToken: string): Promise<void> => {
      progress.isRotating = true;
      const narrowed = request.scope === undefined ? {} : { narrowedTo: [...request.scope] };
      const refreshedAt = this.#parts.clock.wall();
      const rotated = { ...secret, ...narrowed, refreshToken, refreshedAt, attempt: undefined };
      await this.secrets.rotate(grant.item, rotated);
      progress.isRotating = false;
      progress.rotated = rotated;
    };
    const http = this.#parts.network(grant.endpoints[0] ?? grant.resource);
    return refresh({ ...request, onRotation }, http);
  }

  /** dev/reliability.md, step 3: the item says that the refresh is over, and the record what it has changed. */
  async #keep(
    grant: HeldGrant,
    answer: TokenResponse,
    { scope, secret, progress }: PreparedRefresh & { readonly progress: Progress },
  ): Promise<AccessToken> {
    const { cache, clock } = this.#parts;
    const lostScope = lostAfter(grant, answer, secret.narrowedTo);
    const until = liveUntil(clock, this.secrets.factsOf(grant), answer);
    const newest = progress.rotated ?? { ...secret, refreshedAt: clock.wall(), attempt: undefined };
    const isWhole = (lostScope ?? []).length === 0;
    const kept: GrantSecret =
      scope === undefined
        ? { ...newest, scope: [...answer.scope], narrowedTo: isWhole ? undefined : newest.narrowedTo }
        : { ...newest, narrowedTo: progress.rotated ? newest.narrowedTo : [...scope] };
    const isKept =
      progress.rotated !== undefined &&
      isSameScope(kept.scope, newest.scope) &&
      kept.narrowedTo === newest.narrowedTo;
    // The refresh token is in the vault already, so that a refusal costs nothing.
    if (!isKept) await this.secrets.writeIfPossible(grant.item, { ...kept, liveUntil: until });
    this.secrets.learn(grant.item, { ...kept, liveUntil: until });
    const granted = scope === undefined ? { scope: [...answer.scope], lostScope } : {};
    const fields = { ...granted, audience: answer.audience, state: { kind: 'active' } as const };
    if (isNews(grant, fields)) await this.#change(grant, fields);
    if (!this.#isStill(grant)) throw endedError(grant);
    return cache.put(grant.id, scopeKey(scope), answer);
  }

  /** Nothing was sent. Rejects with the error, or with one that says when the next try will be. */
  async #failed(grant: HeldGrant, error: unknown): Promise<never> {
    const refusal = this.failures.note(grant, error);
    if (reasonOf(error) === 'login_required') {
      const why = 'its tokens are no longer stored';
      await this.#change(grant, { state: { kind: 'signInRequired', why } });
    }
    throw refusal;
  }

  /** The request was sent, and no token came of it. Rejects as `#failed` does. */
  async #refused(grant: HeldGrant, attempt: RefreshAttempt, refused: FailedRefresh): Promise<never> {
    const { error, record, progress, secret } = refused;
    const isForgotten = isForgottenRegistration(error, record);
    const key = pausedBy(grant, refused);
    const state = this.failures.count(grant, refused, key);
    const isUnclear = error instanceof UnclearRefusal;
    const refusal = this.failures.note(grant, error, { key, isEnded: state !== undefined });
    if (isForgotten) await this.#parts.registrations.reject(record);
    if (state && !isUnclear) this.failures.succeeded(grant.id);
    if (state) await this.#change(grant, { state });
    // Else the newest secret is in the vault, or waits for it.
    if (!progress.isRotating && !progress.rotated)
      await this.secrets.writeIfPossible(grant.item, { ...secret, attempt: attemptAfter(attempt, refused) });
    if (isUnclear && state?.kind === 'signInRequired') throw signInRequired(grant, state.why);
    throw isForgotten ? registrationForgotten(record) : refusal;
  }
}

/** True if the record says something else. */
function isNews(
  grant: Grant,
  { scope, ...fields }: Pick<Grant, 'audience' | 'state'> & Partial<Pick<Grant, 'scope' | 'lostScope'>>,
): boolean {
  const keys = Object.keys(fields) as readonly (keyof typeof fields)[];
  return (
    (scope !== undefined && !isSameScope(scope, grant.scope)) ||
    keys.some((key) => !isDeepStrictEqual(fields[key], grant[key]))
  );
}
