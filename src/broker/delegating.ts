/**
 * `lease.delegate`: a program lets a child run reach one resource, with at most the scopes and the time that it has.
 *
 * Invariant: nothing is given that the program could not have at this moment. A program needs the grant of a token
 * already: no sign-in, no card and no request to a server comes from here.
 */
import { KeyturnError } from '../base/errors.ts';
import { isWithin, withoutOfflineAccess } from '../oauth/base/scope.ts';
import type { CurrentPermissions } from './consent/current-permissions.ts';
import { maxChildren, maxDepth } from './consent/delegations.ts';
import type { DelegatedPermission } from './consent/delegations.ts';
import { chooseGrant, requireSameResource, scopesToNarrowTo } from './consent/grant-choice.ts';
import type { BrokerParts } from './parts.ts';
import type { ClientProcess } from './questions/client-process.ts';
import type { Grant } from './records/grant.ts';
import { isChild } from './records/local-client.ts';
import type { ChildClient } from './records/local-client.ts';
import { isBound, namesGrant } from './records/permission.ts';
import type { Permission } from './records/permission.ts';
import { accountRequired } from './refusals/account-refusals.ts';
import * as refusals from './refusals/refusals.ts';

export interface DelegationRequest {
  /** The local client that delegates. */
  readonly clientId: string;
  readonly asker: ClientProcess;
  /** Canonical. */
  readonly endpoint: string;
  /** Absent: all that the program has there. */
  readonly scope?: readonly string[];
  readonly account?: string;
  /** Milliseconds. */
  readonly lifetime: number;
  /** What the program calls the child. Proves nothing. */
  readonly name: string;
}

export interface Delegated {
  readonly child: ChildClient;
  readonly permission: DelegatedPermission;
  readonly account: string;
}

/** What a child gets it from. */
interface Source {
  readonly permission: Permission;
  readonly grant: Grant;
}

export class Delegating {
  readonly #parts: BrokerParts;
  readonly #current: CurrentPermissions;

  constructor(parts: BrokerParts, current: CurrentPermissions) {
    this.#parts = parts;
    this.#current = current;
    const sweep = (): void => this.#sweep();
    parts.permissions.watch(sweep);
    parts.leases.watch(sweep);
  }

  /**
   * Throws `consent_required`, `consent_denied`, `account_required`, `login_required`, `scope_insufficient`, `resource_mismatch`,
   * `not_permitted` (too many, too deep), `invalid_request` (the name), `paused` and what the vault throws.
   */
  async begin(request: DelegationRequest): Promise<Delegated> {
    const { clients, clock, delegations, leases, pause } = this.#parts;
    const { clientId, name, lifetime } = request;
    pause.refuse();
    this.#sweep();
    this.#refuseTooMany(clientId);
    const { permission, grant } = await this.#source(request);
    const now = clock.wall();
    const child = clients.addChild(clientId, name, now);
    const until = Math.min(now + lifetime, permission.until ?? Infinity);
    const delegated = this.#delegated(child, { request, permission, grant, until });
    const run = leases.holding(permission)?.run ?? delegations.find(clientId, now)?.run;
    delegations.add({ parentId: clientId, permission: delegated, ...(run === undefined ? {} : { run }) });
    await this.#record(child.id, delegated, 'delegated');
    // Race: the owner may have ended what stands behind it while that was written.
    if (!this.#current.delegated(child.id))
      throw refusals.notDelegated(clients.nameOf(clientId), request.endpoint);
    return { child, permission: delegated, account: grant.account };
  }

  /** Ends a delegation and those below it: returns all their ids. Throws `not_found` where the program has no such child. */
  end(parentId: string, childId: string): readonly string[] {
    const child = this.#parts.delegations
      .childrenOf(parentId)
      .find((one) => one.permission.clientId === childId);
    if (child) return this.#end(childId);
    throw new KeyturnError('not_found', 'No delegation of this program has that id.', {
      hint: 'It may be over already. lease.delegate answers with the id, as `clientId`.',
    });
  }

  /** The owner unpairs a child, or it gives its access up. */
  endChild(childId: string): readonly string[] {
    return this.#end(childId);
  }

  /** The permission and the grant that the child's own come from. */
  async #source({ clientId, asker, endpoint, scope = [], account }: DelegationRequest): Promise<Source> {
    const { delegations, grants, leases, refresher } = this.#parts;
    const access = {
      clientId,
      asker,
      endpoint,
      scope: withoutOfflineAccess(scope),
      ...(account === undefined ? {} : { account }),
      interaction: 'never' as const,
    };
    this.#current.requireCovering(access);
    const there = grants.forEndpoint(endpoint);
    await refresher.compareWithVault(there);
    // Race: the user may have ended it meanwhile. What is for one token is not for others.
    const covering = this.#current
      .requireCovering(access)
      .filter((permission) => leases.holding(permission)?.once !== true);
    const { comparison } = refresher.secrets;
    const asked = { ...access, clientId: delegations.rootOf(clientId) };
    const choice = chooseGrant({ there: grants.forEndpoint(endpoint), comparison }, asked, covering);
    if (covering.length === 0 || choice.kind === 'ask') throw this.#current.required(access);
    if (choice.kind === 'choose') {
      const name = this.#parts.clients.nameOf(clientId);
      throw accountRequired({ name, endpoint, isNamed: isBound(choice.permission) }, choice.accounts);
    }
    if (choice.kind !== 'use' || choice.grant.state.kind !== 'active') throw noToken(endpoint);
    // A permission names its grant once the program got a token.
    if (!namesGrant(choice.permission, choice.grant.id)) throw noToken(endpoint);
    requireSameResource(choice.permission, choice.grant);
    if (!isWithin(access.scope, choice.grant.scope))
      throw refusals.notGranted(endpoint, access.scope, choice.grant);
    return choice;
  }

