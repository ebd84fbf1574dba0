/**
 * The broker: joins permissions, grants, vault and sign-in, and answers `token.get`.
 *
 * A token's whole way, top to bottom: permission → cached token → refresh → (only if allowed)
 * interaction: challenge → discovery → registration → authorization → token → vault → answer.
 *
 * Invariants: no permission, no token (DESIGN 6). A local client gets a token only if the token's
 * granted scopes lie within its permission, as literal sets (10). A token belongs to (resource,
 * issuer, account) and is found by the endpoint that led there, never by a name (4). A valid token
 * in memory is answered without any I/O.
 */
import { KeyturnError, reasonOf, RuleRefusal, Unreachable } from '../errors.ts';
import { canonicalResource } from '../oauth/resource.ts';
import { isWithin, union } from '../oauth/scope.ts';
import { Consent } from './consent.ts';
import { readGrantSecret } from './grant-secret.ts';
import type { Grant } from './grant.ts';
import { TryLimit } from './limits.ts';
import { PageQueue } from './page-queue.ts';
import type { BrokerParts } from './parts.ts';
import { patience, TimeOver } from './patience.ts';
import type { Permission } from './permission.ts';
import { SharedWork } from './shared-work.ts';
import { signIn } from './sign-in.ts';
import type { SignInRequest } from './sign-in.ts';
import { fullScope, isAlive, isFresh, scopeKey } from './token-cache.ts';
import type { AccessToken } from './token-cache.ts';
import type { ClientChallenge, Token, TokenRequest } from './token-request.ts';

/** A request evaluates its grant anew after each sign-in or lost race; more rounds mean something flaps. */
const mostRounds = 4;

export interface LoginRequest {
  readonly resource: string;
  readonly scope?: readonly string[];
  readonly account?: string;
  readonly issuer?: string;
  /** Milliseconds. */
  readonly timeout: number;
  readonly signal: AbortSignal;
}

export interface Rejection {
  readonly clientId: string;
  readonly token: { readonly tokenId: string } | { readonly accessToken: string };
}

/** A request on its way: what was asked, what is allowed, how long it waits. */
interface Way {
  readonly request: TokenRequest;
  readonly endpoint: string;
  /** Scopes that the answer must carry. */
  readonly needed: readonly string[];
  readonly permission: Permission;
  readonly signal: AbortSignal;
}

export class Broker {
  readonly parts: BrokerParts;
  readonly consent: Consent;
  readonly #signIns = new SharedWork<Grant>();
  readonly #pages = new PageQueue();
  readonly #stepUps: TryLimit;
  readonly #rejections: TryLimit;

  constructor(parts: BrokerParts) {
    this.parts = parts;
    this.consent = new Consent(parts);
    this.#stepUps = new TryLimit(() => parts.clock.now());
    this.#rejections = new TryLimit(() => parts.clock.now());
  }

  /** The canonical endpoint for what a person typed. Throws `invalid_resource`. */
  canonical(resource: string): string {
    return canonicalResource(resource, this.parts.http);
  }

  async getToken(request: TokenRequest): Promise<Token> {
    const endpoint = this.canonical(request.resource);
    const waiting = patience(this.parts.clock, request.timeout, request.signal);
    try {
      const needed = neededScope(request);
      const wanted = {
        clientId: request.clientId,
        endpoint,
        scope: needed,
        interaction: request.interaction,
      };
      const permission = await this.consent.permitted(wanted, waiting.signal);
      return await this.#walk({ request, endpoint, needed, permission, signal: waiting.signal });
    } catch (error) {
      const told = error instanceof TimeOver ? this.#stillPending(request.clientId, endpoint) : error;
      this.#note(request, endpoint, 'refused', reasonOf(told));
      throw told;
    } finally {
      waiting.end();
    }
  }

