/**
 * A narrower token for a delegation, by token exchange (RFC 8693) where the authorization server offers it.
 *
 * Invariant: it is an attempt. The refresh token isn't touched, and whatever goes wrong leaves the usual way, a refresh
 * with fewer scopes. A server that failed isn't asked again for a while. An exchange takes its turn at the grant's
 * tokens, so that a revocation tells the server of the token that came last, too.
 */
import { reasonOf } from '../../base/errors.ts';
import { SharedWork } from '../../base/shared-work.ts';
import { offersTokenExchange } from '../../oauth/discovery/authorization-server.ts';
import { exchangeForNarrower } from '../../oauth/grants/token-exchange.ts';
import type { TokenResponse } from '../../oauth/grants/token.ts';
import { namesOfServers } from '../records/grant.ts';
import type { Grant } from '../records/grant.ts';
import type { Refresher, RefresherParts } from './refresher.ts';
import { scopeKey } from './token-cache.ts';
import type { AccessToken } from './token-cache.ts';

/** Milliseconds. */
const restAfterFailure = 600_000;

export interface ScopeExchangeParts extends RefresherParts {
  readonly refresher: Pick<Refresher, 'turns'>;
}

export class ScopeExchange {
  readonly #parts: ScopeExchangeParts;
  readonly #shared = new SharedWork<AccessToken | undefined>({ finishes: true });
  /** By issuer: the time (milliseconds, steady) until which it isn't asked. */
  readonly #resting = new Map<string, number>();

  constructor(parts: ScopeExchangeParts) {
    this.#parts = parts;
  }

  /** False also where the server failed lately, or can't be asked what it offers. */
  async isOffered(grant: Grant): Promise<boolean> {
    const { servers } = this.#parts;
    if (this.#isResting(grant.issuer)) return false;
    return servers.of(grant).then(offersTokenExchange, () => false);
  }

  /** Undefined: the server failed, or the grant was ended meanwhile. Throws `paused`. */
  async narrower(
    grant: Grant,
    full: AccessToken,
    scope: readonly string[],
    caller: AbortSignal,
  ): Promise<AccessToken | undefined> {
    this.#parts.pause.refuse();
    const key = `${grant.id} ${scopeKey(scope)}`;
    const { turns } = this.#parts.refresher;
    return this.#shared.join(key, () => turns.take(grant.id, () => this.#run(grant, full, scope)), caller);
  }

  async #run(grant: Grant, full: AccessToken, scope: readonly string[]): Promise<AccessToken | undefined> {
    const { audit, cache, clock, grants, pause, report } = this.#parts;
    const { id, issuer } = grant;
    // Others may have had their turn before: the owner may have paused, and the server may have failed.
    pause.refuse();
    if (this.#isResting(issuer)) return undefined;
    const isUsed = (): boolean => cache.holds(id, full) && grants.byId(id) !== undefined;
    // Before our turn a refresh may have replaced the token, or the user may have ended the grant.
    if (!isUsed()) return undefined;
    try {
      const answer = await this.#exchange(grant, full, scope);
      if (!answer) return undefined;
      // Race: the same may have happened meanwhile. A revocation waits for our turn to end.
      if (grants.byId(id)?.state.kind === 'revoked') cache.retireLate(id, answer);
      if (!isUsed()) return undefined;
      audit.note({ event: 'refresh', outcome: 'ok', grant: id, issuer, scope: answer.scope });
      return cache.put(id, scopeKey(scope), answer);
    } catch (error) {
      this.#resting.set(issuer, clock.now() + restAfterFailure);
      report?.(
        `${issuer} exchanged no token for a narrower one (${reasonOf(error)}); a refresh brings it instead.`,
      );
      return undefined;
    }
  }

  #isResting(issuer: string): boolean {
    return (this.#resting.get(issuer) ?? 0) > this.#parts.clock.now();
  }

  async #exchange(
    grant: Grant,
    full: AccessToken,
    scope: readonly string[],
  ): Promise<TokenResponse | undefined> {
    const { network, overrides, registrations, servers } = this.#parts;
    await registrations.verify();
    const record = registrations.byId(grant.registrationId);
    if (!record) return undefined;
    const clientSecret = await registrations.secret(record);
    const request = {
      server: await servers.of(grant),
      registration: record.registration,
      ...(clientSecret === undefined ? {} : { clientSecret }),
      accessToken: full.accessToken,
      resource: grant.resource,
      scope,
      overrides: overrides.for(...namesOfServers(grant)),
      proofKey: full.proofKey,
    };
    return exchangeForNarrower(request, network(grant.endpoints[0] ?? grant.resource));
  }
}
