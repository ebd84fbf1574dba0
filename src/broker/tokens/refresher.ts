/**
 * Refreshes grants: one at a time per grant, however many programs ask.
 *
 * Invariants (2 and 3, docs/internals.md): the new refresh token is durable before any caller sees the new access
 * token, and is kept even when the rest of the answer is refused; sign-in, refresh and revocation take turns at a
 * grant's tokens, so that none writes over what is newer; only the server's own refusals make a grant `loginRequired`
 * (`invalid_grant` at once, others after a few), and even they delete no token. No request leaves before the grant's
 * record says so durably, and the record says so until the outcome is kept: after a crash or a lost answer `explain`
 * says what happened.
 */
import { KeyturnError, reasonOf, Unreachable } from '../../base/errors.ts';
import type { Http } from '../../oauth/base/http.ts';
import { refresh } from '../../oauth/grants/token.ts';
import type { TokenResponse } from '../../oauth/grants/token.ts';
import { UnclearRefusal } from '../../oauth/grants/token-failure.ts';
import type { AuthorityDocument } from '../../store/document.ts';
import type { Vault } from '../../vault/base/vault.ts';
import type { Audit } from '../../audit/audit.ts';
import type { AccessPause } from '../refusals/access-pause.ts';
import { Backoff } from '../../base/backoff.ts';
import type { Clock } from '../../base/clock.ts';
import { isSameScope } from '../grants/grant-binding.ts';
import { GrantSecrets } from '../grants/grant-secret.ts';
import type { GrantSecret } from '../grants/grant-secret.ts';
import { isShared } from '../records/grant.ts';
import type { Grant, Grants, GrantState } from '../records/grant.ts';
import {
  afterRefusal,
  endedByRefusals,
  isRefusal,
  refusedUntil,
  RefreshRefusals,
} from '../refusals/refresh-refusals.ts';
import { GrantTurns } from './grant-turns.ts';
import { lostAfter, narrowsForGood } from './lost-scope.ts';
import { NarrowsForGood, serverResting, unreachableUntil } from '../refusals/refusals.ts';
import { deadState, whyEnded } from '../refusals/login-required.ts';
import { SharedWork } from '../../base/shared-work.ts';
import { liveUntil, scopeKey } from './token-cache.ts';
import type { AccessToken } from './token-cache.ts';
import {
  setsOf,
  activeGrant,
  keyOfSet,
  endedError,
  isForgottenRegistration,
  pausedBy,
  attemptAfter,
  isRevivable,
  loginRequired,
  registrationForgotten,
  clientForgotten,
} from './failed-refresh.ts';
import type { Progress, FailedRefresh } from './failed-refresh.ts';
import { prepareRefresh } from './prepared-refresh.ts';
import type { PreparedRefresh, PreparedRefreshParts } from './prepared-refresh.ts';

/** Milliseconds: a day. Most access tokens live an hour, and an end shows only at the narrower refresh after that. */
const reportTrusted = 24 * 60 * 60 * 1000;

export interface RefresherParts extends Omit<PreparedRefreshParts, 'secrets'> {
  readonly network: (endpoint: string) => Http;
  readonly clock: Clock;
  readonly vault: Vault;
  /** Throws unless the vault can keep a token, before the request that may replace one. */
  readonly requireVault: () => Promise<void>;
  readonly grants: Grants;
  readonly audit: Audit;
  readonly pause: Pick<AccessPause, 'refuse'>;
  readonly document: Pick<AuthorityDocument, 'confirm'>;
  /** Gets lines for the broker's log. */
  readonly report?: (line: string) => void;
}

export class Refresher {
  readonly secrets: GrantSecrets;
  /** Refreshes for different scope sets of a grant follow one another, and everything else that touches its tokens. */
  readonly turns = new GrantTurns();
  readonly #parts: RefresherParts;
  readonly #shared = new SharedWork<AccessToken>({ finishes: true });
  /** Of every server that gives tokens, by grant. */
  readonly backoff: Backoff;
  /** By grant; and by grant and scope set where the server can't narrow to it. */
  readonly #refusals = new RefreshRefusals();
  /** By grant, until when a program is believed that a refresh ended its access token with other scopes. */
  readonly #endsOthers = new Map<string, number>();
  #isVaultInTrouble = false;

