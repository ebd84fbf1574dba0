/**
 * What a sign-in needs before its page opens: our client at the issuer, and a listener on its redirect URI.
 *
 * Invariant: the listener is open before its URI is registered, so that no registration names a port that another
 * program has. On any failure it is closed again. Every dynamic registration gets a path of its own (RFC 9700 §4.4.2);
 * `mix-up.ts` knows the redirect URIs that share a path.
 */
import type { BrokerParts } from '../parts.ts';
import { reasonOf } from '../../base/errors.ts';
import type { AuthorizationServer } from '../../oauth/discovery/authorization-server.ts';
import type { Http } from '../../oauth/base/http.ts';
import { documentPort, spareDocumentPort } from '../loopback/port-listener.ts';
import { sharedPath } from '../loopback/loopback.ts';
import type { RegistrationRecord } from '../records/registrations.ts';
import type { Redirect } from './new-client.ts';
import type { WantedClient, Identity } from './known-client.ts';
import { registeredNow, registered, listenFor, unlessTaken } from './new-client.ts';
import { chooseIdentity, coversScope, knownAs, mayBeUsed, servesDevice } from './known-client.ts';

interface UnusableClient {
  readonly record: RegistrationRecord;
  readonly isFresh?: boolean;
}

/** Of our client ID metadata document. MCP, Communication Security: all are localhost URLs. */
export const documentRedirectUris = [
  `http://127.0.0.1:${documentPort}${sharedPath}`,
  `http://localhost:${documentPort}${sharedPath}`,
  // For servers that compare the port too, where another program holds the first one.
  `http://127.0.0.1:${spareDocumentPort}${sharedPath}`,
  // RFC 8252 §7.3: servers that compare loopback URIs without their port take any port of these.
  `http://127.0.0.1${sharedPath}`,
  `http://localhost${sharedPath}`,
] as const;

/**
 * A registration and a listener on its port; registers where there is none, or again where the port of
 * one of ours is taken. `refused`: another one is needed instead of it.
 * Throws `redirect_port_taken` for one that the user entered, and what registering throws.
 */
export async function prepareRedirect(
  parts: BrokerParts,
  server: AuthorizationServer,
  http: Http,
  wanted: WantedClient,
  refused?: UnusableClient,
): Promise<Redirect> {
  if (refused) {
    // Fresh: the user wants a client that was never used.
    return refused.isFresh
      ? registeredNow(parts, server, http, wanted)
      : ((await successor(parts, server, wanted, refused)) ?? registered(parts, server, http, wanted));
  }
  // The client is chosen only now: while the sign-in waited for its page, another one may have registered a client.
  const { documentUrl, existing } = chooseIdentity(parts, server);
  if (documentUrl !== undefined) return fromDocument(parts, server, documentUrl);
  if (!existing) return registered(parts, server, http, wanted);
  const { source } = existing.registration;
  const lacksScope = !coversScope(existing, wanted);
  const replacement =
    source === 'dynamic' && (lacksScope || parts.registrations.unanswered.has(existing.id))
      ? await replaced(parts, server, http, wanted, lacksScope)
      : undefined;
  if (replacement) return replacement;
  if (source === 'preregistered') return listenFor(parts, existing);
  const usual = await unlessTaken(listenFor(parts, existing));
  if (usual) return usual;
  if (source === 'metadata_document') return onAnotherPort(parts, existing);
  // The old registration stays while sign-ins use it: their refresh tokens belong to it.
  return registered(parts, server, http, wanted);
}

/**
 * A registration that replaces one that the server may have forgotten, or (`needsScope`) one without the requested
 * scopes. Undefined if the server registers none: the existing one is used then.
 */
async function replaced(
  parts: BrokerParts,
  server: AuthorizationServer,
  http: Http,
  wanted: WantedClient,
  needsScope: boolean,
): Promise<Redirect | undefined> {
  if (server.registrationEndpoint === undefined) return undefined;
  try {
    return await registered(parts, server, http, { ...wanted, needsScope });
  } catch (error) {
    const reason = reasonOf(error);
    if (reason === 'registration_failed' || reason === 'authorization_server_unreachable') return undefined;
    throw error;
  }
}

/** For a sign-in that needs no listener. `refused`: another one is needed. Throws what registering throws. */
export async function prepareIdentity(
  parts: BrokerParts,
  server: AuthorizationServer,
  http: Http,
  wanted: WantedClient,
  refused?: UnusableClient,
): Promise<Identity> {
  const existing = knownAs(parts, server);
  if (!refused && existing && mayBeUsed(existing, wanted)) return { record: existing, isNew: false };
  if (existing && !refused) {
    const isForPagesOnly = !servesDevice(existing, wanted);
    const better = isForPagesOnly
      ? await registered(parts, server, http, wanted)
      : await replaced(parts, server, http, wanted, true);
    return better ? withoutListener(better) : { record: existing, isNew: false };
  }
  return withoutListener(await prepareRedirect(parts, server, http, wanted, refused));
}

async function withoutListener({ receiver, record, isNew }: Redirect): Promise<Identity> {
  await receiver.close();
  return { record, isNew };
}

/** The URL is the identity everywhere; what we record of it is only which port we use with it. */
async function fromDocument(parts: BrokerParts, server: AuthorizationServer, url: string): Promise<Redirect> {
  const registration = {
    issuer: server.issuer,
    clientId: url,
    source: 'metadata_document',
    tokenEndpointAuthMethod: 'none',
    redirectUri: documentRedirectUris[0],
    registeredAt: parts.clock.wall(),
  } as const;
  const record = await parts.registrations.add(registration, undefined);
  await parts.audit.record({ event: 'oauthClient', outcome: registration.source, issuer: server.issuer });
  return (await unlessTaken(listenFor(parts, record))) ?? onAnotherPort(parts, record);
}

/** The other port of our document; else, by RFC 8252 §7.3, any: the server MUST allow it at the time of the request. */
async function onAnotherPort({ loopback }: BrokerParts, record: RegistrationRecord): Promise<Redirect> {
  const spare = new URL(record.registration.redirectUri);
  spare.port = String(spareDocumentPort);
  const onSpare = await unlessTaken(loopback.open(spare.href));
  return { receiver: onSpare ?? (await loopback.openAnywhere(spare.pathname)), record, isNew: false };
}

/** The client by which another sign-in has replaced this one meanwhile. */
async function successor(
  parts: BrokerParts,
  server: AuthorizationServer,
  wanted: WantedClient,
  { record }: UnusableClient,
): Promise<Redirect | undefined> {
  const current = knownAs(parts, server);
  if (!current || !mayBeUsed(current, wanted)) return undefined;
  // The newer ones are behind the older ones.
  const ids = parts.registrations.all().map(({ id }) => id);
  if (ids.indexOf(current.id) <= ids.indexOf(record.id)) return undefined;
  return unlessTaken(listenFor(parts, current));
}
