/**
 * What a sign-in needs before its page: our identity at the issuer, and a listener on its redirect URI.
 *
 * Invariant: the listener stands before its URI is registered, so that no registration names a port
 * that somebody else holds; on any failure it is closed again. Every dynamic registration gets a path
 * of its own (RFC 9700 §4.4.2); what shares its path is known to `mix-up.ts`.
 */
import { reasonOf } from '../../base/errors.ts';
import { deviceGrant } from '../../oauth/discovery/authorization-server.ts';
import type { AuthorizationServer } from '../../oauth/discovery/authorization-server.ts';
import { registrationFromMetadataUrl } from '../../oauth/client/client-metadata.ts';
import type { Http } from '../../oauth/base/http.ts';
import { chooseRegistration, registerDynamically } from '../../oauth/client/registration.ts';
import type { DynamicRegistration, RegistrationChoice } from '../../oauth/client/registration.ts';
import { isWithin } from '../../oauth/base/scope.ts';
import type { Audit } from '../../audit/audit.ts';
import type { AuthorizationServers } from '../tokens/authorization-servers.ts';
import type { Clock } from '../../base/clock.ts';
import { documentPort, spareDocumentPort } from '../loopback/port-listener.ts';
import { sharedPath } from '../loopback/loopback.ts';
import type { Loopback, Receiver } from '../loopback/loopback.ts';
import { documentElsewhere, documentShared, hasOwnPath } from './mix-up.ts';
import type { RegistrationRecord, Registrations } from '../records/registrations.ts';
import type { ServerRests } from '../refusals/server-rests.ts';

export interface RedirectParts {
  readonly clock: Clock;
  readonly registrations: Registrations;
  readonly servers: AuthorizationServers;
  readonly rests: ServerRests;
  readonly loopback: Loopback;
  readonly audit: Audit;
  readonly clientMetadataUrl: string | undefined;
}

/** Our identity for one sign-in. */
export interface Identity {
  readonly record: RegistrationRecord;
  /** Registered for this very sign-in. */
  readonly isNew: boolean;
}

export interface Redirect extends Identity {
  readonly receiver: Receiver;
}

/** What a client is registered for. */
export interface WantedClient extends Pick<DynamicRegistration, 'scope' | 'needsScope' | 'isDevice'> {
  /** Of `scope`, what this sign-in asks for. */
  readonly now?: readonly string[];
  readonly isByPerson: boolean;
}

/** A client that another one is needed in place of. */
interface Unusable {
  readonly record: RegistrationRecord;
  readonly isFresh?: boolean;
}

/** The name that consent pages show. */
const clientName = 'Keyturn';

/** The redirect URIs that a client ID metadata document of ours lists. */
export const documentRedirectUris = [
  `http://127.0.0.1:${documentPort}${sharedPath}`,
  `http://localhost:${documentPort}${sharedPath}`,
  // For servers that compare the port too, where another program holds the first one.
  `http://127.0.0.1:${spareDocumentPort}${sharedPath}`,
  // RFC 8252 §7.3: servers that compare loopback URIs without their port take any port of these.
  `http://127.0.0.1${sharedPath}`,
  `http://localhost${sharedPath}`,
] as const;

type IdentityParts = Pick<RedirectParts, 'servers' | 'registrations' | 'clientMetadataUrl'>;

/** How we would be known at this server (spec, Client registration). Throws `registration_required`. */
export function canRegister(parts: IdentityParts, server: AuthorizationServer): RegistrationChoice {
  // RFC 7591 §3.2.1: client_secret_expires_at is the server's own time.
  const now = parts.servers.timeAt(server.issuer);
  const known = knownAs(parts, server)?.registration;
  const { clientMetadataUrl, registrations } = parts;
  const rival = documentElsewhere(registrations.all(), server);
  const isOffered = clientMetadataUrl !== undefined && server.clientIdMetadataDocumentSupported;
  const isLast = known === undefined && server.registrationEndpoint === undefined;
  if (rival !== undefined && isOffered && isLast) throw documentShared(server, rival);
  return chooseRegistration(server, {
    ...(known === undefined
      ? {}
      : { [known.source === 'preregistered' ? 'preregistered' : 'existing']: known }),
    ...(clientMetadataUrl === undefined || rival !== undefined ? {} : { metadataUrl: clientMetadataUrl }),
    now,
  });
}

