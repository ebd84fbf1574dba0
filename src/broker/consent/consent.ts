/**
 * Consent: may this local client have a token for this endpoint, with these scopes?
 *
 * Invariants (DESIGN 6): silence authorizes nothing. Without a permission there is a question, or a
 * refusal; a denial is remembered, of a program as of single scopes; `later` isn't, and leaves no
 * trace. A card that the user's own command decides is closed by it, and never widens what stands. A
 * lease stands beside what is on disk: when it ends, a permission or denial there is as it was. A program whose
 * card came to nothing waits a growing while before its next one. A yes allows the scopes and the grant
 * that the card showed, and no more.
 */
import { reasonOf } from '../../base/errors.ts';
import type { KeyturnError } from '../../base/errors.ts';
import { union } from '../../oauth/base/scope.ts';
import type { Decision } from '../questions/answer.ts';
import type { ClientProcess, ClientProcessView } from '../questions/client-process.ts';
import type { Audit } from '../../audit/audit.ts';
import { CardPauses } from './card-pauses.ts';
import type { Clock } from '../../base/clock.ts';
import { offerFor } from './consent-offer.ts';
import type { GrantRequest } from './grant-choice.ts';
import type { Grant, Grants } from '../records/grant.ts';
import { questionTimeout } from '../questions/interaction.ts';
import type { Interactions } from '../questions/interaction.ts';
import type { Leases } from './lease.ts';
import { cliClientId } from '../records/local-client.ts';
import type { LocalClients } from '../records/local-client.ts';
import type { RequestDeadline } from '../../base/request-deadline.ts';
import { carriedOver, covers, isRefused, namesGrant } from '../records/permission.ts';
import type { AsRead, Need, Permission, Permissions } from '../records/permission.ts';
import type { Refresher } from '../tokens/refresher.ts';
import * as refusals from '../refusals/refusals.ts';
import { SharedWork } from '../../base/shared-work.ts';

export interface ConsentParts {
  readonly grants: Grants;
  readonly refresher: Pick<Refresher, 'isHeld' | 'isVouched' | 'vouch'>;
  readonly permissions: Permissions;
  readonly leases: Leases;
  readonly clients: LocalClients;
  readonly interactions: Interactions;
  readonly audit: Audit;
  readonly clock: Clock;
}

/** `scope` is empty where the local client named none. */
export interface AccessRequest extends GrantRequest, Need {
  readonly asker?: ClientProcess;
  readonly interaction: 'never' | 'allow';
}

/** What the person was shown. */
interface Card {
  readonly scope: readonly string[];
  /** Ids of the grants that a yes names. */
  readonly grants: readonly string[];
  readonly asker: ClientProcessView | undefined;
}

type Allowed = Pick<Card, 'scope' | 'grants'>;

/** DESIGN, Authority: any program of the user's can ask as the command line, so a card allows it for one hour (milliseconds). */
const cliLease = 3_600_000;

export class Consent {
  readonly #parts: ConsentParts;
  readonly #questions = new SharedWork<Permission>();
  /** By local client. */
  readonly #pauses: CardPauses;

  constructor(parts: ConsentParts) {
    this.#parts = parts;
    this.#pauses = new CardPauses(() => parts.clock.now());
  }

  /** The person signs in there by themselves: a program that was put off about that server alone waits no longer. */
  signingIn(endpoint: string): void {
    this.#pauses.actedAt(endpoint);
  }

  /** The permission that covers what is wanted. Throws `consent_denied`, `consent_required`, `rate_limited` or the caller's reason. */
  async requirePermission(
    wanted: AccessRequest,
    waiting: Pick<RequestDeadline, 'signal'>,
  ): Promise<Permission> {
    const permission = this.#covering(wanted);
    if (permission) return permission;
    if (wanted.interaction === 'never') throw this.#required(wanted);
    // A card is about one process, so that it can be allowed alone. Commands come and go: they share one.
    const run = wanted.clientId === cliClientId ? '' : (wanted.asker?.run ?? '');
    const { clientId, endpoint, scope, account = '', grantId = '' } = wanted;
    const key = JSON.stringify([clientId, endpoint, scope.toSorted(), run, account, grantId]);
    return this.#questions.join(key, (signal) => this.#ask(wanted, signal), waiting.signal);
  }

  /** As it stands at this moment, without a question: what was allowed a moment ago may be over. Throws as `requirePermission`. */
  currentPermission(wanted: AccessRequest): Permission {
    const permission = this.#covering(wanted);
    if (permission) return permission;
    throw this.#required(wanted);
  }

