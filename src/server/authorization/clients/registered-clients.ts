/**
 * How long the registration of a client is kept that nobody entered.
 *
 * Invariant: anybody may register, so each registration has an end. One that leads to tokens is kept from one use to the
 * next, and one that never does is gone after a day.
 */
import type { Storage } from '../../storage/storage.ts';

/** The provider's names for a registration, and for the token that manages it (RFC 7592). */
const clientKind = 'Client';
const managementKind = 'RegistrationAccessToken';

/** Seconds for the first token: a person may find the page of a sign-in the next morning. */
const unused = 24 * 60 * 60;

/** Seconds after the last token. A client that comes back later registers anew. */
const kept = 365 * 24 * 60 * 60;

/** Seconds: a use changes the storage once in so many. */
const step = 24 * 60 * 60;

/** Seconds until an item of this kind ends; undefined for the other kinds, which bring their own end. */
export function registrationLifetime(kind: string): number | undefined {
  if (kind === clientKind) return unused;
  return kind === managementKind ? kept : undefined;
}

/** A registered client got a token. `now` in seconds since the epoch. */
export async function clientUsed(storage: Storage, clientId: string, now: number): Promise<void> {
  const item = await storage.get(clientKind, clientId);
  // A client that the operator entered isn't there.
  if (!item || (item.expiresAt ?? 0) > now + kept - step) return;
  await storage.extend(clientKind, clientId, now + kept);
}
