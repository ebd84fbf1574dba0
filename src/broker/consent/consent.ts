/**
 * Consent: may this app have a token for this endpoint, with these scopes?
 *
 * An approval request is what waits for the user's answer, and its card shows it in a window. A run is one process of an
 * app, until its last connection closes.
 *
 * Invariants (6, dev/internals.md): silence authorizes nothing. Without a permission there is an approval request, or a
 * refusal. A denial is stored only if the user wants it remembered. If the user decides by a command while a card is
 * open, the card closes; that never grants more than the command said. After a request that wasn't approved, the app
 * waits before its next approval request, each time longer.
 */
import type { BrokerParts } from '../parts.ts';
import type { KeyturnError } from '../../base/errors.ts';
import type { RequestDeadline } from '../../base/request-deadline.ts';
import { SharedWork } from '../../base/shared-work.ts';
import type { Decision } from '../approval-requests/answer.ts';
import { answerInTime } from '../approval-requests/approval-requests.ts';
import { shownApiKey } from '../records/api-key.ts';
import { cliAppId } from '../records/app.ts';
import type { ForwardOrigin } from '../records/app.ts';
import { carriedOver } from '../records/permission.ts';
import type { AsRead, Permission } from '../records/permission.ts';
import { askedTooSoon, apiKeyInstead } from '../refusals/refusals.ts';
import { RequestWaits } from './request-waits.ts';
import { offerFor } from './consent-offer.ts';
import type { Offer } from './consent-offer.ts';
import { CurrentPermissions } from './current-permissions.ts';
import type { WantedAccess } from './current-permissions.ts';
import { permissionRow, PermissionChanges } from './permission-changes.ts';
import type { ShownOffer } from './permission-changes.ts';

/** An API key has no scopes and no sign-in. */
const apiKeyOffer: Offer = { scope: [], signInIds: [], namedSignIn: undefined };

export class Consent {
  /** The permissions of this moment, on disk and temporary. */
  readonly current: CurrentPermissions;
  readonly changes: PermissionChanges;
  readonly #parts: BrokerParts;
  readonly #openRequests = new SharedWork<void>();
  /** How long an app waits before its next approval request; by app, with the endpoints that it asked about. */
  readonly #waits: RequestWaits;

  constructor(parts: BrokerParts) {
    this.#parts = parts;
    this.current = new CurrentPermissions(parts);
    this.changes = new PermissionChanges(parts, this.current);
    this.#waits = new RequestWaits(() => parts.clock.now());
  }

  /**
   * The user signs in there without an app's request: if an app's requests were only about that server, its wait ends.
   */
  signingIn(endpoint: string): void {
    this.#waits.userActed(endpoint);
  }

  /**
   * Resolves when a permission covers the request; asks the user where none does. Throws `consent_denied`,
   * `consent_required`, `rate_limited` or the deadline's reason.
   */
  async askUnlessAllowed(wanted: WantedAccess, deadline: Pick<RequestDeadline, 'signal'>): Promise<void> {
    if (this.current.covering(wanted)) return;
    if (!wanted.apiKey) this.refuseWhereApiKeyOnly(wanted);
    if (wanted.interaction === 'never') throw this.current.consentRequired(wanted);
    const { appId, endpoint, scope, account = '', signInId = '', isDetached = false } = wanted;
    // A card is about one process, so that the user can allow just that one. Processes that can't wait share one.
    const run = appId === cliAppId || isDetached ? '' : (wanted.appProcess?.run ?? '');
    const sameRequest = JSON.stringify([
      appId,
      endpoint,
      scope.toSorted(),
      run,
      account,
      signInId,
      isDetached,
    ]);
    await this.#openRequests.join(sameRequest, (signal) => this.#ask(wanted, signal), deadline.signal);
  }

  /** If the user set an API key there instead of signing in, a request for tokens, or a sign-in, would only mislead. */
  refuseWhereApiKeyOnly({ endpoint, query = '' }: Pick<WantedAccess, 'endpoint' | 'query'>): void {
    const { signIns, apiKeys } = this.#parts;
    if (apiKeys.forUrl(`${endpoint}${query}`) && signIns.forEndpoint(endpoint).length === 0)
      throw apiKeyInstead(endpoint);
  }

