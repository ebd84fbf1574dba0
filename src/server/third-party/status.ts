/**
 * Whether a session may still be used: asked for each request, before an issued token is honoured.
 *
 * Invariant: a token counts only while its session, its grant and the upstream token behind them are good (MCP
 * 2025-03-26, Third-Party Authorization Flow). What nobody can tell is `unavailable` after the stated time, never `valid`. One
 * request asks the upstream for all who wait, also across processes where it renews a token.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { BoundedMap } from '../resource/base/bounded-map.ts';
import type { SessionState } from '../resource/options.ts';
import type { VerifiedToken } from '../resource/tokens/token.ts';
import type { Ending, SessionParts } from './ending.ts';
import { upstreamProblem } from '../authorization/accounts/upstream-client.ts';
import type { SessionTimes } from './options.ts';
import type { Session, UpstreamTokens } from './session.ts';
import { isSilence, RefusedUpstream } from './upstream-server.ts';

/** Seconds before its end at which an upstream token isn't used any more: it has to travel. */
const margin = 5;

/** Seconds that one process may take for a renewal: its time-out, and then some. */
const leaseLength = 15;

/** Milliseconds between two looks at a renewal of another process. */
const leasePoll = 100;

/**
 * Seconds in which an upstream that can't be reached isn't asked again. Where it answered with an error, it isn't asked
 * again about that session: it may fail at this one only.
 */
const rest = 5;

/** Sessions that rest at once. One that is forgotten is asked about too early. */
const maxResting = 10_000;

/** Seconds; the time of the last use is written at most so often. */
const useStep = 60;

interface StatusParts extends SessionParts {
  readonly issuer: string;
  readonly ending: Ending;
  readonly times: SessionTimes;
}

/** How the upstream token stands. */
type Standing =
  | { readonly state: 'valid'; readonly session: Session }
  | { readonly state: 'ended' | 'unavailable' };

export class SessionStatus {
  readonly #parts: StatusParts;
  /** Questions to the upstream that are under way, by session. */
  readonly #flights = new Map<string, Promise<Standing>>();
  #restsUntil = 0;
  readonly #resting: BoundedMap<true>;

  constructor(parts: StatusParts) {
    this.#parts = parts;
    this.#resting = new BoundedMap(maxResting, parts.now);
  }

  /** For `checkSession` of a protected server. */
  async check(token: VerifiedToken): Promise<SessionState> {
    const id = sessionIdOf(token);
    if (id === undefined || token.issuer !== this.#parts.issuer) return 'ended';
    const session = await this.#parts.sessions.get(id);
    if (!session || session.clientId !== token.clientId || session.account !== token.subject) return 'ended';
    return (await this.standing(id)).state;
  }

  /** How a session stands; a valid one has an upstream token that can be used. */
  async standing(id: string): Promise<Standing> {
    const { sessions, ending } = this.#parts;
    const session = await sessions.get(id);
    if (!session) return { state: 'ended' };
    const over = await this.whyOver(id, session);
    if (over !== undefined) {
      await ending.end(id, over);
      return { state: 'ended' };
    }
    const standing = await this.#upstreamStanding(id, session);
    if (standing.state === 'valid') await this.#note(id, standing.session);
    return standing;
  }

  /** MCP 2025-03-26, Third-Party Authorization Flow. Undefined: the session goes on. */
  async whyOver(
    id: string,
    { startedAt, usedAt }: Session,
  ): Promise<'too_old' | 'idle' | 'revoked' | undefined> {
    const { times, storage } = this.#parts;
    const now = this.#seconds();
    if (now >= startedAt + times.absolute) return 'too_old';
    if (now >= usedAt + times.idle) return 'idle';
    const grant = await storage.get('Grant', id);
    return grant === undefined || (grant.expiresAt ?? Infinity) <= now ? 'revoked' : undefined;
  }

  async #upstreamStanding(id: string, session: Session): Promise<Standing> {
    const { times } = this.#parts;
    const now = this.#seconds();
    // Until then nothing is asked, whether the upstream offers introspection or not.
    if (isFresh(session, now) && now < session.checkedAt + times.status) return { state: 'valid', session };
    const known = this.#flights.get(id);
    if (known) return known;
    const flight = this.#ask(id, session).finally(() => this.#flights.delete(id));
    this.#flights.set(id, flight);
    return flight;
  }

  async #ask(id: string, session: Session): Promise<Standing> {
    const { ending, times, onEvent } = this.#parts;
    const now = this.#seconds();
    let problem: unknown;
    if (now >= this.#restsUntil && !this.#resting.get(id)) {
      try {
        return await this.#askUpstream(id, session);
      } catch (error) {
        problem = error;
      }
    }
    if (problem instanceof RefusedUpstream) {
      await ending.end(id, 'upstream_ended');
      return { state: 'ended' };
    }
    if (problem !== undefined) {
      if (isSilence(problem)) this.#restsUntil = this.#seconds() + rest;
      else this.#resting.set(id, true, this.#parts.now() + rest * 1000);
      onEvent({ kind: 'upstream_unavailable', session: id, problem: upstreamProblem(problem) });
    }
    const at = this.#seconds();
    const isBridged = isFresh(session, at) && at < session.checkedAt + (await this.#goodFor()) + times.outage;
    return isBridged ? { state: 'valid', session } : { state: 'unavailable' };
  }

