/**
 * What a sign-in needs before its page: our identity at the issuer, and a listener on its redirect URI.
 *
 * Invariant: the listener stands before its URI is registered, so that no registration names a port
 * that somebody else holds; on any failure it is closed again. Every dynamic registration gets a path
 * of its own (RFC 9700 §4.4.2); what shares its path is known to `mix-up.ts`.
 */
import { reasonOf } from '../errors.ts';
import { deviceGrant } from '../oauth/authorization-server.ts';
import type { AuthorizationServer } from '../oauth/authorization-server.ts';
import { registrationFromMetadataUrl } from '../oauth/client-metadata.ts';
import type { Http } from '../oauth/http.ts';
import { chooseRegistration, registerDynamically } from '../oauth/registration.ts';
import type { DynamicRegistration, RegistrationChoice } from '../oauth/registration.ts';
import { isWithin } from '../oauth/scope.ts';
import type { Audit } from './audit.ts';
import type { AuthorizationServers } from './authorization-servers.ts';
import type { Clock } from './clock.ts';
import { documentPort } from './loopback-doors.ts';
import { sharedPath } from './loopback.ts';
import type { Loopback, Receiver } from './loopback.ts';
import { documentElsewhere, documentShared, hasOwnPath } from './mix-up.ts';
import type { RegistrationRecord, Registrations } from './registrations.ts';

export interface RedirectParts {
  readonly clock: Clock;
  readonly registrations: Registrations;
  readonly servers: AuthorizationServers;
  readonly loopback: Loopback;
  readonly audit: Audit;
  readonly clientMetadataUrl: string | undefined;
}

export interface Redirect {
  readonly receiver: Receiver;
  readonly record: RegistrationRecord;
}

/** What a client is registered for. */
export interface Wanted extends Pick<DynamicRegistration, 'scope' | 'isDevice'> {
  /** Of `scope`, what this sign-in asks for. */
  readonly now?: readonly string[];
}

/** The name that consent pages show. */
const clientName = 'Keyturn';

/** The redirect URIs that a client ID metadata document of ours lists. */
export const documentRedirectUris = [
  `http://127.0.0.1:${documentPort}${sharedPath}`,
  `http://localhost:${documentPort}${sharedPath}`,
  // RFC 8252 §7.3: servers that compare loopback URIs without their port take any port of these.
  `http://127.0.0.1${sharedPath}`,
  `http://localhost${sharedPath}`,
] as const;

type Known = Pick<RedirectParts, 'servers' | 'registrations' | 'clientMetadataUrl'>;

