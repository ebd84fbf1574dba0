/**
 * A new client that Keyturn registers, and the listener on its redirect URI.
 *
 * Invariant: the listener is open before its URI is registered, so that no registration names a port that another
 * program holds. On any failure it is closed again.
 */
import type { BrokerParts } from '../parts.ts';
import { reasonOf } from '../../base/errors.ts';
import type { AuthorizationServer } from '../../oauth/discovery/authorization-server.ts';
import type { Http } from '../../oauth/base/http.ts';
import { registerDynamically } from '../../oauth/client/dynamic-registration.ts';
import type { Receiver } from '../loopback/loopback.ts';
import type { RegistrationRecord } from '../records/registrations.ts';
import { mayBeUsed, type Identity, type WantedClient } from './known-client.ts';

export interface Redirect extends Identity {
  readonly receiver: Receiver;
}

export async function listenFor({ loopback }: BrokerParts, record: RegistrationRecord): Promise<Redirect> {
  return { receiver: await loopback.open(record.registration.redirectUri), record, isNew: false };
}

/** With a registration that an earlier sign-in made and didn't finish, else with a new one. */
export async function registered(
  parts: BrokerParts,
  server: AuthorizationServer,
  http: Http,
  wanted: WantedClient,
): Promise<Redirect> {
  return (await onTrial(parts, server, wanted)) ?? registeredNow(parts, server, http, wanted);
}

async function onTrial(
  parts: BrokerParts,
  { issuer }: AuthorizationServer,
  wanted: WantedClient,
): Promise<Redirect | undefined> {
  const record = parts.registrations.onTrial(issuer, parts.servers.timeAt(issuer));
  if (!record || !mayBeUsed(record, wanted) || parts.registrations.unanswered.has(record.id))
    return undefined;
  return unlessTaken(listenFor(parts, record));
}

export async function registeredNow(
  parts: BrokerParts,
  server: AuthorizationServer,
  http: Http,
  wanted: WantedClient,
): Promise<Redirect> {
  const listening: Receiver[] = [];
  try {
    const record = await register(parts, server, redirectForms(parts, listening), http, wanted);
    // On the port that the listener has, under the host name that the server accepted.
    const receiver = await parts.loopback.open(record.registration.redirectUri);
    return { receiver, record, isNew: true };
  } finally {
    await Promise.all(listening.map((one) => one.close()));
  }
}

/** The redirect URIs to register, each after its listener is open: some servers take only one name or port. */
async function* redirectForms({ loopback }: BrokerParts, listening: Receiver[]): AsyncGenerator<string> {
  const any = await loopback.open();
  listening.push(any);
  yield any.redirectUri;
  yield any.redirectUri.replace('127.0.0.1', 'localhost');
  const fixed = await unlessTaken(loopback.openFixed());
  // Then the server's refusal of the other forms counts.
  if (!fixed) return;
  listening.push(fixed);
  yield fixed.redirectUri;
}

/** Undefined if another program holds the port. */
export async function unlessTaken<T>(opening: Promise<T>): Promise<T | undefined> {
  try {
    return await opening;
  } catch (error) {
    if (reasonOf(error) === 'redirect_port_taken') return undefined;
    throw error;
  }
}

async function register(
  parts: BrokerParts,
  server: AuthorizationServer,
  redirectUris: AsyncIterable<string>,
  http: Http,
  wanted: WantedClient,
): Promise<RegistrationRecord> {
  const { now: _now, isByUser, ...request } = wanted;
  const asking = { what: `registration ${server.issuer}`, isByUser };
  const { registration, clientSecret } = await parts.rests.ask(asking, () =>
    registerDynamically(server, { redirectUris, ...request }, http),
  );
  await parts.audit.record({ event: 'oauthClient', outcome: registration.source, issuer: server.issuer });
  const current = parts.registrations.for(server.issuer, parts.servers.timeAt(server.issuer));
  return parts.registrations.add(registration, clientSecret, current ? { isOnTrial: true } : {});
}
