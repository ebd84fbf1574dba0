/**
 * Consent: may this app have a token for this endpoint, with these scopes?
 *
 * An approval request is what waits for the user's answer, and its card shows it in a window. A run is one process of
 * an app, or one connection where the system doesn't tell the process, until its last connection closes.
 *
 * Invariants (6, dev/internals.md): silence authorizes nothing. Without a permission there is an approval request, or a
 * refusal. A denial is stored only if the user wants it remembered. If a command of the user answers an open card, the
 * card closes, and the command alone decides. After a request that ends without an approval or a stored
 * denial, the app must wait before its next one, each time longer.
 */
import type { BrokerParts } from '../parts.ts';
import { union } from '../../oauth/base/scope.ts';
import type { KeyturnError } from '../../base/errors.ts';
import type { RequestDeadline } from '../../base/request-deadline.ts';
import { SharedWork } from '../../base/shared-work.ts';
import type { Decision } from '../approval-requests/answer.ts';
import type { OfferedSignIn } from '../approval-requests/question.ts';
import { askUser } from '../approval-requests/approval-requests.ts';
import { shownApiKey } from '../records/api-key.ts';
import { carriedOver, type AsRead, type WantedPermission, type Permission } from '../records/permission.ts';
import type { SignIn } from '../records/sign-in.ts';
import type { SignIns } from '../records/sign-ins.ts';
import { askedTooSoon, apiKeyInstead } from '../refusals/permission-refusals.ts';
import { RequestWaits } from './request-waits.ts';
import { chooseSignIn, type WantedSignIn } from './sign-in-choice.ts';
import {
  allPermissions,
  consentDenied,
  consentRequired,
  coveringPermissions,
  coveringPermissionsOrThrow,
  permissionOnDisk,
  runOf,
  type WantedAccess,
} from './current-permissions.ts';
import { permissionRow, PermissionChanges, type ShownOffer } from './permission-changes.ts';

/** An API key has no scopes and no sign-in. */
const apiKeyOffer: Offer = { scope: [], signInIds: [], shownSignIn: undefined };

export class Consent {
  readonly changes: PermissionChanges;
  readonly #parts: BrokerParts;
  readonly #openApprovalRequests = new SharedWork<void>();
  /** How long an app waits before its next approval request; by app, with the endpoints that it asked about. */
  readonly #waits: RequestWaits;

  constructor(parts: BrokerParts) {
    this.#parts = parts;
    this.changes = new PermissionChanges(parts);
    this.#waits = new RequestWaits(() => parts.clock.now());
  }

  /** If an app's requests were only about that server, its wait ends. */
  userActed(endpoint: string): void {
    this.#waits.userActed(endpoint);
  }

