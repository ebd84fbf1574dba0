/**
 * Refreshes grants: one at a time per grant, whatever the number who ask.
 *
 * Invariants (DESIGN 2, 3): the new refresh token is durable before any caller sees the new access
 * token, and is kept even when the rest of the answer is refused; sign-in, refresh and revocation
 * take turns at a grant's tokens, so that none writes over what is newer; only the server's
 * `invalid_grant` makes a grant `loginRequired`, and even that deletes no token.
 */
import { KeyturnError, quoted, reasonOf, Unreachable } from '../errors.ts';
import type { Http } from '../oauth/http.ts';
import { refresh } from '../oauth/token.ts';
import type { TokenAnswer } from '../oauth/token.ts';
import type { Vault } from '../vault/vault.ts';
import type { Audit } from './audit.ts';
import type { AuthorizationServers } from './authorization-servers.ts';
import { Backoff } from './backoff.ts';
import type { Clock } from './clock.ts';
import { GrantSecrets } from './grant-secret.ts';
import type { GrantSecret } from './grant-secret.ts';
import { namesOfServers } from './grant.ts';
import type { Grant, Grants } from './grant.ts';
import type { OverrideBook } from './override.ts';
import type { RegistrationRecord, Registrations } from './registrations.ts';
import { deadState } from './sibling.ts';
import { SharedWork } from './shared-work.ts';
import { scopeKey } from './token-cache.ts';
import type { AccessToken, TokenCache } from './token-cache.ts';

export interface RefresherParts {
  readonly network: (endpoint: string) => Http;
  readonly clock: Clock;
  readonly overrides: OverrideBook;
  readonly vault: Vault;
  readonly grants: Grants;
  readonly registrations: Registrations;
  readonly servers: AuthorizationServers;
  readonly cache: TokenCache;
  readonly audit: Audit;
}

export class Refresher {
  readonly secrets: GrantSecrets;
  readonly #parts: RefresherParts;
  readonly #shared = new SharedWork<AccessToken>({ finishes: true });
  readonly #backoff: Backoff;
  /** The tail of each grant's queue: refreshes for different scope sets follow one another. */
  readonly #queues = new Map<string, Promise<unknown>>();

  constructor(parts: RefresherParts) {
    this.#parts = parts;
    this.secrets = new GrantSecrets(parts.vault);
    this.#backoff = new Backoff(() => parts.clock.now());
  }

  isRefreshing(grantId: string): boolean {
    return this.#queues.has(grantId);
  }

  /** True while anybody refreshes, keeps or revokes a grant's tokens. */
  get isBusy(): boolean {
    return this.#queues.size > 0;
  }

  /**
   * A fresh access token, with the grant's scopes or, given `scope`, with just those (RFC 6749 §6).
   * Throws `login_required` when the refresh token is dead, `Unreachable` when nobody knows,
   * `conflict` when the grant was ended meanwhile, and the vault's own errors. The caller may stop
   * waiting; the refresh goes on.
   */
  async refresh(
    grantId: string,
    scope: readonly string[] | undefined,
    caller: AbortSignal,
  ): Promise<AccessToken> {
    const key = `${grantId} ${scopeKey(scope)}`;
    return this.#shared.join(key, () => this.exclusive(grantId, () => this.#run(grantId, scope)), caller);
  }