  async #walk(way: Way): Promise<Token> {
    for (let round = 0; round < mostRounds; round += 1) {
      const grant = this.#grantFor(way);
      if (!grant || grant.state.kind !== 'active') {
        await this.#signInFor(way, grant);
      } else if (!isWithin(way.needed, grant.scope)) {
        await this.#stepUp(way, grant);
      } else {
        const token = await this.#tokenFrom(way, grant);
        if (token) return this.#handOut(way, grant, token);
      }
    }
    throw new KeyturnError('conflict', `The grant for ${way.endpoint} changes too fast to be used.`, {
      hint: 'Look at `keyturn list`, then try again.',
    });
  }

  /** The newest grant that is not revoked; a revoked one only where there is no other. */
  #grantFor({ endpoint, request }: Way): Grant | undefined {
    const grants = this.parts.grants.forEndpoint(endpoint, request.account);
    return grants.find((grant) => grant.state.kind === 'active') ?? grants[0];
  }

  /** A token for this permission: from memory, else refreshed. Undefined: the grant changed, look again. */
  async #tokenFrom(way: Way, grant: Grant): Promise<AccessToken | undefined> {
    this.#refuseOtherResource(way, grant);
    this.#refuseAfterRejections(way);
    const { cache, http } = this.parts;
    const narrow = narrowerThan(grant, way.permission);
    if (narrow?.length === 0) throw notNarrowed(way, grant);
    const cached = cache.get(grant.id, scopeKey(narrow));
    const minimum = way.request.minimumValidity;
    if (cached && isFresh(cached, http.now(), minimum)) return cached;
    if (!grant.hasRefreshToken) return this.#unrefreshable(way, grant, cached);
    try {
      return await this.parts.refresher.refresh(grant.id, narrow, way.signal);
    } catch (error) {
      // A server that can't be reached is no reason to withhold a token that still works.
      if (error instanceof Unreachable && cached && isAlive(cached, http.now(), minimum)) return cached;
      if (reasonOf(error) === 'conflict') return undefined;
      if (reasonOf(error) === 'login_required') return undefined;
      throw error;
    }
  }

  /** A grant without refresh token lives as long as its access token, which the vault keeps. */
  async #unrefreshable(
    way: Way,
    grant: Grant,
    cached: AccessToken | undefined,
  ): Promise<AccessToken | undefined> {
    const { cache, vault, grants, http } = this.parts;
    if (narrowerThan(grant, way.permission)) throw notNarrowed(way, grant);
    if (cached && isAlive(cached, http.now(), way.request.minimumValidity)) return cached;
    const stored = cached ? undefined : (await readGrantSecret(vault, grant.id)).accessToken;
    if (stored && stored.expiresAt > http.now() + (way.request.minimumValidity ?? 0)) {
      return cache.put(grant.id, fullScope, { accessToken: stored.value, ...stored });
    }
    cache.dropGrant(grant.id);
    if (grants.isCurrent(grant)) {
      const why = 'its access token is over and the server gave no refresh token';
      await grants.change(grant, { state: { kind: 'loginRequired', why } });
    }
    return undefined;
  }

  async #handOut(way: Way, grant: Grant, token: AccessToken): Promise<Token> {
    const permission = await this.consent.bind(way.permission, grant.resource, token.scope);
    // DESIGN invariant 10: literal sets, checked on what the server really granted.
    if (permission.scope && !isWithin(token.scope, permission.scope)) throw notNarrowed(way, grant);
    token.handedTo.add(way.request.clientId);
    this.parts.clients.used(way.request.clientId, this.parts.clock.now());
    this.#note(way.request, way.endpoint, 'token', 'ok', grant, token.scope);
    return {
      accessToken: token.accessToken,
      tokenId: token.tokenId,
      expiresAt: token.expiresAt,
      scope: token.scope,
      resource: grant.resource,
      account: grant.account,
      issuer: grant.issuer,
    };
  }

  /** Spec, Step-up: a new authorization with the union of what was asked before and what is needed now. */
  async #stepUp(way: Way, grant: Grant): Promise<void> {
    const { request, endpoint, needed } = way;
    const missing = needed.filter((scope) => !grant.scope.includes(scope));
    if (isWithin(needed, grant.requestedScope)) {
      throw new KeyturnError(
        'scope_insufficient',
        `${grant.issuer} was asked for ${missing.join(' ')} and did not grant it.`,
        {
          hint: `If that was a mistake, sign in again: keyturn login ${endpoint} --scope "${needed.join(' ')}"`,
        },
      );
    }
    const key = `${request.clientId} ${endpoint} ${request.operation ?? ''}`;
    if (this.#stepUps.isExhausted(key)) throw stepUpExhausted(endpoint);
    this.#refuseUnattended(way, `it needs a new sign-in for ${missing.join(' ')}`);
    this.#stepUps.add(key);
    await this.#startSignIn(way, {
      scope: union(grant.requestedScope, grant.scope, needed),
      account: accountLabel(grant),
    });
  }

  async #signInFor(way: Way, grant: Grant | undefined): Promise<void> {
    if (grant?.state.kind === 'revoked') {
      throw new KeyturnError('login_required', `The grant for ${way.endpoint} was revoked.`, {
        rule: 'What the user ended, only the user starts again',
        hint: `Sign in again: keyturn login ${way.endpoint}`,
      });
    }
    this.#refuseUnattended(way, grant ? 'its grant needs a new sign-in' : 'nobody has signed in there yet');
    const before = grant ? union(grant.requestedScope, way.needed) : way.needed;
    await this.#startSignIn(way, {
      ...(before.length > 0 ? { scope: before } : {}),
      account: way.request.account ?? (grant && accountLabel(grant)),
    });
  }

  #refuseUnattended({ endpoint, request }: Way, why: string): void {
    const blocked = this.#pages.needsUser(pageKey(endpoint, request.account));
    if (request.interaction === 'allow' && !blocked) return;
    const because = blocked ? 'the last sign-in came to nothing' : why;
    throw new KeyturnError('login_required', `No token for ${endpoint}: ${because}.`, {
      ...(blocked ? { rule: 'One automatic sign-in page; the next one is the user’s to start' } : {}),
      hint: `Sign in with: keyturn login ${endpoint}`,
    });
  }

  async #startSignIn(
    way: Way,
    ask: { scope?: readonly string[]; account: string | undefined },
  ): Promise<void> {
    const { endpoint, permission, request, signal } = way;
    await this.#joinSignIn(
      {
        endpoint,
        ...(ask.scope === undefined ? {} : { scope: ask.scope }),
        ...(ask.account === undefined ? {} : { account: ask.account }),
        ...(permission.scope === undefined ? {} : { bound: union(permission.scope, ask.scope ?? []) }),
        ...(request.challenge?.bearer === undefined ? {} : { challenge: request.challenge.bearer }),
      },
      signal,
    );
  }

  /** Under a permission: automatic pages take turns, and one that came to nothing was the last. */
  async #joinSignIn(request: SignInRequest, caller: AbortSignal): Promise<Grant> {
    const key = pageKey(request.endpoint, request.account);
    const start = (signal: AbortSignal): Promise<Grant> =>
      signIn(this.parts, request, (work) => this.#pages.run(key, signal, work), signal);
    return this.#signIns.join(key, start, caller);
  }

  /** The user signs in on purpose: earlier failures and limits of this endpoint are forgotten. */
  async login(request: LoginRequest): Promise<Grant> {
    const endpoint = this.canonical(request.resource);
    this.userActed(endpoint, request.account);
    const waiting = patience(this.parts.clock, request.timeout, request.signal);
    const { scope, account, issuer } = request;
    const asked: SignInRequest = {
      endpoint,
      ...(scope === undefined ? {} : { scope }),
      ...(account === undefined ? {} : { account }),
      ...(issuer === undefined ? {} : { issuer }),
    };
    const start = (signal: AbortSignal): Promise<Grant> =>
      signIn(this.parts, asked, (work) => work(() => undefined), signal);
    try {
      return await this.#signIns.join(`login ${JSON.stringify(asked)}`, start, waiting.signal);
    } catch (error) {
      throw error instanceof TimeOver ? this.#stillPending(undefined, endpoint) : error;
    } finally {
      waiting.end();
    }
  }

  userActed(endpoint: string, account?: string): void {
    this.#pages.userActed(pageKey(endpoint, account));
    this.#stepUps.clear(` ${endpoint} `);
    this.#rejections.clear(` ${endpoint} `);
  }

  /**
   * A protected server refused this token. Counts only for a current token that this local client
   * received; for any other the newer one is simply returned next time (DESIGN, token.reject).
   */
  rejectToken({ clientId, token: named }: Rejection): { counted: boolean } {
    for (const grant of this.parts.grants.all()) {
      const token = this.parts.cache
        .of(grant.id)
        .find((t) =>
          'tokenId' in named ? t.tokenId === named.tokenId : t.accessToken === named.accessToken,
        );
      if (!token?.handedTo.has(clientId)) continue;
      this.parts.cache.drop(grant.id, token.tokenId);
      for (const endpoint of grant.endpoints) this.#rejections.add(`${clientId} ${endpoint} `);
      return { counted: true };
    }
    return { counted: false };
  }

  /** A server that refuses every token must not set off refreshes without end. */
  #refuseAfterRejections({ request, endpoint }: Way): void {
    if (!this.#rejections.isExhausted(`${request.clientId} ${endpoint} `)) return;
    throw new KeyturnError('token_refused', `${endpoint} refused several fresh tokens in a row.`, {
      rule: 'Retries are bounded',
      hint: `Ask whoever runs the server; then start anew with: keyturn login ${endpoint}`,
    });
  }

  /** A permission is for the resource it was verified for; metadata that now names another voids it. */
  #refuseOtherResource({ permission, endpoint }: Way, grant: Grant): void {
    if (permission.resource === undefined || permission.resource === grant.resource) return;
    throw new RuleRefusal('resource_mismatch', `${endpoint} now names another resource, ${grant.resource}.`, {
      rule: 'A permission is bound to the resource it was given for',
      hint: 'If the server really moved, allow the program again.',
    });
  }

  #stillPending(clientId: string | undefined, endpoint: string): KeyturnError {
    for (const { id, question } of this.parts.interactions.list()) {
      if (question.kind === 'allow' && question.clientId === clientId && question.endpoint === endpoint) {
        return new KeyturnError(
          'consent_pending',
          `Nobody has answered yet whether ${question.clientName} may reach ${endpoint}.`,
          {
            hint: `Answer with: keyturn answer ${id} yes   (or no, or later)`,
          },
        );
      }
      if (question.kind === 'login' && question.endpoint === endpoint) {
        return new KeyturnError('login_pending', `The sign-in at ${question.issuer} is not finished.`, {
          hint: 'Finish it in the browser, then ask again. `keyturn pending` shows its address.',
        });
      }
    }
    return new Unreachable(
      'authorization_server_unreachable',
      `No answer for ${endpoint} in the time given.`,
      {
        hint: 'Ask again, or give a longer --timeout.',
      },
    );
  }

  #note(
    request: TokenRequest,
    endpoint: string,
    event: 'token' | 'refused',
    outcome: string,
    grant?: Grant,
    scope?: readonly string[],
  ): void {
    const client = this.parts.clients.nameOf(request.clientId);
    const about = grant ? { grant: grant.id, resource: grant.resource, issuer: grant.issuer } : {};
    this.parts.audit.note({ event, outcome, client, endpoint, ...about, ...(scope ? { scope } : {}) });
  }
}

