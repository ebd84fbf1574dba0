/**
 * Refreshes grants: one at a time per grant, whatever the number who ask.
 *
 * Invariants (DESIGN 2, 3): the new refresh token is durable before any caller sees the new access
 * token; a refresh that lost a race with a sign-in or a revocation writes nothing; only the server's
 * `invalid_grant` makes a grant `loginRequired`, and even that deletes no token.
 */
import { KeyturnError } from '../errors.ts';
import type { Http } from '../oauth/http.ts';
import { refresh } from '../oauth/token.ts';
import type { TokenAnswer } from '../oauth/token.ts';
import type { Vault } from '../vault/vault.ts';
import type { Audit } from './audit.ts';
import type { AuthorizationServers } from './authorization-servers.ts';
import { readGrantSecret, writeGrantSecret } from './grant-secret.ts';
import type { GrantSecret } from './grant-secret.ts';
import type { Grant, Grants } from './grant.ts';
import type { Registrations } from './registrations.ts';
import { SharedWork } from './shared-work.ts';
import { scopeKey } from './token-cache.ts';
import type { AccessToken, TokenCache } from './token-cache.ts';

export interface RefresherParts {
  readonly http: Http;
  readonly vault: Vault;
  readonly grants: Grants;
  readonly registrations: Registrations;
  readonly servers: AuthorizationServers;
  readonly cache: TokenCache;
  readonly audit: Audit;
}

export class Refresher {
  readonly #parts: RefresherParts;
  readonly #shared = new SharedWork<AccessToken>();
  /** The tail of each grant's queue: refreshes for different scope sets follow one another. */
  readonly #queues = new Map<string, Promise<unknown>>();
  /** Rotated tokens that the vault refused to keep; written before anything else is tried. */
  readonly #unsaved = new Map<string, GrantSecret>();

  constructor(parts: RefresherParts) {
    this.#parts = parts;
  }

  isRefreshing(grantId: string): boolean {
    return this.#queues.has(grantId);
  }

  /**
   * A fresh access token, with the grant's scopes or, given `scope`, with just those (RFC 6749 §6).
   * Throws `login_required` when the refresh token is dead, `Unreachable` when nobody knows, and the
   * vault's own errors. The caller may stop waiting; the refresh goes on.
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
    // DESIGN, Storage: a failed vault probe forbids a refresh, since the rotated token could not be kept.
    await vault.probe();
    const secret = await this.#secretOf(grant);
    if (secret.refreshToken === undefined) throw loginRequired(grant, 'it has no refresh token');
    let answer: TokenAnswer;
    try {
      answer = await this.#askServer(grant, secret.refreshToken, scope);
    } catch (error) {
      await this.#failed(grant, error);
      throw error;
    }
    const token = await this.#keep(grant, secret, answer, scope);
    audit.note({
      event: 'refresh',
      outcome: 'ok',
      grant: grant.id,
      issuer: grant.issuer,
      scope: token.scope,
    });
    return token;
  }

  async #secretOf(grant: Grant): Promise<GrantSecret> {
    const unsaved = this.#unsaved.get(grant.id);
    if (!unsaved) return readGrantSecret(this.#parts.vault, grant.id);
    await writeGrantSecret(this.#parts.vault, grant.id, unsaved);
    this.#unsaved.delete(grant.id);
    return unsaved;
  }

  async #askServer(
    grant: Grant,
    refreshToken: string,
    scope: readonly string[] | undefined,
  ): Promise<TokenAnswer> {
    const { registrations, servers, http } = this.#parts;
    const record = registrations.byId(grant.registrationId);
    if (!record) throw loginRequired(grant, 'its registration is gone');
    const clientSecret = await registrations.secret(record);
    return refresh(
      {
        server: await servers.get(grant.issuer),
        registration: record.registration,
        ...(clientSecret === undefined ? {} : { clientSecret }),
        refreshToken,
        // RFC 8707 §2.2: the same resource as in the authorization request, byte for byte.
        resource: grant.resource,
        grantedScope: grant.scope,
        ...(scope === undefined ? {} : { scope }),
      },
      http,
    );
  }

  async #keep(
    grant: Grant,
    secret: GrantSecret,
    answer: TokenAnswer,
    scope: readonly string[] | undefined,
  ): Promise<AccessToken> {
    const { vault, grants, cache, http } = this.#parts;
    if (!grants.isCurrent(grant)) throw stale(grant);
    if (answer.refreshToken !== undefined && answer.refreshToken !== secret.refreshToken) {
      const rotated = { ...secret, refreshToken: answer.refreshToken };
      this.#unsaved.set(grant.id, rotated);
      await writeGrantSecret(vault, grant.id, rotated);
      this.#unsaved.delete(grant.id);
    }
    // A sign-in or a revocation may have come while the vault wrote.
    if (!grants.isCurrent(grant)) throw stale(grant);
    const granted = scope === undefined ? { scope: [...answer.scope] } : {};
    await grants.change(grant, { ...granted, lastRefreshedAt: http.now() });
    return cache.put(grant.id, scopeKey(scope), answer);
  }

  async #failed(grant: Grant, error: unknown): Promise<void> {
    const { grants, audit } = this.#parts;
    const reason = error instanceof KeyturnError ? error.reason : 'internal';
    audit.note({ event: 'refresh', outcome: reason, grant: grant.id, issuer: grant.issuer });
    if (reason !== 'login_required' || !grants.isCurrent(grant)) return;
    await grants.change(grant, {
      state: { kind: 'loginRequired', why: 'the server ended the refresh token' },
    });
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

function stale(grant: Grant): KeyturnError {
  return new KeyturnError('conflict', `The grant ${grant.id} changed while it was refreshed.`, {
    hint: 'Try again: the newer state is used.',
  });
}
