/**
 * Consent: may this local client have a token for this endpoint, with these scopes?
 *
 * Invariants (DESIGN 6): silence authorizes nothing. Without a permission there is a question, or a
 * refusal; a denial is remembered, of a program as of single scopes; `later` isn't, and leaves no
 * trace. A card that the user's own command decides is closed by it, and never widens what stands.
 */
import { KeyturnError } from '../errors.ts';
import { isWithin, union } from '../oauth/scope.ts';
import type { Audit } from './audit.ts';
import type { Clock } from './clock.ts';
import type { Interactions } from './interaction.ts';
import { cliClientId } from './local-client.ts';
import type { LocalClients } from './local-client.ts';
import type { Patience } from './patience.ts';
import type { Permission, Permissions } from './permission.ts';
import { SharedWork } from './shared-work.ts';

export interface ConsentParts {
  readonly permissions: Permissions;
  readonly clients: LocalClients;
  readonly interactions: Interactions;
  readonly audit: Audit;
  readonly clock: Clock;
}

export interface Wanted {
  readonly clientId: string;
  readonly endpoint: string;
  /** Scopes the local client needs; empty where it named none. */
  readonly scope: readonly string[];
  readonly interaction: 'never' | 'allow';
}

/** A question stays open this long (milliseconds), so that an answer that comes late still counts. */
const questionPatience = 600_000;

/** DESIGN, Authority: any program of the user's can ask as the command line, so a card allows it for one hour (milliseconds). */
const cliLease = 3_600_000;

export class Consent {
  readonly #parts: ConsentParts;
  readonly #questions = new SharedWork<Permission>();

  constructor(parts: ConsentParts) {
    this.#parts = parts;
  }

  /** The permission that covers what is wanted. Throws `consent_denied`, `consent_required` or the caller's reason. */
  async permitted(wanted: Wanted, waiting: Pick<Patience, 'signal'>): Promise<Permission> {
    const permission = this.#find(wanted);
    if (permission && isRefused(permission, wanted.scope)) throw this.#denied(wanted);
    if (permission && covers(permission, wanted.scope)) return permission;
    if (wanted.interaction === 'never') throw this.#required(wanted, permission);
    const key = `${wanted.clientId} ${wanted.endpoint} ${wanted.scope.toSorted().join(' ')}`;
    return this.#questions.join(key, (signal) => this.#ask(wanted, permission, signal), waiting.signal);
  }

  /** As it stands at this moment, without a question: what was allowed a moment ago may be over. Throws as `permitted`. */
  inForce(wanted: Wanted): Permission {
    const permission = this.#find(wanted);
    if (permission && isRefused(permission, wanted.scope)) throw this.#denied(wanted);
    if (permission && covers(permission, wanted.scope)) return permission;
    throw this.#required(wanted, permission);
  }

  /** Sets what the user decided, durably, before anybody learns of it; open cards that it decides are closed. */
  async decide(permission: Permission): Promise<void> {
    const { scope } = permission;
    await this.#parts.permissions.set(permission);
    await this.#record(permission, permission.decision, scope);
    this.#closeDecided(permission);
  }

  /** Fixes a permission to the resource that discovery verified and, where the card named none, to the first scopes. */
  async bind(permission: Permission, resource: string, scope: readonly string[]): Promise<Permission> {
    const open = permission.fixAtFirstToken === true;
    if (permission.resource === resource && !open) return permission;
    const { fixAtFirstToken: _, ...rest } = permission;
    const bound = { ...rest, resource, ...(open ? { scope: [...scope] } : {}) };
    await this.#parts.permissions.set(bound);
    return bound;
  }

  async #record(
    { clientId, endpoint }: Pick<Permission, 'clientId' | 'endpoint'>,
    outcome: 'allow' | 'deny',
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

  #find({ clientId, endpoint }: Wanted): Permission | undefined {
    return this.#parts.permissions.find(clientId, endpoint, this.#parts.clock.wall());
  }

  async #ask(wanted: Wanted, had: Permission | undefined, signal: AbortSignal): Promise<Permission> {
    const over = new AbortController();
    const either = AbortSignal.any([signal, over.signal]);
    const scope = had?.scope ? union(had.scope, wanted.scope) : wanted.scope;
    const asked = this.#parts.interactions.ask(
      {
        kind: 'allow',
        clientId: wanted.clientId,
        clientName: this.#parts.clients.nameOf(wanted.clientId),
        endpoint: wanted.endpoint,
        ...(scope.length > 0 ? { scope } : {}),
      },
      either,
    );
    const unanswered = this.#parts.clock.sleep(questionPatience, either).then(() => 'later' as const);
    for (const pending of [asked, unanswered]) pending.catch(() => undefined);
    try {
      return await this.#settle(wanted, scope, await Promise.race([asked, unanswered]));
    } finally {
      over.abort();
    }
  }

  async #settle(
    wanted: Wanted,
    scope: readonly string[],
    answer: 'yes' | 'no' | 'later',
  ): Promise<Permission> {
    if (answer === 'later') return this.inForce(wanted);
    const found = this.#find(wanted);
    const before = found?.decision === 'allow' ? found : undefined;
    if (answer === 'no') {
      await this.#refuse(wanted, before);
      throw this.#denied(wanted);
    }
    if (before && covers(before, scope)) return before;
    const permission = this.#widened(wanted, before, scope);
    await this.decide(permission);
    return permission;
  }

  /** Refusing more scopes takes nothing away that was allowed before. */
  async #refuse(wanted: Wanted, before: Permission | undefined): Promise<void> {
    const { clientId, endpoint } = wanted;
    const createdAt = this.#parts.clock.wall();
    if (!before) return this.decide({ clientId, endpoint, decision: 'deny', createdAt });
    const more = wanted.scope.filter((name) => !before.scope?.includes(name));
    await this.#parts.permissions.set({ ...before, refused: union(before.refused ?? [], more) });
    await this.#record(before, 'deny', more);
  }

  /** What stood before keeps its lease and its resource: the card asked for scopes, not for more time. */
  #widened(wanted: Wanted, before: Permission | undefined, scope: readonly string[]): Permission {
    const { clientId, endpoint } = wanted;
    const createdAt = this.#parts.clock.wall();
    const granted = union(before?.scope ?? [], scope);
    // The newer answer counts.
    const refused = before?.refused?.filter((name) => !granted.includes(name)) ?? [];
    return {
      ...(clientId === cliClientId ? { until: createdAt + cliLease } : {}),
      ...before,
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

  #required({ clientId, endpoint, scope }: Wanted, had: Permission | undefined): KeyturnError {
    const name = this.#parts.clients.nameOf(clientId);
    const what = had ? `more than its permission for ${endpoint} covers` : `a token for ${endpoint}`;
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