/**
 * What we have at this issuer. A document at a URL that is no longer the user's isn't ours, and one that is
 * in use at another issuer isn't used where the answer may name no issuer.
 */
export function knownAs(
  { registrations, servers, clientMetadataUrl }: IdentityParts,
  server: AuthorizationServer,
): RegistrationRecord | undefined {
  const record = registrations.for(server.issuer, servers.timeAt(server.issuer));
  const { source, clientId } = record?.registration ?? {};
  if (source !== 'metadata_document') return record;
  const isUsable =
    clientId === clientMetadataUrl && documentElsewhere(registrations.all(), server) === undefined;
  return isUsable ? record : undefined;
}

/**
 * A registration and a listener on its port; registers where there is none, or anew where the port of
 * one of ours is taken, or where it has no path of its own. `refused`: another one is needed in place of it.
 * Throws `redirect_port_taken` for one that the user entered, and what registering throws.
 */
export async function prepareRedirect(
  parts: RedirectParts,
  server: AuthorizationServer,
  http: Http,
  wanted: WantedClient,
  refused?: Unusable,
): Promise<Redirect> {
  if (refused) {
    // Fresh: the person wants a client that was never used.
    return refused.isFresh
      ? registeredNow(parts, server, http, wanted)
      : ((await successor(parts, server, wanted, refused)) ?? registered(parts, server, http, wanted));
  }
  const choice = canRegister(parts, server);
  if (choice.mechanism === 'metadata_document') return fromDocument(parts, server, choice.clientId);
  const existing = knownAs(parts, server);
  if (!existing) return registered(parts, server, http, wanted);
  const { source } = existing.registration;
  const lacksScope = !coversScope(existing, wanted);
  const replacement =
    source === 'dynamic' && (lacksScope || !hasOwnPath(existing))
      ? await replaced(parts, server, http, wanted, lacksScope && hasOwnPath(existing))
      : undefined;
  if (replacement) return replacement;
  if (source === 'preregistered') return listenFor(parts, existing);
  const usual = await unlessTaken(listenFor(parts, existing));
  if (usual) return usual;
  if (source === 'metadata_document') return onAnotherPort(parts, existing);
  // The old registration stays while grants use it: their refresh tokens belong to it.
  return registered(parts, server, http, wanted);
}

/**
 * A registration in place of one without a path of its own, or (`needsScope`) without the scopes that are asked for. Undefined
 * where the server registers none: the older one is used then, and `mix-up.ts` says when its answer needs `iss`.
 */