  constructor(parts: RefresherParts) {
    this.#parts = parts;
    this.secrets = new GrantSecrets(parts);
    this.backoff = new Backoff(() => parts.clock.now());
  }

  /** The vault refused the last time it was asked here; the next on-demand refresh finds out more. */
  get isVaultInTrouble(): boolean {
    return this.#isVaultInTrouble;
  }

  /**
   * A server gave tokens: what it refused before no longer counts. By grant, by endpoint, or by grant and scope set.
   */
  succeeded(key: string): void {
    this.backoff.succeeded(key);
    this.#refusals.clear(key);
  }

  /** The person changed what the server refused, a client or a rule: nothing of its refusals counts any more. */
  async tryAgain(refused: readonly Grant[]): Promise<void> {
    const { grants } = this.#parts;
    for (const { id } of refused) {
      this.succeeded(id);
      this.backoff.forget(setsOf(id));
      this.#refusals.forget(setsOf(id));
      const grant = grants.byId(id);
      const isRefused = grant?.state.kind === 'loginRequired' && grant.state.isRefused === true;
      if (grant && isRefused) await grants.change(grant, { state: { kind: 'active' } });
    }
  }

  /** Its server refused it in words of its own, and may be asked again now. */
  mayRevive(grant: Grant): boolean {
    return isRevivable(grant) && this.backoff.left(grant.id) <= 0;
  }

  /** What the server said to the last refresh, where that was a clear no. */
  refusalOf(grantId: string): KeyturnError | undefined {
    return this.#refusals.last(grantId);
  }

  /**
   * A program says that a refresh for one scope set ended the token of another one. Keyturn can't see that itself. The
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
   * Before a grant decides anything: its record is what the vault says, or the vault is known to hold nothing of
   * it. Done once a grant and run. Throws what the vault throws.
   */
  async compareWithVault(grants: readonly Grant[]): Promise<void> {
    for (const { id } of grants) {
      if (!this.secrets.comparison.isCompared(id))
        await this.turns.look(id, () => this.secrets.compareWithVault(id));
    }
  }

  /** For an active grant whose tokens the vault did not hold. Resolves if it holds them now; else throws why. */
  async readOrRefuse(grantId: string): Promise<void> {
    await this.turns.look(grantId, () => this.secrets.read(grantId));
  }

  /** Resolves when no refresh is under way: nothing is cut off between the server's answer and the vault. */
  async settled(): Promise<void> {
    await this.turns.settled();
    await this.secrets.flush();
  }

  async #run(grantId: string, scope: readonly string[] | undefined): Promise<AccessToken> {
    const { grants, audit, pause } = this.#parts;
    pause.refuse();
    const read = activeGrant(grants, grantId);
    this.#obeyBackoff(read.id, read);
    if (scope !== undefined) this.#obeyBackoff(keyOfSet(grantId, scope), read);
    await this.#probe();
    await this.#parts.document.confirm();
    await this.secrets.compareWithVault(grantId).catch((error: unknown) => this.#failed(read, error));
    const grant = activeGrant(grants, grantId);
    // What is taken from a grant of one program is taken from nobody else.
    if (scope !== undefined && isShared(grant)) await this.#refuseLosing(grant);
    const parts = { ...this.#parts, secrets: this.secrets };
    const request = await prepareRefresh(parts, grant, scope).catch((error: unknown) =>
      this.#failed(grant, error),
    );
    const attempted = await this.#noteAttempt(grant);
    const progress: Progress = { isRotating: false };
    const answer = await this.#send(attempted, request, progress).catch((error: unknown) =>
      this.#refused(attempted, { error, progress, before: grant.attempt, record: request.record, scope }),
    );
    this.succeeded(grant.id);
    if (scope !== undefined) this.succeeded(keyOfSet(grantId, scope));
    const token = await this.#keep(attempted, answer, request);
    const { id, issuer } = grant;
    const outcome = grant.attempt ? 'recovered' : 'ok';
    audit.note({ event: 'refresh', outcome, grant: id, issuer, scope: token.scope });
    return token;
  }