  /** Seconds that an answer of the upstream counts. */
  async #goodFor(): Promise<number> {
    const { server, times } = this.#parts;
    const isOffered = await server.offersIntrospection().catch(() => true);
    return isOffered ? times.status : times.renewal;
  }

  /** Throws RefusedUpstream where the upstream ended it, and anything else where nobody can tell. */
  async #askUpstream(id: string, session: Session): Promise<Standing> {
    const { server, sessions, times } = this.#parts;
    const now = this.#seconds();
    if (!isFresh(session, now)) return this.#renew(id, session);
    if (await server.offersIntrospection()) {
      if (!(await server.isActive(session.upstream))) return this.#renew(id, session);
      const { accessToken } = session.upstream;
      const checked = await sessions.update(id, (each) => each.upstream.accessToken === accessToken, {
        checkedAt: this.#seconds(),
      });
      return checked ? { state: 'valid', session: checked } : this.#reread(id);
    }
    const isDue = session.upstream.refreshToken !== undefined && now >= session.checkedAt + times.renewal;
    return isDue ? this.#renew(id, session) : { state: 'valid', session };
  }

  async #renew(id: string, before: Session): Promise<Standing> {
    const { sessions, server, ending, onEvent } = this.#parts;
    // The lease is long enough for one request: the metadata is fetched before it.
    await server.prepare();
    const session = await this.#lease(id, before);
    // Another process renewed it, or ended the session.
    if (!session || session.upstream.accessToken !== before.upstream.accessToken) return this.#reread(id);
    let tokens: UpstreamTokens;
    try {
      tokens = await server.renew(session.upstream, async (refused) => ending.drop(id, refused));
    } catch (error) {
      await sessions.update(id, (each) => each.renewingUntil === session.renewingUntil, {
        renewingUntil: undefined,
      });
      throw error;
    }
    const used = session.upstream.accessToken;
    const changes = { upstream: tokens, checkedAt: this.#seconds(), renewingUntil: undefined };
    const renewed = await sessions.update(id, (each) => each.upstream.accessToken === used, changes);
    if (!renewed) {
      await ending.drop(id, tokens);
      return { state: 'ended' };
    }
    onEvent({ kind: 'session_renewed', session: id });
    // MCP 2025-03-26, Third-Party Authorization Flow: a token of ours must not give more than the one behind it.
    if (isNarrower(tokens.scope, session.upstream.scope)) {
      await ending.end(id, 'upstream_narrowed');
      return { state: 'ended' };
    }
    return { state: 'valid', session: renewed };
  }

  /** The session for the one process that may renew it; for others, what came of it. */
  async #lease(id: string, before: Session): Promise<Session | undefined> {
    const { sessions } = this.#parts;
    const deadline = Date.now() + leaseLength * 1000;
    for (;;) {
      const session = await sessions.get(id);
      if (!session || session.upstream.accessToken !== before.upstream.accessToken) return session;
      if ((session.renewingUntil ?? 0) <= this.#seconds()) {
        const leased = await sessions.change(id, session, { renewingUntil: this.#seconds() + leaseLength });
        if (leased) return leased;
      }
      if (Date.now() >= deadline) throw new Error('another process renews it for too long');
      await pause(leasePoll);
    }
  }

  async #reread(id: string): Promise<Standing> {
    const session = await this.#parts.sessions.get(id);
    if (!session) return { state: 'ended' };
    return isFresh(session, this.#seconds()) ? { state: 'valid', session } : { state: 'unavailable' };
  }

  async #note(id: string, session: Session): Promise<void> {
    const now = this.#seconds();
    const step = Math.min(useStep, this.#parts.times.idle / 4);
    if (now < session.usedAt + step) return;
    // Of many requests at once, one writes.
    await this.#parts.sessions.update(id, ({ usedAt }) => usedAt < now, { usedAt: now });
  }

  #seconds(): number {
    return Math.floor(this.#parts.now() / 1000);
  }
}

/** The claim `sid`: the grant, and so the session, that a token belongs to. */
export function sessionIdOf({ claims }: Pick<VerifiedToken, 'claims'>): string | undefined {
  const id = claims['sid'];
  return typeof id === 'string' ? id : undefined;
}

function isFresh({ upstream: { expiresAt } }: Session, now: number): boolean {
  return expiresAt === undefined || now < expiresAt - margin;
}

function isNarrower(scope: string, before: string): boolean {
  const now = new Set(scope.split(' '));
  return before.split(' ').some((each) => each !== '' && !now.has(each));
}
