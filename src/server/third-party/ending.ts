/**
 * How a session ends, here and upstream.
 *
 * Invariant: a session takes no new tokens from the moment at which it ends. What must be revoked upstream is written
 * down before the session is removed, and stays written until the upstream confirmed it, offers no revocation, or was
 * asked too often. Here the session ends at once, whatever the upstream says.
 */
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { endGrant } from '../authorization/adapter.ts';
import type { Storage } from '../storage/storage.ts';
import type { Receipt, SessionEvent } from './options.ts';
import type { Session, Sessions, UpstreamTokens } from './session.ts';
import type { UpstreamServer } from './upstream-server.ts';

const kind = 'UpstreamRevocation';

const revocationSchema = z.object({
  /** Absent: of tokens that never had one. */
  session: z.string().optional(),
  receipt: z.enum(['confirmed', 'pending', 'notOffered', 'abandoned']),
  tries: z.number(),
  /** Seconds since 1970. Another process or run waits until then. */
  nextAt: z.number(),
  /** Absent once nobody asks again. */
  upstream: z
    .object({ accessToken: z.string(), refreshToken: z.string().optional(), scope: z.string() })
    .optional(),
});

type Revocation = z.infer<typeof revocationSchema>;

const maxTries = 10;

/** Seconds before the second try; each later one waits twice as long: the tenth is made after eight hours. */
const firstPause = 60;

/** Seconds that a receipt is kept. */
const receiptLifetime = 30 * 24 * 60 * 60;

/** What all that happens to a session needs. */
export interface SessionParts {
  readonly sessions: Sessions;
  readonly storage: Storage;
  readonly server: UpstreamServer;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly onEvent: (event: SessionEvent) => void;
}

export class Ending {
  readonly #parts: SessionParts;

  constructor(parts: SessionParts) {
    this.#parts = parts;
  }

  /** Answers what the revocation upstream came to; undefined: there is no such session. */
  async end(id: string, why: SessionEvent['why'] & string): Promise<Receipt | undefined> {
    const { sessions, storage, onEvent } = this.#parts;
    const session = await sessions.end(id);
    if (!session) return this.receipt(id);
    const isFirst = await this.#note(id, id, session.upstream);
    await sessions.remove(id);
    await endGrant(storage, id);
    if (isFirst) onEvent({ kind: 'session_ended', session: id, why });
    return this.#try(id);
  }

  /** Revokes tokens without a session: it ended meanwhile, or never began (`id` is undefined then). */
  async drop(id: string | undefined, tokens: UpstreamTokens): Promise<void> {
    const item = `${id ?? 'unbound'}.${randomUUID()}`;
    await this.#note(item, id, tokens);
    await this.#try(item);
  }

  /** What the revocation of an ended session came to so far. */
  async receipt(id: string): Promise<Receipt | undefined> {
    const item = await this.#parts.storage.get(kind, id);
    return item && revocationSchema.parse(item.payload).receipt;
  }

  /** Tries again what is pending and due. Throws at the end where one of them can't be read. */
  async retry(): Promise<void> {
    const { storage } = this.#parts;
    const now = this.#seconds();
    const tries = (await storage.ids(kind)).map((id) => async () => {
      const item = await storage.get(kind, id);
      if (item === undefined) return;
      const { receipt, nextAt } = revocationSchema.parse(item.payload);
      if (receipt === 'pending' && nextAt <= now) await this.#try(id);
    });
    await eachInTurn(tries);
  }

  async #note(
    item: string,
    session: string | undefined,
    upstream: UpstreamTokens | Session['upstream'],
  ): Promise<boolean> {
    const { accessToken, refreshToken, scope } = upstream;
    const payload: Revocation = {
      session,
      receipt: 'pending',
      tries: 0,
      nextAt: this.#seconds(),
      upstream: { accessToken, refreshToken, scope },
    };
    return this.#parts.storage.add(kind, item, { payload, expiresAt: this.#seconds() + receiptLifetime });
  }

  async #try(item: string): Promise<Receipt | undefined> {
    const { storage, server, onEvent } = this.#parts;
    const stored = (await storage.get(kind, item))?.payload;
    if (stored === undefined) return undefined;
    const before = revocationSchema.parse(stored);
    if (before.receipt !== 'pending' || before.upstream === undefined) return before.receipt;
    const tries = before.tries + 1;
    const nextAt = this.#seconds() + firstPause * 2 ** before.tries;
    const taken = { ...before, tries, nextAt };
    // Another process tries it now.
    if (!(await storage.replace(kind, item, stored, taken))) return 'pending';
    let receipt: Receipt;
    try {
      receipt = (await server.revoke(before.upstream)) ? 'confirmed' : 'notOffered';
    } catch {
      receipt = tries >= maxTries ? 'abandoned' : 'pending';
    }
    const { upstream: _tokens, ...rest } = taken;
    if (receipt !== 'pending') await storage.replace(kind, item, taken, { ...rest, receipt });
    onEvent({ kind: 'upstream_revoked', session: before.session, receipt });
    return receipt;
  }

  #seconds(): number {
    return Math.floor(this.#parts.now() / 1000);
  }
}

/** Does each of these after the other; one that fails stops none. Throws the first failure at the end. */
export async function eachInTurn(acts: readonly (() => Promise<unknown>)[]): Promise<void> {
  const failures: unknown[] = [];
  for (const act of acts) await act().catch((error: unknown) => failures.push(error));
  if (failures.length > 0) throw failures[0];
}