  /** Every permission and lease that covers it at this moment, what lasts longest first. Throws `consent_denied`. */
  currentPermissions(wanted: AccessRequest): Permission[] {
    return this.#permissionsFor(wanted).filter((permission) => covers(permission, wanted));
  }

  /**
   * Sets what the user decided, durably, before anybody learns of it; open cards that it decides are closed, leases
   * end. Throws `conflict` where `from` stands there no more.
   */
  async decide(permission: Permission, from?: AsRead): Promise<void> {
    this.#parts.leases.end(permission.clientId, permission.endpoint);
    await this.#keepDecision({ ...permission, ...carriedOver(this.#find(permission), permission) }, from);
    if (permission.decision === 'allow') this.#pauses.end(permission.clientId);
  }

  /** A run of a program is over, and what was allowed for it. */
  endRun(run: string): void {
    for (const { clientId, endpoint } of this.#parts.leases.endRun(run)) {
      const client = this.#parts.clients.nameOf(clientId);
      this.#parts.audit.note({ event: 'permission', outcome: 'run over', client, endpoint });
    }
  }

  /** Withdraws the questions and refuses new ones with `reason`. Resolves when what was answered is on disk. */
  async end(reason: KeyturnError): Promise<void> {
    await this.#questions.end(reason);
  }

  /**
   * Fixes a permission to the grant of its first token, with the resource that discovery verified, and, where
   * the card named none, to the first scopes. Throws `conflict` where the user decided otherwise meanwhile.
   */
  async bind(permission: Permission, grant: Grant, scope: readonly string[]): Promise<Permission> {
    const open = permission.fixAtFirstToken === true;
    const { resource = grant.resource, grants = [] } = permission;
    if (namesGrant(permission, grant.id) && permission.resource !== undefined && !open) return permission;
    const { fixAtFirstToken: _, ...rest } = permission;
    const named = { resource, grants: union(grants, [grant.id]) };
    const bound = { ...rest, ...named, ...(open ? { scope: [...scope] } : {}) };
    await this.#replace(permission, bound);
    return bound;
  }