  /**
   * Asks the user, unless a permission covers what is wanted. Throws `consent_denied`, `consent_required`,
   * `login_required` where there is only an API key, `rate_limited`, or the reason of the deadline's signal.
   */
  async askUnlessAllowed(wanted: WantedAccess, deadline: Pick<RequestDeadline, 'signal'>): Promise<void> {
    if (coveringPermissions(this.#parts, wanted)) return;
    if (!wanted.apiKey) this.refuseWhereApiKeyOnly(wanted);
    if (wanted.interaction === 'never') throw consentRequired(this.#parts, wanted);
    const { appId, endpoint, scope, account = '', signInId = '', isDetached = false } = wanted;
    const about = [appId, endpoint, scope.toSorted(), runOf(wanted), account, signInId, isDetached];
    const requestKey = JSON.stringify(about);
    await this.#openApprovalRequests.join(requestKey, (signal) => this.#ask(wanted, signal), deadline.signal);
  }

  /** If the user set an API key there instead of signing in, a request for tokens, or a sign-in, would only mislead. */
  refuseWhereApiKeyOnly({ endpoint, query = '' }: Pick<WantedAccess, 'endpoint' | 'query'>): void {
    const { signIns, apiKeys } = this.#parts;
    if (apiKeys.forUrl(`${endpoint}${query}`) && signIns.forEndpoint(endpoint).length === 0)
      throw apiKeyInstead(endpoint);
  }

  /**
   * Stores what the user decided without a card, which closes the cards that this answers (`changes`). Ends the app's
   * temporary permissions there. Throws `conflict` if the stored permission isn't `expected`.
   */
  async decide(permission: Permission, expected?: AsRead): Promise<void> {
    this.#parts.temporaryPermissions.end(permission.appId, permission.endpoint);
    const before = permissionOnDisk(this.#parts, permission);
    await this.changes.set({ ...permission, ...carriedOver(before, permission) }, expected);
    if (permission.decision === 'allow') this.#waits.end(permission.appId);
  }

  /** A run of an app is over: ends its temporary permissions. */
  endRun(run: string): void {
    for (const { appId, endpoint } of this.#parts.temporaryPermissions.endRun(run)) {
      const app = this.#parts.apps.nameOf(appId);
      this.#parts.audit.note({ ...permissionRow(this.#parts.apiKeys, endpoint, 'run over'), app });
    }
  }

  /** Withdraws the approval requests; refuses new ones with `error`. Resolves when the answers are on disk. */
  async end(error: KeyturnError): Promise<void> {
    await this.#openApprovalRequests.end(error);
  }

  async #ask(wanted: WantedAccess, signal: AbortSignal): Promise<void> {
    const { apps } = this.#parts;
    const appName = apps.nameOf(wanted.appId);
    const retryAfter = this.#waits.left(wanted.appId);
    if (retryAfter > 0)
      throw askedTooSoon(appName, retryAfter, ' The pause also ends if you allow the app yourself.');
    const offer = this.#offer(wanted);
    const appProcess = wanted.appProcess?.currentFacts();
    const decision = await askUser(
      this.#parts,
      {
        kind: 'allow',
        appId: wanted.appId,
        appName,
        // For an API key, `wanted.endpoint` is its target: what the permission is stored under.
        endpoint: wanted.apiKey?.endpoint ?? wanted.endpoint,
        query: wanted.apiKey ? undefined : wanted.query || undefined,
        apiKey: wanted.apiKey && { ...shownApiKey(wanted.apiKey), target: wanted.endpoint },
        scope: offer.scope.length > 0 ? offer.scope : undefined,
        signIn: offer.shownSignIn,
        appProcess,
        proxied: apps.isProxied(wanted.appId) || undefined,
        isDetached: wanted.isDetached || undefined,
        forward: apps.forwardOf(wanted.appId),
        // "As before": added to the app's present permission, and ends with it.
        canAllowAsBefore: () => this.changes.permissionAsBefore(wanted) !== undefined,
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
    return offerFor(this.#parts.signIns, wanted, allPermissions(this.#parts, wanted));
  }

  /** Somebody signed in since: an approval would give scopes that the card couldn't list. The next card lists them. */
  #isOutdated(wanted: WantedAccess, shown: Offer): boolean {
    return (
      shown.scope.length === 0 &&
      !coveringPermissions(this.#parts, wanted) &&
      this.#offer(wanted).scope.length > 0
    );
  }

  /** Does what the user answered on the card. Then each request that waits tries again (token-requests.ts). */
  async #settle(wanted: WantedAccess, shown: ShownOffer, decision: Decision): Promise<void> {
    switch (decision.verdict) {
      case 'void':
        await this.changes.noteInAuditLog(wanted, 'void', shown.scope);
        return this.#refuseUnapproved(wanted);
      case 'dismiss':
        return this.#refuseUnapproved(wanted, { wasDismissed: true });
      case 'deny':
        await this.changes.deny(wanted);
        throw consentDenied(this.#parts, wanted);
      case 'approve':
        this.#waits.end(wanted.appId);
        await this.changes.allow(wanted, shown, decision);
        // Race: the user may have revoked it while it was written.
        coveringPermissionsOrThrow(this.#parts, wanted);
    }
  }

  /** Refuses the request, unless the user allowed it by a command, which closed the card. */
  #refuseUnapproved(wanted: WantedAccess, { wasDismissed = false } = {}): void {
    if (coveringPermissions(this.#parts, wanted)) return;
    this.#waits.lengthen(wanted.appId, wanted.endpoint);
    throw consentRequired(this.#parts, wanted, wasDismissed);
  }
}

/** What the card for an app shows and an approval gives. */
interface Offer {
  readonly scope: readonly string[];
  /** Ids of the sign-ins that the app may use after an approval. */
  readonly signInIds: readonly string[];
  readonly shownSignIn: OfferedSignIn | undefined;
}

/**
 * What an approval would give now. If nothing names scopes, or a permission is for all, that is all scopes of the
 * sign-ins, and the card lists them. `allowed`: the app's permissions there now.
 */
function offerFor(
  signIns: SignIns,
  wanted: WantedSignIn & WantedPermission,
  allowed: readonly Permission[],
): Offer {
  const named = union(...allowed.map((had) => had.signInIds ?? []));
  const signIn = serving(signIns, wanted, allowed);
  const others = signIns.all().filter(({ id }) => named.includes(id) && id !== signIn?.id);
  const asked = union(...allowed.map((had) => had.scope ?? []), wanted.scope);
  const isAnyScope = asked.length === 0 || allowed.some((had) => had.scope === undefined);
  const granted = [...others, ...(signIn ? [signIn] : [])].map(({ scope }) => scope);
  return {
    scope: isAnyScope ? union(...granted, asked) : asked,
    signInIds: union(named, signIn ? [signIn.id] : []),
    shownSignIn: signIn && {
      id: signIn.id,
      issuer: signIn.issuer,
      account: signIn.account,
      isKeyBound: signIn.isKeyBound ?? false,
      otherAccounts: others.map(({ account }) => account),
      // A request names a sign-in once the app is allowed there, but not with this account.
      isAboutAccountOnly: wanted.signInId !== undefined,
    },
  };
}

function serving(
  signIns: SignIns,
  wanted: WantedSignIn & WantedPermission,
  allowed: readonly Permission[],
): SignIn | undefined {
  if (wanted.signInId !== undefined) return signIns.byId(wanted.signInId);
  const choice = chooseSignIn(signIns.forEndpoint(wanted.endpoint), wanted, allowed);
  return choice.kind === 'use' || choice.kind === 'ask' ? choice.signIn : undefined;
}