  /** Resolves when no refresh is under way: nothing is cut off between the server's answer and the vault. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#queues.values());
    await this.secrets.flush();
  }

  /** Runs `work` when nothing else touches the grant's tokens: sign-in and revocation take their turn here too. */
  async exclusive<T>(grantId: string, work: () => Promise<T>): Promise<T> {
    const before = this.#queues.get(grantId) ?? Promise.resolve();
    const turn = before.then(work, work);
    this.#queues.set(grantId, turn);
    try {
      return await turn;
    } finally {
      if (this.#queues.get(grantId) === turn) this.#queues.delete(grantId);
    }
  }

  async #run(grantId: string, scope: readonly string[] | undefined): Promise<AccessToken> {
    const { vault, grants, audit } = this.#parts;
    const grant = activeGrant(grants, grantId);
    this.#obeyBackoff(grant);
    // DESIGN, Storage: a failed vault probe forbids a refresh, since the rotated token could not be kept.
    await vault.probe();
    await this.#parts.registrations.verify();
    const answer = await this.#askServer(grant, scope).catch(async (error: unknown) => {
      await this.#failed(grant, error);
      throw error;
    });
    this.#backoff.succeeded(grant.id);
    const token = await this.#keep(grant, answer, scope);
    const { id, issuer } = grant;
    audit.note({ event: 'refresh', outcome: 'ok', grant: id, issuer, scope: token.scope });
    return token;
  }

  async #askServer(grant: Grant, scope: readonly string[] | undefined): Promise<TokenAnswer> {
    const { registrations, servers, network, overrides } = this.#parts;
    const secret = await this.secrets.read(grant.id);
    if (secret.refreshToken === undefined) throw loginRequired(grant, 'it has no refresh token');
    const record = registrations.byId(grant.registrationId);
    if (!record) throw loginRequired(grant, 'its registration is gone');
    const clientSecret = await registrations.secret(record);
    return refresh(
      {
        server: await servers.of(grant),
        registration: record.registration,
        ...(clientSecret === undefined ? {} : { clientSecret }),
        refreshToken: secret.refreshToken,
        // RFC 8707 §2.2: the same resource as in the authorization request, byte for byte.
        resource: grant.resource,
        grantedScope: grant.scope,
        overrides: overrides.for(...namesOfServers(grant)),
        ...(scope === undefined ? {} : { scope }),
        onRotation: (refreshToken) => this.#rotate(grant, secret, refreshToken),
      },
      network(grant.endpoints[0] ?? grant.resource),
    ).catch((error: unknown) => this.#clientRejected(record, error));
  }

  /** In the grant's turn, so that nothing newer can be there: a sign-in that came meanwhile waits. */
  async #rotate(grant: Grant, secret: GrantSecret, refreshToken: string): Promise<void> {
    if (refreshToken === secret.refreshToken) return;
    await this.secrets.rotate(grant.id, { ...secret, refreshToken });
  }

  /** A registration of ours that the server forgot takes its refresh tokens with it: the next sign-in registers anew. */
  async #clientRejected(record: RegistrationRecord, error: unknown): Promise<never> {
    if (reasonOf(error) !== 'client_rejected' || record.registration.source !== 'dynamic') throw error;
    await this.#parts.registrations.reject(record);
    throw new KeyturnError(
      'login_required',
      `${quoted(record.registration.issuer)} no longer knows our registration.`,
      {
        rule: 'RFC 6749 §5.2 (invalid_client)',
        hint: 'Sign in again; Keyturn registers anew.',
      },
    );
  }

  async #keep(grant: Grant, answer: TokenAnswer, scope: readonly string[] | undefined): Promise<AccessToken> {
    const { grants, cache, clock } = this.#parts;
    const granted = scope === undefined ? { scope: [...answer.scope] } : {};
    // Both throw or refuse where the grant was ended meanwhile; the revocation finds the rotated token in the vault.
    const liveUntil = Math.max(grant.liveUntil ?? 0, answer.expiresAt);
    const kept = await grants.change(grant, { ...granted, lastRefreshedAt: clock.now(), liveUntil });
    if (!grants.isCurrent(kept)) throw ended(grant);
    return cache.put(grant.id, scopeKey(scope), answer);
  }

  async #failed(grant: Grant, error: unknown): Promise<void> {
    const { grants, audit, clock } = this.#parts;
    const reason = reasonOf(error);
    audit.note({ event: 'refresh', outcome: reason, grant: grant.id, issuer: grant.issuer });
    if (error instanceof Unreachable) this.#backoff.failed(grant.id, error.retryAfter);
    if (reason !== 'login_required' || !grants.isCurrent(grant)) return;
    await grants.change(grant, { state: deadState(grants.all(), grant, clock.now()) });
  }

  /** DESIGN, Numbers: a server in trouble isn't asked with every request of every program. */
  #obeyBackoff(grant: Grant): void {
    const left = this.#backoff.left(grant.id);
    if (left === 0) return;
    throw new Unreachable(
      'authorization_server_unreachable',
      `${quoted(grant.issuer)} could not refresh the token a moment ago.`,
      {
        hint: 'Keyturn waits before it asks again; nothing that is stored was changed.',
        retryAfter: Math.ceil(left / 1000),
      },
    );
  }
}

function activeGrant(grants: Grants, grantId: string): Grant {
  const grant = grants.byId(grantId);
  if (grant?.state.kind === 'active') return grant;
  throw new KeyturnError('login_required', `The grant ${grantId} is no longer active.`, {
    hint: grant
      ? `Sign in again: keyturn login ${grant.endpoints[0]}`
      : 'Sign in with `keyturn login RESOURCE`.',
  });
}

function loginRequired(grant: Grant, why: string): KeyturnError {
  return new KeyturnError('login_required', `The grant for ${grant.resource} can't be refreshed: ${why}.`, {
    hint: `Sign in again: keyturn login ${grant.endpoints[0]}`,
  });
}

function ended(grant: Grant): KeyturnError {
  return new KeyturnError('conflict', `The grant ${grant.id} was ended while it was refreshed.`, {
    hint: 'Try again: the newer state is used.',
  });
}