const pageKey = (endpoint: string, account: string | undefined): string => `${endpoint} ${account ?? ''}`;

/** A label can be asked for again; `default` is only our word for "nobody named one". */
function accountLabel(grant: Grant): string | undefined {
  return grant.account === 'default' ? undefined : grant.account;
}

/** The caller's scopes, and those of an insufficient_scope challenge (RFC 6750 §3.1). */
function neededScope({ scope = [], challenge }: TokenRequest): string[] {
  return union(scope, isStepUp(challenge) ? (challenge?.bearer?.scope ?? []) : []);
}

function isStepUp(challenge: ClientChallenge | undefined): boolean {
  return challenge?.status === 403 && challenge.bearer?.error === 'insufficient_scope';
}

/** The scopes to narrow to; undefined where the permission covers all that the grant has. */
function narrowerThan(grant: Grant, permission: Permission): string[] | undefined {
  const { scope } = permission;
  if (!scope || isWithin(grant.scope, scope)) return undefined;
  return grant.scope.filter((name) => scope.includes(name));
}

function notNarrowed({ request, endpoint, permission }: Way, grant: Grant): KeyturnError {
  return new KeyturnError(
    'scope_insufficient',
    `The token for ${endpoint} carries more than this program may have, and ${grant.issuer} does not narrow it.`,
    {
      rule: 'A program gets a token only within its permission',
      hint:
        `It may have: ${(permission.scope ?? []).join(' ') || 'nothing the grant has'}. Allow it all with: ` +
        `keyturn allow ${request.clientId} ${endpoint} --scope "${grant.scope.join(' ')}"`,
    },
  );
}

function stepUpExhausted(endpoint: string): KeyturnError {
  return new KeyturnError('step_up_exhausted', `${endpoint} asked for more scopes too often.`, {
    rule: 'Step-up is tried at most 3 times in 10 minutes; then it is the user’s turn',
    hint: `If it is meant, sign in with the scopes: keyturn login ${endpoint} --scope "…"`,
  });
}