  /** In the lease it stands in, or on disk. */
  async #replace(before: Permission, after: Permission): Promise<void> {
    const lease = this.#parts.leases.holding(before);
    if (lease) this.#parts.leases.set({ ...lease, permission: after });
    else await this.#parts.permissions.replace(before, after);
  }

  async #keepDecision(permission: Permission, from?: AsRead): Promise<void> {
    await this.#parts.permissions.set(permission, from);
    await this.#record(permission, permission.decision, permission.scope);
    this.#closeDecided(permission);
  }

  async #record(
    { clientId, endpoint }: Pick<Permission, 'clientId' | 'endpoint'>,
    outcome: 'allow' | 'deny' | 'allow once' | 'allow for a run' | 'allow for a time' | 'void',
    scope: readonly string[] | undefined,
  ): Promise<void> {
    const client = this.#parts.clients.nameOf(clientId);
    await this.#parts.audit.record({
      event: 'permission',
      outcome,
      client,
      endpoint,
      ...(scope === undefined ? {} : { scope }),
    });
  }

  /** `later` decides nothing by itself: whoever waits then finds the permission as it is now. */
  #closeDecided(permission: Permission): void {
    for (const { id, question } of this.#parts.interactions.list()) {
      if (question.kind !== 'allow') continue;
      if (question.clientId !== permission.clientId || question.endpoint !== permission.endpoint) continue;
      const { scope = [], grant } = question;
      const need = { scope, grantId: grant?.isAnother ? grant.id : undefined };
      if (isRefused(permission, need) || covers(permission, need)) {
        this.#parts.interactions.answer(id, 'later');
      }
    }
  }

  #find({ clientId, endpoint }: Pick<AccessRequest, 'clientId' | 'endpoint'>): Permission | undefined {
    return this.#parts.permissions.find(clientId, endpoint, this.#parts.clock.wall());
  }

  /** What was allowed: on disk first, then what is leased. Throws `consent_denied` where any of it refuses what is wanted. */
  #permissionsFor(wanted: AccessRequest): Permission[] {
    const { clientId, endpoint, asker } = wanted;
    const leased = this.#parts.leases.find(clientId, endpoint, asker, this.#parts.clock.wall());
    const kept = this.#find(wanted);
    const currentPermissions = kept ? [kept, ...leased] : leased;
    if (currentPermissions.some((permission) => isRefused(permission, wanted))) throw this.#denied(wanted);
    return currentPermissions;
  }

  #covering(wanted: AccessRequest): Permission | undefined {
    return this.#permissionsFor(wanted).find((permission) => covers(permission, wanted));
  }

  async #ask(wanted: AccessRequest, signal: AbortSignal): Promise<Permission> {
    this.#refuseTooSoon(wanted);
    if (!this.#isVouched(wanted)) {
      const { grants, refresher } = this.#parts;
      await refresher.vouch(grants.forEndpoint(wanted.endpoint));
      signal.throwIfAborted();
    }
    const over = new AbortController();
    const either = AbortSignal.any([signal, over.signal]);
    const { scope, grants, offered } = offerFor(this.#parts, wanted, this.#permissionsFor(wanted));
    const asker = wanted.asker?.look();
    const asked = this.#parts.interactions.askWithTerms(
      {
        kind: 'allow',
        clientId: wanted.clientId,
        clientName: this.#parts.clients.nameOf(wanted.clientId),
        endpoint: wanted.endpoint,
        ...(scope.length > 0 ? { scope } : {}),
        ...(offered === undefined ? {} : { grant: offered }),
        ...(asker === undefined ? {} : { asker }),
        isAllowed: () => this.#extendable(wanted) !== undefined,
      },
      either,
    );
    const unanswered = this.#parts.clock
      .sleep(questionTimeout, either)
      .then(() => ({ verdict: 'later' as const }));
    for (const pending of [asked, unanswered]) pending.catch(() => undefined);
    try {
      const decision = await Promise.race([asked, unanswered]).catch((error: unknown) => {
        if (signal.aborted) this.#pauses.cameToNothing(wanted.clientId, wanted.endpoint);
        throw error;
      });
      return await this.#settle(wanted, { scope, grants, asker }, decision);
    } finally {
      over.abort();
    }
  }

  /** A card shows accounts and scopes: as the vault has them, not as a line of the index says. */
  #isVouched({ endpoint }: AccessRequest): boolean {
    const { grants, refresher } = this.#parts;
    return grants.forEndpoint(endpoint).every(({ id }) => refresher.isVouched(id));
  }

  async #settle(wanted: AccessRequest, card: Card, decision: Decision): Promise<Permission> {
    if (decision.verdict === 'void') await this.#record(wanted, 'void', card.scope);
    if (decision.verdict === 'later' || decision.verdict === 'void') return this.#putOff(wanted);
    if (decision.verdict === 'no') {
      await this.#refuse(wanted);
      throw this.#denied(wanted);
    }
    this.#pauses.end(wanted.clientId);
    const given = { scope: decision.scope ?? card.scope, grants: card.grants };
    if (decision.asBefore) return this.#extend(wanted, given);
    const found = this.#find(wanted);
    const before = found?.decision === 'allow' ? found : undefined;
    // Decided meanwhile by a command of the owner's.
    if (before && covers(before, { ...wanted, scope: given.scope })) return this.currentPermission(wanted);
    const permission = this.#widened(wanted, before, given, decision.time);
    // A time, a run or a single token must not put an end to what stands without one.
    if (decision.run || decision.once || (before && decision.time !== undefined))
      await this.#lease(permission, card, decision);
    else await this.#keepDecision(permission);
    return this.currentPermission(wanted);
  }

  /** What is allowed there beyond a run: on disk, else for a time. A denial on disk leaves nothing to go by. */
  #extendable(wanted: AccessRequest): Permission | undefined {
    const { clientId, endpoint } = wanted;
    const kept = this.#find(wanted);
    if (kept) return kept.decision === 'allow' ? kept : undefined;
    const leases = this.#parts.leases.of(clientId, this.#parts.clock.wall());
    return leases.find(({ permission, run }) => permission.endpoint === endpoint && !run)?.permission;
  }

  /**
   * Adds to what stands at this very moment, which keeps its end. The write itself compares: where it
   * was ended or changed since it was read, the yes is void, and the program has to ask again.
   */
  async #extend(wanted: AccessRequest, given: Allowed): Promise<Permission> {
    const before = this.#extendable(wanted);
    if (before && covers(before, { ...wanted, scope: given.scope })) return this.currentPermission(wanted);
    const after = before && this.#widened(wanted, before, given, undefined);
    if (!before || !after || !(await this.#isReplaced(before, after))) {
      await this.#record(wanted, 'void', given.scope);
      throw this.#required(wanted);
    }
    await this.#record(after, this.#parts.leases.holding(after) ? 'allow for a time' : 'allow', after.scope);
    this.#closeDecided(after);
    return this.currentPermission(wanted);
  }

  /** False where it isn't there any more as it was read. */
  async #isReplaced(before: Permission, after: Permission): Promise<boolean> {
    try {
      await this.#replace(before, after);
      return true;
    } catch (error) {
      if (reasonOf(error) === 'conflict') return false;
      throw error;
    }
  }

  /** Nobody said yes, unless the owner's own command closed the card. */
  #putOff(wanted: AccessRequest): Permission {
    const decided = this.#covering(wanted);
    if (decided) return decided;
    this.#pauses.cameToNothing(wanted.clientId, wanted.endpoint);
    throw this.#required(wanted);
  }

  #refuseTooSoon({ clientId }: AccessRequest): void {
    const retryAfter = this.#pauses.left(clientId);
    if (retryAfter > 0) throw refusals.askedTooSoon(this.#parts.clients.nameOf(clientId), retryAfter);
  }

  async #lease(permission: Permission, { asker }: Card, { run, once }: Decision): Promise<void> {
    const { leases } = this.#parts;
    const span = once ? 'once' : run ? 'for a run' : 'for a time';
    await this.#record(permission, `allow ${span}`, permission.scope);
    if (span === 'for a time') return leases.set({ permission });
    // The row took time, in which the run may have ended.
    if (asker?.standing() !== 'same') return;
    leases.set({ permission, run: asker, ...(once ? { once: true } : {}) });
  }

  /** Refusing more scopes, or another account, takes nothing away that was allowed before. */
  async #refuse(wanted: AccessRequest): Promise<void> {
    const { clientId, endpoint, grantId } = wanted;
    const createdAt = this.#parts.clock.wall();
    const [before] = this.#permissionsFor(wanted);
    if (!before) return this.#keepDecision({ clientId, endpoint, decision: 'deny', createdAt });
    const more = wanted.scope.filter((name) => !before.scope?.includes(name));
    await this.#replace(before, {
      ...before,
      ...(grantId === undefined
        ? { refused: union(before.refused ?? [], more) }
        : { refusedGrants: union(before.refusedGrants ?? [], [grantId]) }),
    });
    await this.#record(before, 'deny', more);
  }

  /**
   * What stood before keeps its end and its resource, unless the answer names a `time` (milliseconds):
   * the card asked for scopes or an account, not for more time.
   */
  #widened(
    wanted: AccessRequest,
    before: Permission | undefined,
    given: Allowed,
    time: number | undefined,
  ): Permission {
    const { clientId, endpoint } = wanted;
    const createdAt = this.#parts.clock.wall();
    const scope = union(before?.scope ?? [], given.scope);
    const grants = union(before?.grants ?? [], given.grants);
    // The newer answer counts.
    const refused = before?.refused?.filter((name) => !scope.includes(name)) ?? [];
    const refusedGrants = before?.refusedGrants?.filter((id) => !grants.includes(id)) ?? [];
    const { fixAtFirstToken: _, ...stays } = before ?? {};
    return {
      ...(clientId === cliClientId ? { until: createdAt + cliLease } : {}),
      ...stays,
      ...(time === undefined ? {} : { until: createdAt + time }),
      refused,
      ...(refusedGrants.length > 0 ? { refusedGrants } : {}),
      clientId,
      endpoint,
      decision: 'allow',
      createdAt,
      ...(scope.length > 0 ? { scope } : { fixAtFirstToken: true }),
      ...(grants.length > 0 ? { grants } : {}),
    };
  }

  #denied({ clientId, endpoint, grantId }: AccessRequest): KeyturnError {
    const grant = grantId === undefined ? undefined : this.#parts.grants.byId(grantId);
    return refusals.consentDenied(this.#parts.clients.nameOf(clientId), endpoint, grant);
  }

  #required(wanted: AccessRequest): KeyturnError {
    const { clientId, endpoint, scope, grantId } = wanted;
    return refusals.consentRequired({
      name: this.#parts.clients.nameOf(clientId),
      endpoint,
      scope,
      isMore: this.#permissionsFor(wanted).length > 0,
      grant: grantId === undefined ? undefined : this.#parts.grants.byId(grantId),
    });
  }
}
