/**
 * Sessions: which upstream tokens belong to which grant of ours.
 *
 * Invariant: one grant has one session, under the grant's id, and nothing but this storage joins the two. A change
 * counts only if nobody changed the session since it was read; one that ended takes no change, and gives no token.
 */
import { z } from 'zod';
import type { Storage } from '../storage/storage.ts';

const tokensSchema = z.object({
  accessToken: z.string(),
  refreshToken: z.string().optional(),
  /** Seconds since 1970. */
  expiresAt: z.number().optional(),
  scope: z.string(),
});

export type UpstreamTokens = Readonly<z.infer<typeof tokensSchema>>;

const sessionSchema = z.object({
  account: z.string(),
  clientId: z.string(),
  /** Seconds since 1970, as all times here. */
  startedAt: z.number(),
  usedAt: z.number(),
  /** When the upstream last said that the token is good. */
  checkedAt: z.number(),
  /** Until then one process renews the token. */
  renewingUntil: z.number().optional(),
  /** It has ended; what is to be revoked upstream may not be written down yet. */
  isEnded: z.boolean().optional(),
  upstream: tokensSchema,
});

export type Session = Readonly<z.infer<typeof sessionSchema>>;

const kind = 'UpstreamSession';

/** A change that meets others is tried again so often. */
const maxTries = 10;

export class Sessions {
  readonly #storage: Storage;

  constructor(storage: Storage) {
    this.#storage = storage;
  }

  async add(id: string, session: Session): Promise<void> {
    // Read back it has the same text, which `replace` compares.
    await this.#storage.put(kind, id, { payload: sessionSchema.parse(session) });
  }

  /** Undefined: there is none, or it has ended. */
  async get(id: string): Promise<Session | undefined> {
    const session = await this.anyOf(id);
    return session?.isEnded ? undefined : session;
  }

  /** The session, whether it has ended or not; undefined: it was removed. Throws where it can't be read. */
  async anyOf(id: string): Promise<Session | undefined> {
    const item = await this.#storage.get(kind, id);
    return item && sessionSchema.parse(item.payload);
  }

  /** Changes this state of a session only; undefined: it is another by now, or has ended. */
  async change(id: string, before: Session, changes: Partial<Session>): Promise<Session | undefined> {
    const after = sessionSchema.parse({ ...before, ...changes });
    return (await this.#storage.replace(kind, id, before, after)) ? after : undefined;
  }

  /**
   * Changes whatever state there is, as long as `holds`; undefined: it doesn't, or the session has ended. Throws if
   * others change it all the time.
   */
  async update(
    id: string,
    holds: (session: Session) => boolean,
    changes: Partial<Session>,
  ): Promise<Session | undefined> {
    for (let tries = 0; tries < maxTries; tries += 1) {
      const before = await this.get(id);
      if (!before || !holds(before)) return undefined;
      const after = await this.change(id, before, changes);
      if (after) return after;
    }
    throw tooBusy();
  }

  /** The session as it stays until `remove`; undefined: there is none. Throws if others change it all the time. */
  async end(id: string): Promise<Session | undefined> {
    for (let tries = 0; tries < maxTries; tries += 1) {
      const before = await this.anyOf(id);
      if (!before || before.isEnded) return before;
      const after = await this.change(id, before, { isEnded: true });
      if (after) return after;
    }
    throw tooBusy();
  }

  async remove(id: string): Promise<void> {
    await this.#storage.remove(kind, id);
  }

  /** Of all of them, also of those that have ended and were not removed, and of those that can't be read. */
  async ids(): Promise<readonly string[]> {
    return this.#storage.ids(kind);
  }
}

const tooBusy = (): Error => new Error('a session changes all the time');
