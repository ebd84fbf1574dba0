/**
 * What people have allowed apps, so that they aren't asked the same again.
 *
 * Invariant: a remembered approval is valid for a year, for the same account, client, redirect host and resource, the
 * scopes that its page showed, and a client that still calls itself so and has the same redirects. Whatever is wider is
 * asked. It never covers a redirect to the user's own machine, where any program could pose as the app (RFC 8252 §8.6).
 */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { KeyturnError } from '../../base/errors.ts';
import type { Storage } from '../storage/storage.ts';
import { isLocal } from './clients/redirect.ts';

/** What a page asks, or asked. */
export interface AskedConsent {
  readonly clientId: string;
  readonly clientName: string | undefined;
  /** All redirects of the client. */
  readonly redirectUris: readonly string[];
  /** Where this answer goes. */
  readonly redirectUri: string;
  readonly resource: string;
  readonly scopes: readonly string[];
}

/** An approval that is remembered. */
export interface Consent {
  readonly clientId: string;
  readonly redirectHost: string;
  readonly resource: string;
  readonly scopes: readonly string[];
  /** Seconds since 1970. */
  readonly at: number;
}

const entry = z.object({
  clientId: z.string(),
  redirectHost: z.string(),
  resource: z.string(),
  scopes: z.array(z.string()),
  at: z.number(),
  /** Hash of what the client said of itself. */
  client: z.string(),
});
const entries = z.object({ entries: z.array(entry) });

type Entry = z.infer<typeof entry>;

/** Seconds. After a year a user has forgotten what they allowed. */
const lifetime = 365 * 24 * 60 * 60;

/** Of one account. The oldest make room. */
const maxEntries = 200;

/** An answer that meets others at the same moment is written again. */
const maxTries = 20;

const kind = 'Consents';
const withdrawalKind = 'Withdrawal';

export interface ConsentParts {
  readonly storage: Storage;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Seconds that a refresh token lives. */
  readonly refreshToken: number;
}

export class Consents {
  readonly #parts: ConsentParts;

  constructor(parts: ConsentParts) {
    this.#parts = parts;
  }

  /** True if the user need not be asked. */
  async covers(account: string, asked: AskedConsent): Promise<boolean> {
    const known = (await this.#entries(account)).filter((each) => this.#isValid(each, asked));
    return (
      known.length > 0 && asked.scopes.every((scope) => known.some(({ scopes }) => scopes.includes(scope)))
    );
  }

  async remember(account: string, asked: AskedConsent): Promise<void> {
    if (isLocal(asked.redirectUri)) return;
    const { clientId, redirectUri, resource } = asked;
    const scopes = [...asked.scopes];
    const redirectHost = new URL(redirectUri).host;
    const added = {
      clientId,
      redirectHost,
      resource,
      scopes,
      at: this.#seconds(),
      client: fingerprintOf(asked),
    };
    await this.#change(account, (known) => {
      const kept = known.filter((each) => {
        const hasMore = each.scopes.some((scope) => !scopes.includes(scope));
        return !isSamePlace(each, asked) || (hasMore && this.#isValid(each, asked));
      });
      return [...kept, added].slice(-maxEntries);
    });
  }

  /** After the user denied. */
  async forget(account: string, asked: AskedConsent): Promise<void> {
    const known = await this.#entries(account);
    if (known.some((each) => isSamePlace(each, asked)))
      await this.#change(account, (all) => all.filter((each) => !isSamePlace(each, asked)));
  }

  async list(account: string): Promise<readonly Consent[]> {
    return (await this.#entries(account)).map(({ client: _client, ...consent }) => consent);
  }

  /** Also ends what the client got by this account's earlier answers, whatever they were for. */
  async withdraw(account: string, clientId: string): Promise<void> {
    const at = this.#seconds();
    // A refresh token that isn't used for so long has ended by itself.
    const expiresAt = at + this.#parts.refreshToken + 1;
    await this.#parts.storage.put(withdrawalKind, withdrawalId(account, clientId), {
      payload: { at },
      expiresAt,
    });
    await this.#change(account, (known) => known.filter((each) => each.clientId !== clientId));
  }

  /** `issuedAt`: seconds since 1970. */
  async isWithdrawn(account: string, clientId: string, issuedAt: number): Promise<boolean> {
    const found = await this.#parts.storage.get(withdrawalKind, withdrawalId(account, clientId));
    return found !== undefined && Number(found.payload['at']) >= issuedAt;
  }

  async #entries(account: string): Promise<readonly Entry[]> {
    const item = await this.#parts.storage.get(kind, account);
    return item ? entries.parse(item.payload).entries : [];
  }

  async #change(account: string, change: (known: readonly Entry[]) => Entry[]): Promise<void> {
    const { storage } = this.#parts;
    for (let tries = 0; tries < maxTries; tries += 1) {
      const item = await storage.get(kind, account);
      const payload = { entries: change(item ? entries.parse(item.payload).entries : []) };
      const isDone = item
        ? await storage.replace(kind, account, item.payload, payload)
        : await storage.add(kind, account, { payload });
      if (isDone) return;
    }
    throw new KeyturnError('conflict', 'Too many answers of one account at the same moment.');
  }

  #isValid(known: Entry, asked: AskedConsent): boolean {
    const isYoung = known.at >= this.#seconds() - lifetime;
    return isYoung && isSamePlace(known, asked) && known.client === fingerprintOf(asked);
  }

  #seconds(): number {
    return Math.floor(this.#parts.now() / 1000);
  }
}

function isSamePlace(known: Entry, asked: AskedConsent): boolean {
  return (
    known.clientId === asked.clientId &&
    known.redirectHost === new URL(asked.redirectUri).host &&
    known.resource === asked.resource
  );
}

/** Another name or another redirect makes it another app. */
function fingerprintOf({ clientName = '', redirectUris }: AskedConsent): string {
  return createHash('sha256')
    .update(JSON.stringify([clientName, redirectUris.toSorted()]))
    .digest('base64url');
}

const withdrawalId = (account: string, clientId: string): string => JSON.stringify([account, clientId]);