async function replaced(
  parts: RedirectParts,
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

/**
 * Our identity for a sign-in that needs no listener: one whose port is taken serves as well. `refused`: another one is
 * needed in place of it. Throws what registering throws.
 */
export async function prepareIdentity(
  parts: RedirectParts,
  server: AuthorizationServer,
  http: Http,
  wanted: WantedClient,
  refused?: Unusable,
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

/** A server may refuse a client the scopes that it did not register. */
function coversScope({ registration: { scope } }: RegistrationRecord, { now = [] }: WantedClient): boolean {
  return scope === undefined || isWithin(now, scope);
}

function mayBeUsed(existing: RegistrationRecord, wanted: WantedClient): boolean {
  const isCovered = existing.registration.source !== 'dynamic' || coversScope(existing, wanted);
  return isCovered && servesDevice(existing, wanted);
}

/** A registration of ours that a page was enough for doesn't serve for another device. */
function servesDevice(
  { registration: { grantTypes } }: RegistrationRecord,
  { isDevice }: WantedClient,
): boolean {
  return !isDevice || grantTypes === undefined || grantTypes.includes(deviceGrant);
}

/** The URL is the identity everywhere; what we record of it is only which port we use with it. */
async function fromDocument(
  parts: RedirectParts,
  server: AuthorizationServer,
  url: string,
): Promise<Redirect> {
  const registration = registrationFromMetadataUrl(server, url, documentRedirectUris[0], parts.clock.wall());
  const record = await parts.registrations.add(registration, undefined);
  await parts.audit.record({ event: 'registration', outcome: registration.source, issuer: server.issuer });
  return (await unlessTaken(listenFor(parts, record))) ?? onAnotherPort(parts, record);
}

/** The other port that our document names; else, by RFC 8252 §7.3, any: the server MUST allow it at the time of the request. */
async function onAnotherPort({ loopback }: RedirectParts, record: RegistrationRecord): Promise<Redirect> {
  const spare = new URL(record.registration.redirectUri);
  spare.port = String(spareDocumentPort);
  const onSpare = await unlessTaken(loopback.open(spare.href));
  return { receiver: onSpare ?? (await loopback.openAnywhere(spare.pathname)), record, isNew: false };
}

async function listenFor({ loopback }: RedirectParts, record: RegistrationRecord): Promise<Redirect> {
  return { receiver: await loopback.open(record.registration.redirectUri), record, isNew: false };
}

/** What another sign-in has put in the place of the client meanwhile. */
async function successor(
  parts: RedirectParts,
  server: AuthorizationServer,
  wanted: WantedClient,
  { record }: Unusable,
): Promise<Redirect | undefined> {
  const current = knownAs(parts, server);
  if (!current || !mayBeUsed(current, wanted)) return undefined;
  // The newer ones stand behind the older ones.
  const ids = parts.registrations.all().map(({ id }) => id);
  if (ids.indexOf(current.id) <= ids.indexOf(record.id)) return undefined;
  return unlessTaken(listenFor(parts, current));
}

/** By a registration that an earlier sign-in made and did not finish with, else by a new one. */
async function registered(
  parts: RedirectParts,
  server: AuthorizationServer,
  http: Http,
  wanted: WantedClient,
): Promise<Redirect> {
  return (await onTrial(parts, server, wanted)) ?? registeredNow(parts, server, http, wanted);
}

async function onTrial(
  parts: RedirectParts,
  { issuer }: AuthorizationServer,
  wanted: WantedClient,
): Promise<Redirect | undefined> {
  const record = parts.registrations.onTrial(issuer, parts.servers.timeAt(issuer));
  if (!record || !mayBeUsed(record, wanted)) return undefined;
  return unlessTaken(listenFor(parts, record));
}

async function registeredNow(
  parts: RedirectParts,
  server: AuthorizationServer,
  http: Http,
  wanted: WantedClient,
): Promise<Redirect> {
  const listening: Receiver[] = [];
  try {
    const record = await register(parts, server, redirectForms(parts, listening), http, wanted);
    // On the port that is held here, under the name of the host that the server accepted.
    const receiver = await parts.loopback.open(record.registration.redirectUri);
    return { receiver, record, isNew: true };
  } finally {
    await Promise.all(listening.map((one) => one.close()));
  }
}

/** The redirect URIs to register, each once its port is held: some servers know loopback only by one of its names, or at a port that their operator allows. */
async function* redirectForms({ loopback }: RedirectParts, listening: Receiver[]): AsyncGenerator<string> {
  const any = await loopback.open();
  listening.push(any);
  yield any.redirectUri;
  yield any.redirectUri.replace('127.0.0.1', 'localhost');
  const fixed = await unlessTaken(loopback.openFixed());
  // Then the server's refusal of the other forms is what counts.
  if (!fixed) return;
  listening.push(fixed);
  yield fixed.redirectUri;
}

/** Undefined where another program holds the port. */
async function unlessTaken<T>(opening: Promise<T>): Promise<T | undefined> {
  try {
    return await opening;
  } catch (error) {
    if (reasonOf(error) === 'redirect_port_taken') return undefined;
    throw error;
  }
}

async function register(
  parts: RedirectParts,
  server: AuthorizationServer,
  redirectUris: AsyncIterable<string>,
  http: Http,
  wanted: WantedClient,
): Promise<RegistrationRecord> {
  const { now: _now, isByPerson, ...request } = wanted;
  const asking = { what: `registration ${server.issuer}`, isByPerson };
  const { registration, clientSecret } = await parts.rests.ask(asking, () =>
    registerDynamically(server, { redirectUris, clientName, ...request }, http),
  );
  await parts.audit.record({ event: 'registration', outcome: registration.source, issuer: server.issuer });
  const current = parts.registrations.for(server.issuer, parts.servers.timeAt(server.issuer));
  return parts.registrations.add(registration, clientSecret, current ? { isOnTrial: true } : {});
}
