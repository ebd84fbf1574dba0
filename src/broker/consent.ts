/**
 * Consent: may this local client have a token for this endpoint, with these scopes?
 *
 * Invariants (DESIGN 6): silence authorizes nothing. Without a permission there is a question, or a
 * refusal; a denial is remembered, of a program as of single scopes; `later` isn't, and leaves no
 * trace. A card that the user's own command decides is closed by it, and never widens what stands. A
 * lease stands beside what is on disk: when it ends, a permission or denial there is as it was. A program whose
 * card came to nothing waits a growing while before its next one.
 */
import { KeyturnError, reasonOf } from '../errors.ts';
import { isWithin, union } from '../oauth/scope.ts';
import type { Reply } from './answer.ts';
import type { Asker, AskerView } from './asker.ts';
import type { Audit } from './audit.ts';
import { CardPauses } from './card-pauses.ts';
import type { Clock } from './clock.ts';
import { questionPatience } from './interaction.ts';
import type { Interactions } from './interaction.ts';
import type { Leases } from './lease.ts';
import { cliClientId } from './local-client.ts';
import type { LocalClients } from './local-client.ts';
import type { Patience } from './patience.ts';
import type { Permission, Permissions } from './permission.ts';
import { SharedWork } from './shared-work.ts';

export interface ConsentParts {
  readonly permissions: Permissions;
  readonly leases: Leases;
  readonly clients: LocalClients;
  readonly interactions: Interactions;
  readonly audit: Audit;
  readonly clock: Clock;
}

export interface Wanted {
  readonly clientId: string;
  readonly asker?: Asker;
  readonly endpoint: string;
  /** Scopes the local client needs; empty where it named none. */
  readonly scope: readonly string[];
  readonly interaction: 'never' | 'allow';
}