/** How we would be known at this server (spec, Client registration). Throws `registration_required`. */
export function canRegister(parts: Known, server: AuthorizationServer): RegistrationChoice {
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
function knownAs(
  { registrations, servers, clientMetadataUrl }: Known,
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
 * one of ours is taken, or where it has no path of its own. Throws `redirect_port_taken` for one that the
 * user entered, and what registering throws.
 */
export async function prepareRedirect(
  parts: RedirectParts,
  server: AuthorizationServer,
  http: Http,
  wanted: Wanted,
): Promise<Redirect> {
  const choice = canRegister(parts, server);
  if (choice.mechanism === 'metadata_document') return fromDocument(parts, server, choice.clientId);
  const existing = knownAs(parts, server);
  if (!existing) return registered(parts, server, http, wanted);
  const { source } = existing.registration;
  const replacement =
    source === 'dynamic' && !(hasOwnPath(existing) && coversScope(existing, wanted))
      ? await replaced(parts, server, http, wanted)
      : undefined;
  if (replacement) return replacement;
  try {
    return { receiver: await parts.loopback.open(existing.registration.redirectUri), record: existing };
  } catch (error) {
    // The old registration stays while grants use it: their refresh tokens belong to it.
    if (source === 'preregistered' || reasonOf(error) !== 'redirect_port_taken') throw error;
    if (source === 'metadata_document') return onAnyPort(parts, existing);
    return registered(parts, server, http, wanted);
  }
}

/**
 * A registration in place of one without a path of its own, or without the scopes that are asked for. Undefined where the server
 * registers nobody any more: the older one is used then, and `mix-up.ts` says when its answer needs `iss`.
 */
async function replaced(
  parts: RedirectParts,
  server: AuthorizationServer,
  http: Http,
  wanted: Wanted,
): Promise<Redirect | undefined> {
  if (server.registrationEndpoint === undefined) return undefined;
  try {
    return await registered(parts, server, http, wanted);
  } catch (error) {
    const reason = reasonOf(error);
    if (reason === 'registration_failed' || reason === 'authorization_server_unreachable') return undefined;
    throw error;
  }
}

/** Our identity for a sign-in that needs no listener: one whose port is taken serves as well. Throws what registering throws. */
export async function prepareIdentity(
  parts: RedirectParts,
  server: AuthorizationServer,
  http: Http,
  wanted: Wanted,
): Promise<RegistrationRecord> {
  const existing = knownAs(parts, server);
  if (existing && mayBeUsed(existing, wanted)) return existing;
  if (existing) return withoutListener(await registered(parts, server, http, wanted));
  return withoutListener(await prepareRedirect(parts, server, http, wanted));
}

async function withoutListener({ receiver, record }: Redirect): Promise<RegistrationRecord> {
  await receiver.close();
  return record;
}

/** A server may refuse a client the scopes that it did not register. */
function coversScope({ registration: { scope } }: RegistrationRecord, { now = [] }: Wanted): boolean {
  return scope === undefined || isWithin(now, scope);
}

/** A registration of ours that a page was enough for doesn't serve for another device. */
function mayBeUsed(existing: RegistrationRecord, wanted: Wanted): boolean {
  const { source, grantTypes } = existing.registration;
  if (source === 'dynamic' && !coversScope(existing, wanted)) return false;
  return !wanted.isDevice || grantTypes === undefined || grantTypes.includes(deviceGrant);
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
  try {
    return { receiver: await parts.loopback.open(registration.redirectUri), record };
  } catch (error) {
    if (reasonOf(error) !== 'redirect_port_taken') throw error;
    return onAnyPort(parts, record);
  }
}

/** RFC 8252 §7.3: the server MUST allow any port at the time of the request. */
async function onAnyPort(parts: RedirectParts, record: RegistrationRecord): Promise<Redirect> {
  const { pathname } = new URL(record.registration.redirectUri);
  return { receiver: await parts.loopback.openAnywhere(pathname), record };
}

async function registered(
  parts: RedirectParts,
  server: AuthorizationServer,
  http: Http,
  wanted: Wanted,
): Promise<Redirect> {
  const receiver = await parts.loopback.open();
  try {
    const record = await register(parts, server, receiver.redirectUri, http, wanted);
    const { redirectUri } = record.registration;
    if (redirectUri === receiver.redirectUri) return { receiver, record };
    // The server wanted it written with `localhost`: the same port, under the other name.
    const named = await parts.loopback.open(redirectUri);
    await receiver.close();
    return { receiver: named, record };
  } catch (error) {
    await receiver.close();
    throw error;
  }
}

async function register(
  parts: RedirectParts,
  server: AuthorizationServer,
  redirectUri: string,
  http: Http,
  wanted: Wanted,
): Promise<RegistrationRecord> {
  // Some servers know loopback only by one of its names.
  const redirectUris = [redirectUri, redirectUri.replace('127.0.0.1', 'localhost')] as const;
  const { now: _now, ...request } = wanted;
  const { registration, clientSecret } = await registerDynamically(
    server,
    { redirectUris, clientName, ...request },
    http,
  );
  await parts.audit.record({ event: 'registration', outcome: registration.source, issuer: server.issuer });
  return parts.registrations.add(registration, clientSecret);
}