  /**
   * Stores the user's decision before any event leaves. Closes the cards that it answers, and ends temporary permissions. Throws
   * `conflict` if `from` is no longer the stored permission.
   */
  async decide(permission: Permission, from?: AsRead): Promise<void> {
    this.#parts.temporary.end(permission.appId, permission.endpoint);
    const before = this.current.onDisk(permission);
    await this.changes.set({ ...permission, ...carriedOver(before, permission) }, from);
    if (permission.decision === 'allow') this.#waits.end(permission.appId);
  }

  /** A run of an app is over: ends its temporary permissions. */
  endRun(run: string): void {
    for (const { appId, endpoint } of this.#parts.temporary.endRun(run)) {
      const app = this.#parts.apps.nameOf(appId);
      this.#parts.audit.note({ ...permissionRow(this.#parts.apiKeys, endpoint, 'run over'), app });
    }
  }

  /** Withdraws the approval requests and refuses new ones with `reason`. Resolves when the answers that came are on disk. */
  async end(reason: KeyturnError): Promise<void> {
    await this.#openRequests.end(reason);
  }

  async #ask(wanted: WantedAccess, signal: AbortSignal): Promise<void> {
    this.#refuseTooSoon(wanted);
    const { apps } = this.#parts;
    const offer = this.#offer(wanted);
    const appProcess = wanted.appProcess?.currentFacts();
    const decision = await answerInTime(
      this.#parts,
      {
        kind: 'allow',
        appId: wanted.appId,
        appName: apps.nameOf(wanted.appId),
        endpoint: wanted.apiKey?.endpoint ?? wanted.endpoint,
        ...(wanted.query && !wanted.apiKey ? { query: wanted.query } : {}),
        ...(wanted.apiKey === undefined
          ? {}
          : { apiKey: { ...shownApiKey(wanted.apiKey), subject: wanted.endpoint } }),
        ...(offer.scope.length > 0 ? { scope: offer.scope } : {}),
        signIn: offer.namedSignIn,
        appProcess,
        ...(apps.isProxied(wanted.appId) ? { proxied: true } : {}),
        ...(wanted.isDetached ? { isDetached: true } : {}),
        ...forwardOf(apps.originOf(wanted.appId)),
        hasEarlierPermission: () => this.changes.permissionToKeep(wanted) !== undefined,
      },
      signal,
    ).catch((error: unknown) => {
      if (signal.aborted) this.#waits.lengthen(wanted.appId, wanted.endpoint);
      throw error;
    });
    if (decision.verdict === 'approve' && this.#isOutdated(wanted, offer)) {
      await this.changes.noteInAuditLog(wanted, 'void', offer.scope);
      return this.#ask(wanted, signal);
    }
    await this.#settle(wanted, { ...offer, appProcess }, decision);
  }

  #offer(wanted: WantedAccess): Offer {
    if (wanted.apiKey) return apiKeyOffer;
    return offerFor(this.#parts.signIns, wanted, this.current.all(wanted));
  }

  /** Somebody signed in since: an approval would give scopes that the card couldn't list. The next card lists them. */
  #isOutdated(wanted: WantedAccess, shown: Offer): boolean {
    return shown.scope.length === 0 && !this.current.covering(wanted) && this.#offer(wanted).scope.length > 0;
  }

  async #settle(wanted: WantedAccess, shown: ShownOffer, decision: Decision): Promise<void> {
    switch (decision.verdict) {
      case 'void':
        await this.changes.noteInAuditLog(wanted, 'void', shown.scope);
        return this.#refuseUnapproved(wanted);
      case 'dismiss':
        return this.#refuseUnapproved(wanted);
      case 'deny':
        await this.changes.deny(wanted);
        throw this.current.consentDenied(wanted);
      case 'approve':
        this.#waits.end(wanted.appId);
        await this.changes.allow(wanted, shown, decision);
        // Race: the user may have revoked it while it was written.
        this.current.coveringOrThrow(wanted);
    }
  }

  /** Refuses the request, unless the user allowed it by a command, which closed the card. */
  #refuseUnapproved(wanted: WantedAccess): void {
    if (this.current.covering(wanted)) return;
    this.#waits.lengthen(wanted.appId, wanted.endpoint);
    throw this.current.consentRequired(wanted);
  }

  #refuseTooSoon({ appId }: WantedAccess): void {
    const retryAfter = this.#waits.left(appId);
    if (retryAfter > 0) throw askedTooSoon(this.#parts.apps.nameOf(appId), retryAfter);
  }
}

function forwardOf(forward: ForwardOrigin | undefined): { readonly forward?: ForwardOrigin } {
  return forward === undefined ? {} : { forward };
}