/** What the person was shown. */
interface Card {
  readonly scope: readonly string[];
  readonly asker: AskerView | undefined;
}

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
  async permitted(wanted: Wanted, waiting: Pick<Patience, 'signal'>): Promise<Permission> {
    const permission = this.#covering(wanted);
    if (permission) return permission;
    if (wanted.interaction === 'never') throw this.#required(wanted);
    // A card is about one process, so that it can be allowed alone. Commands come and go: they share one.
    const run = wanted.clientId === cliClientId ? '' : (wanted.asker?.run ?? '');
    const key = `${wanted.clientId} ${wanted.endpoint} ${wanted.scope.toSorted().join(' ')} ${run}`;
    return this.#questions.join(key, (signal) => this.#ask(wanted, signal), waiting.signal);
  }

  /** As it stands at this moment, without a question: what was allowed a moment ago may be over. Throws as `permitted`. */
  inForce(wanted: Wanted): Permission {
    const permission = this.#covering(wanted);
    if (permission) return permission;
    throw this.#required(wanted);
  }

  /** Sets what the user decided, durably, before anybody learns of it; open cards that it decides are closed, leases end. */
  async decide(permission: Permission): Promise<void> {
    this.#parts.leases.end(permission.clientId, permission.endpoint);
    await this.#keepDecision({ ...permission, ...this.#stillRefused(permission) });
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
   * Fixes a permission to the resource that discovery verified and, where the card named none, to the
   * first scopes. Throws `conflict` where the user decided otherwise meanwhile.
   */
  async bind(permission: Permission, resource: string, scope: readonly string[]): Promise<Permission> {
    const open = permission.fixAtFirstToken === true;
    if (permission.resource === resource && !open) return permission;
    const { fixAtFirstToken: _, ...rest } = permission;
    const bound = { ...rest, resource, ...(open ? { scope: [...scope] } : {}) };
    await this.#replace(permission, bound);
    return bound;
  }

  /** In the lease it stands in, or on disk. */
  async #replace(before: Permission, after: Permission): Promise<void> {
    const lease = this.#parts.leases.holding(before);
    if (lease) this.#parts.leases.set({ ...lease, permission: after });
    else await this.#parts.permissions.replace(before, after);
  }

  async #keepDecision(permission: Permission): Promise<void> {
    await this.#parts.permissions.set(permission);
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
      const scope = question.scope ?? [];
      if (isRefused(permission, scope) || covers(permission, scope)) {
        this.#parts.interactions.answer(id, 'later');
      }
    }
  }

  /** What was refused on a card stays so while a newer word, which names scopes, doesn't name it. */
  #stillRefused({ clientId, endpoint, decision, scope }: Permission): Pick<Permission, 'refused'> {
    const before = this.#find({ clientId, endpoint });
    if (decision === 'deny' || scope === undefined || !before?.refused) return {};
    return { refused: before.refused.filter((name) => !scope.includes(name)) };
  }

  #find({ clientId, endpoint }: Pick<Wanted, 'clientId' | 'endpoint'>): Permission | undefined {
    return this.#parts.permissions.find(clientId, endpoint, this.#parts.clock.wall());
  }

  /** What was allowed: on disk first, then what is leased. Throws `consent_denied` where any of it refuses what is wanted. */
  #standing(wanted: Wanted): Permission[] {
    const { clientId, endpoint, asker, scope } = wanted;
    const leased = this.#parts.leases.find(clientId, endpoint, asker, this.#parts.clock.wall());
    const kept = this.#find(wanted);
    const standing = kept ? [kept, ...leased] : leased;
    if (standing.some((permission) => isRefused(permission, scope))) throw this.#denied(wanted);
    return standing;
  }

  #covering(wanted: Wanted): Permission | undefined {
    return this.#standing(wanted).find((permission) => covers(permission, wanted.scope));
  }

  async #ask(wanted: Wanted, signal: AbortSignal): Promise<Permission> {
    this.#refuseTooSoon(wanted);
    const over = new AbortController();
    const either = AbortSignal.any([signal, over.signal]);
    const scope = union(...this.#standing(wanted).map((had) => had.scope ?? []), wanted.scope);
    const asker = wanted.asker?.look();
    const asked = this.#parts.interactions.reply(
      {
        kind: 'allow',
        clientId: wanted.clientId,
        clientName: this.#parts.clients.nameOf(wanted.clientId),
        endpoint: wanted.endpoint,
        ...(scope.length > 0 ? { scope } : {}),
        ...(asker === undefined ? {} : { asker }),
        isAllowed: () => this.#extendable(wanted) !== undefined,
      },
      either,
    );
    const unanswered = this.#parts.clock
      .sleep(questionPatience, either)
      .then(() => ({ verdict: 'later' as const }));
    for (const pending of [asked, unanswered]) pending.catch(() => undefined);
    try {
      const reply = await Promise.race([asked, unanswered]).catch((error: unknown) => {
        if (signal.aborted) this.#pauses.cameToNothing(wanted.clientId, wanted.endpoint);
        throw error;
      });
      return await this.#settle(wanted, { scope, asker }, reply);
    } finally {
      over.abort();
    }
  }

  async #settle(wanted: Wanted, card: Card, reply: Reply): Promise<Permission> {
    if (reply.verdict === 'void') await this.#record(wanted, 'void', card.scope);
    if (reply.verdict === 'later' || reply.verdict === 'void') return this.#putOff(wanted);
    if (reply.verdict === 'no') {
      await this.#refuse(wanted);
      throw this.#denied(wanted);
    }
    this.#pauses.end(wanted.clientId);
    if (reply.asBefore) return this.#extend(wanted, reply.scope ?? card.scope);
    const found = this.#find(wanted);
    const before = found?.decision === 'allow' ? found : undefined;
    const scope = reply.scope ?? card.scope;
    // Decided meanwhile by a command of the owner's.
    if (before && covers(before, scope)) return this.inForce(wanted);
    const permission = this.#widened(wanted, before, scope, reply.time);
    // A time, a run or a single token must not put an end to what stands without one.
    if (reply.run || reply.once || (before && reply.time !== undefined))
      await this.#lease(permission, card, reply);
    else await this.#keepDecision(permission);
    return this.inForce(wanted);
  }

  /** What is allowed there beyond a run: on disk, else for a time. A denial on disk leaves nothing to go by. */
  #extendable(wanted: Wanted): Permission | undefined {
    const { clientId, endpoint } = wanted;
    const kept = this.#find(wanted);
    if (kept) return kept.decision === 'allow' ? kept : undefined;
    const leases = this.#parts.leases.of(clientId, this.#parts.clock.wall());
    return leases.find(({ permission, run }) => permission.endpoint === endpoint && !run)?.permission;
  }

  /**
   * Adds scopes to what stands at this very moment, which keeps its end. The write itself compares: where it
   * was ended or changed since it was read, the yes is void, and the program has to ask again.
   */
  async #extend(wanted: Wanted, scope: readonly string[]): Promise<Permission> {
    const before = this.#extendable(wanted);
    if (before && covers(before, scope)) return this.inForce(wanted);
    const after = before && this.#widened(wanted, before, scope, undefined);
    if (!before || !after || !(await this.#isReplaced(before, after))) {
      await this.#record(wanted, 'void', scope);
      throw this.#required(wanted);
    }
    await this.#record(after, this.#parts.leases.holding(after) ? 'allow for a time' : 'allow', after.scope);
    this.#closeDecided(after);
    return this.inForce(wanted);
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
  #putOff(wanted: Wanted): Permission {
    const decided = this.#covering(wanted);
    if (decided) return decided;
    this.#pauses.cameToNothing(wanted.clientId, wanted.endpoint);
    throw this.#required(wanted);
  }

  #refuseTooSoon({ clientId }: Wanted): void {
    const retryAfter = this.#pauses.left(clientId);
    if (retryAfter === 0) return;
    const name = this.#parts.clients.nameOf(clientId);
    throw new KeyturnError('rate_limited', `A question of ${name} was put off or withdrawn a moment ago.`, {
      rule: 'Each question that is put off or withdrawn doubles the pause before the program’s next one, from 1 s to 5 min',
      hint: 'Wait, then ask again; a permission that you give the program yourself ends the pause.',
      retryAfter,
    });
  }

  async #lease(permission: Permission, { asker }: Card, { run, once }: Reply): Promise<void> {
    const { leases } = this.#parts;
    const span = once ? 'once' : run ? 'for a run' : 'for a time';
    await this.#record(permission, `allow ${span}`, permission.scope);
    if (span === 'for a time') return leases.set({ permission });
    // The row took time, in which the run may have ended.
    if (asker?.standing() !== 'same') return;
    leases.set({ permission, run: asker, ...(once ? { once: true } : {}) });
  }

  /** Refusing more scopes takes nothing away that was allowed before. */
  async #refuse(wanted: Wanted): Promise<void> {
    const { clientId, endpoint } = wanted;
    const createdAt = this.#parts.clock.wall();
    const [before] = this.#standing(wanted);
    if (!before) return this.#keepDecision({ clientId, endpoint, decision: 'deny', createdAt });
    const more = wanted.scope.filter((name) => !before.scope?.includes(name));
    await this.#replace(before, { ...before, refused: union(before.refused ?? [], more) });
    await this.#record(before, 'deny', more);
  }

  /**
   * What stood before keeps its end and its resource, unless the answer names a `time` (milliseconds):
   * the card asked for scopes, not for more time.
   */
  #widened(
    wanted: Wanted,
    before: Permission | undefined,
    scope: readonly string[],
    time: number | undefined,
  ): Permission {
    const { clientId, endpoint } = wanted;
    const createdAt = this.#parts.clock.wall();
    const granted = union(before?.scope ?? [], scope);
    // The newer answer counts.
    const refused = before?.refused?.filter((name) => !granted.includes(name)) ?? [];
    return {
      ...(clientId === cliClientId ? { until: createdAt + cliLease } : {}),
      ...before,
      ...(time === undefined ? {} : { until: createdAt + time }),
      refused,
      clientId,
      endpoint,
      decision: 'allow',
      createdAt,
      ...(granted.length > 0 ? { scope: granted } : { fixAtFirstToken: true }),
    };
  }

  #denied({ clientId, endpoint }: Wanted): KeyturnError {
    const name = this.#parts.clients.nameOf(clientId);
    return new KeyturnError('consent_denied', `The user refused ${name} access to ${endpoint}.`, {
      rule: 'A denial is remembered until the user changes it',
      hint: `To change it: keyturn allow ${name} ${endpoint}`,
    });
  }

  #required(wanted: Wanted): KeyturnError {
    const { clientId, endpoint, scope } = wanted;
    const name = this.#parts.clients.nameOf(clientId);
    const what =
      this.#standing(wanted).length > 0
        ? `more than its permission for ${endpoint} covers`
        : `a token for ${endpoint}`;
    const scopes = scope.length > 0 ? ` --scope "${scope.join(' ')}"` : '';
    return new KeyturnError('consent_required', `${name} asks for ${what}; nobody has allowed that.`, {
      rule: 'No permission, no token',
      hint: `Allow it with: keyturn allow ${name} ${endpoint}${scopes}`,
    });
  }
}

function covers(permission: Permission, scope: readonly string[]): boolean {
  if (permission.decision === 'deny') return false;
  return permission.scope === undefined || isWithin(scope, permission.scope);
}

function isRefused(permission: Permission, scope: readonly string[]): boolean {
  return permission.decision === 'deny' || scope.some((name) => permission.refused?.includes(name));
}