  #delegated(
    child: ChildClient,
    {
      request,
      permission,
      grant,
      until,
    }: Source & { readonly request: DelegationRequest; readonly until: number },
  ): DelegatedPermission {
    const { endpoint, scope } = request;
    const had = withoutOfflineAccess(grant.scope).filter((name) => permission.scope?.includes(name) ?? true);
    const delegated: DelegatedPermission = {
      clientId: child.id,
      endpoint,
      resource: grant.resource,
      grants: [grant.id],
      decision: 'allow',
      scope: scope === undefined ? had : withoutOfflineAccess(scope),
      until,
      createdAt: child.pairedAt,
    };
    const narrow = scopesToNarrowTo(grant, delegated);
    if (!narrow || (narrow.length > 0 && grant.hasRefreshToken)) return delegated;
    this.#parts.clients.removeChild(child.id);
    throw notNarrower(endpoint, grant);
  }

  #refuseTooMany(clientId: string): void {
    const { delegations } = this.#parts;
    if (isChild(clientId) && delegations.depthOf(clientId) >= maxDepth)
      throw refused(
        'The chain of delegations is too long.',
        `A delegation is at most ${maxDepth} programs deep`,
      );
    if (delegations.childrenOf(clientId).length >= maxChildren)
      throw refused(
        'This program has too many delegations.',
        `A program has at most ${maxChildren} at a time`,
      );
  }

  /** Ends what nothing stands behind any more, for good: it doesn't come back with a later permission. */
  #sweep(): void {
    for (const { permission } of this.#parts.delegations.all()) {
      if (!this.#current.delegated(permission.clientId)) this.#end(permission.clientId);
    }
  }

  #end(childId: string): readonly string[] {
    const { audit, clients, delegations } = this.#parts;
    const names = new Map(clients.children().map(({ id }) => [id, clients.nameOf(id)]));
    const ended = delegations.end(childId);
    for (const id of ended) {
      clients.removeChild(id);
      audit.note({ event: 'permission', outcome: 'delegation over', client: names.get(id) ?? id });
    }
    return ended;
  }

  async #record(childId: string, { endpoint, scope }: DelegatedPermission, outcome: string): Promise<void> {
    const { audit, clients } = this.#parts;
    await audit.record({ event: 'permission', outcome, client: clients.nameOf(childId), endpoint, scope });
  }
}

function noToken(endpoint: string): KeyturnError {
  return new KeyturnError(
    'login_required',
    `There is no sign-in at ${endpoint} that this program could delegate.`,
    {
      hint: 'Ask for a token there first (token.get), then delegate.',
    },
  );
}

/** RFC 6749 §6: only a refresh token brings a token with less scope. */
function notNarrower(endpoint: string, { issuer }: Grant): KeyturnError {
  return new KeyturnError('scope_insufficient', `${issuer} gives no narrower tokens for ${endpoint}.`, {
    rule: 'A child run gets a token only within what was delegated to it',
    hint: 'Delegate all the scopes that the program has there, for a short time.',
  });
}

function refused(message: string, rule: string): KeyturnError {
  return new KeyturnError('not_permitted', message, {
    rule,
    hint: 'End those that are done (lease.end), or let the first program delegate.',
  });
}