  /** A failed vault probe forbids a refresh, since the rotated token could not be kept. */
  async #probe(): Promise<void> {
    try {
      await this.#parts.requireVault();
      this.#isVaultInTrouble = false;
    } catch (error) {
      this.#isVaultInTrouble = true;
      throw error;
    }
  }

  /**
   * What an issuer does is seen at any grant of it. A grant is vouched for itself before its turn waits for others'
   * here, so that no two turns wait for each other.
   */
  async #refuseLosing(grant: Grant): Promise<void> {
    const { grants } = this.#parts;
    const kin = grants.all().filter(({ issuer }) => issuer === grant.issuer);
    if (this.secrets.comparison.isCompared(grant.id))
      await this.compareWithVault(kin).catch((error: unknown) => this.#failed(grant, error));
    const vouched = grants.all().filter(({ id }) => this.secrets.comparison.isVouched(id));
    const now = this.#parts.clock.now();
    const isReported = kin.some(({ id }) => now < (this.#endsOthers.get(id) ?? 0));
    const isKnown = isReported || narrowsForGood(vouched, grant.issuer);
    if (isKnown) throw new NarrowsForGood(grant);
  }

  /**
   * Written to disk before the request leaves (docs/reliability.md, step 1). If an earlier attempt is still recorded, we
   * keep that one, because its answer is the one we miss.
   */
  async #noteAttempt(grant: Grant): Promise<Grant> {
    const { grants, clock } = this.#parts;
    const attempted = await grants.change(grant, { attempt: grant.attempt ?? { startedAt: clock.wall() } });
    // The user may have ended the grant while that was written: then nothing is asked any more.
    if (!grants.isCurrent(attempted)) throw endedError(grant);
    return attempted;
  }

  async #send(
    grant: Grant,
    { secret, ...request }: PreparedRefresh,
    progress: Progress,
  ): Promise<TokenResponse> {
    const onRotation = async (refreshToken: string): Promise<void> => {
      progress.isRotating = true;
      await this.#rotate(grant, secret, { refreshToken, scope: request.scope });
      progress.isRotating = false;
      progress.isRotated = true;
    };
    const http = this.#parts.network(grant.endpoints[0] ?? grant.resource);
    const answer = await refresh({ ...request, onRotation }, http);
    if (!progress.isRotated) await this.#rotate(grant, secret, request);
    return answer;
  }

  /**
   * docs/reliability.md, step 2. In the grant's turn, so that nothing newer can be there: a sign-in that came meanwhile
   * waits.
   */
  async #rotate(grant: Grant, secret: GrantSecret, { refreshToken, scope }: Sent): Promise<void> {
    const narrowed = scope === undefined ? {} : { narrowedTo: [...scope] };
    const isNoted = isSameScope(secret.narrowedTo ?? [], narrowed.narrowedTo ?? secret.narrowedTo ?? []);
    if (refreshToken === secret.refreshToken && isNoted) return;
    await this.secrets.rotate(grant.id, { ...secret, ...narrowed, refreshToken });
  }

  /** docs/reliability.md, step 3: the record says that the refresh is over. */
  async #keep(grant: Grant, answer: TokenResponse, { scope, secret }: PreparedRefresh): Promise<AccessToken> {
    const { grants, cache, clock } = this.#parts;
    const lostScope = lostAfter(grant, answer, secret.narrowedTo);
    const granted = scope === undefined ? { scope: [...answer.scope], lostScope } : {};
    const change = (): Promise<Grant> =>
      grants.change(grant, {
        ...granted,
        lastRefreshedAt: clock.wall(),
        liveUntil: liveUntil(clock, grant, answer),
        audience: answer.audience,
        attempt: undefined,
        state: { kind: 'active' },
      });
    // Both throw or refuse where the grant was ended meanwhile; the revocation finds the rotated token in the vault.
    const isNews = scope === undefined && lostScope !== undefined && grant.lostScope === undefined;
    const kept = await (isSameScope(grant.scope, granted.scope ?? grant.scope) && !isNews
      ? change()
      : this.#rebind(grant, { scope: [...answer.scope], lostScope }, change));
    if (scope === undefined && secret.narrowedTo && !lostScope?.length) await this.#forgetNarrowing(grant.id);
    if (!grants.isCurrent(kept)) throw endedError(grant);
    return cache.put(grant.id, scopeKey(scope), answer);
  }

  /** The server granted other scopes than before: the vault has them before the index. */
  async #rebind(
    grant: Grant,
    granted: Pick<Grant, 'scope' | 'lostScope'>,
    change: () => Promise<Grant>,
  ): Promise<Grant> {
    const secret = await this.secrets.read(grant.id);
    const binding = { ...secret.binding, ...granted, generation: grant.generation + 1 };
    return this.secrets.writeBoth(grant.id, { ...secret, binding }, change);
  }

  /** All scopes came again after a narrower refresh: this server keeps RFC 6749 §6. */
  async #forgetNarrowing(grantId: string): Promise<void> {
    const { narrowedTo: _, ...secret } = await this.secrets.read(grantId);
    await this.secrets.write(grantId, secret);
  }

  /** Nothing was sent. Rejects with the error, or with one that says when the next try will be. */
  async #failed(grant: Grant, error: unknown): Promise<never> {
    const { grants } = this.#parts;
    const told = this.#told(grant, error);
    if (reasonOf(error) === 'login_required' && grants.isCurrent(grant)) {
      const why = 'its refresh token or its registration is gone';
      await grants.change(grant, {
        state: { kind: 'loginRequired', why, cause: 'secretGone' },
        attempt: undefined,
      });
    }
    throw told;
  }

  /** The request was sent, and no token came of it. Rejects as `#failed` does. */
  async #refused(attempted: Grant, refused: FailedRefresh): Promise<never> {
    const { grants, registrations } = this.#parts;
    const { error, record } = refused;
    const isForgotten = isForgottenRegistration(error, record);
    const key = pausedBy(attempted, refused);
    const state = this.#count(attempted, refused, key);
    const isUnclear = error instanceof UnclearRefusal;
    const told = this.#told(attempted, error, { key, isEnded: state !== undefined });
    if (isForgotten) await registrations.reject(record);
    if (state && !isUnclear) this.succeeded(attempted.id);
    if (grants.isCurrent(attempted)) {
      await grants.change(attempted, {
        ...(state ? { state } : {}),
        attempt: attemptAfter(attempted, refused),
      });
    }
    if (isUnclear && state?.kind === 'loginRequired') throw loginRequired(attempted, state.why);
    throw isForgotten ? registrationForgotten(record) : told;
  }

  /** Counts the refusal for `key`. The state that it leaves the grant in; undefined: it stays as it is. */
  #count(attempted: Grant, { error, before, record }: FailedRefresh, key: string): GrantState | undefined {
    const { grants, clock } = this.#parts;
    const earlier = this.#refusals.last(attempted.id);
    if (reasonOf(error) === 'login_required') {
      const ended = whyEnded(before);
      return deadState(grants.all(), attempted, clock.wall(), {
        why: earlier ? afterRefusal(ended, earlier) : ended,
        cause: before ? 'refreshLost' : 'refreshTokenEnded',
      });
    }
    if (error instanceof UnclearRefusal) return this.#refusals.addUnclear(attempted.id, clock.now());
    if (!isRefusal(error)) return undefined;
    if (isForgottenRegistration(error, record)) return clientForgotten;
    const isLast = this.#refusals.add(key, error);
    return isLast && key === attempted.id ? endedByRefusals(error) : undefined;
  }

  /**
   * The error with what the person needs to know of it, written down; `key` says what pauses, but for a grant that
   * ended.
   */
  #told({ id, issuer }: Grant, error: unknown, { key = id, isEnded = false } = {}): unknown {
    const reason = reasonOf(error);
    this.#parts.audit.note({ event: 'refresh', outcome: reason, grant: id, issuer });
    if (reason === 'locked' || reason === 'vault_unavailable') this.#isVaultInTrouble = true;
    // No waiting helps a grant that ended.
    if (isRefusal(error)) return isEnded ? error : refusedUntil(error, this.backoff.failed(key));
    if (!(error instanceof Unreachable)) return error;
    const wait = this.backoff.failed(id, error.retryAfter);
    return unreachableUntil(error, wait);
  }

  /** A server in trouble isn't asked with every request of every program. */
  #obeyBackoff(key: string, { resource }: Grant): void {
    const left = this.backoff.left(key);
    if (left <= 0) return;
    const refusal = this.#refusals.last(key);
    throw refusal ? refusedUntil(refusal, left) : serverResting(resource, left);
  }
}

/** What decides about the refresh token that is kept. */
interface Sent {
  readonly refreshToken: string;
  /** Undefined: all scopes of the grant were asked for. */
  readonly scope?: readonly string[] | undefined;
}
