/**
 * How long the registration of a client is kept that nobody entered.
 *
 * Invariant: anybody may register, so each registration has an end. One that leads to tokens is kept from one use to the
 * next, and one that never does is gone a day after its last change, with the token that manages it.
 */
import type { Storage } from '../../storage/storage.ts';

/** The provider's names for a registration, and for the token that manages it (RFC 7592). */
const clientKind = 'Client';
const managementKind = 'RegistrationAccessToken';

/** Seconds for the first token: a user may find the page of a sign-in the next morning. */
const unused = 24 * 60 * 60;

/** Seconds after the last token. A client that comes back later registers again. */
const kept = 365 * 24 * 60 * 60;

/** Seconds: a use changes the storage once in so many. */
const step = 24 * 60 * 60;

/**
 * When what is written of this client ends, in seconds since 1970 as `now` is; undefined for the other kinds, which
 * bring their own end. A change of a registration brings no earlier end.
 */
export async function registrationEnd(
  storage: Storage,
  { kind, clientId }: { readonly kind: string; readonly clientId: string },
  now: number,
): Promise<number | undefined> {
  if (kind !== clientKind && kind !== managementKind) return undefined;
  return Math.max(now + unused, (await storage.get(clientKind, clientId))?.expiresAt ?? 0);
}

/** The second name of an item: by it a use of the client finds the token that manages it. */
export function managedClient(kind: string, clientId: string | undefined): string | undefined {
  return kind === managementKind ? clientId : undefined;
}

/** A registered client got a token. `now` in seconds since 1970. */
export async function clientUsed(storage: Storage, clientId: string, now: number): Promise<void> {
  const item = await storage.get(clientKind, clientId);
  // A client that the operator entered isn't there.
  if (!item || (item.expiresAt ?? 0) > now + kept - step) return;
  await storage.extend(clientKind, clientId, now + kept);
  const management = await storage.getByUid(managementKind, clientId);
  if (management) await storage.extend(managementKind, management.id, now + kept);
}
