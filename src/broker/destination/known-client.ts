/**
 * The client that Keyturn has at an authorization server, or how it would get one.
 *
 * Invariant: a metadata document is not used if its URL is no longer that of the setting clientMetadataUrl, nor if another issuer knows us by it
 * and an answer may name no issuer (mix-up.ts).
 */
import type { BrokerParts } from '../parts.ts';
import { isWithin, union } from '../../oauth/base/scope.ts';
import { RegistrationRequired } from '../../oauth/client/registration.ts';
import type { RegistrationRequest } from '../../oauth/client/dynamic-registration.ts';
import { deviceGrant, type AuthorizationServer } from '../../oauth/discovery/authorization-server.ts';
import type { RegistrationRecord } from '../records/registrations.ts';
import { documentElsewhere, documentShared } from './mix-up.ts';

export interface Identity {
  readonly record: RegistrationRecord;
  /** Registered for this very sign-in. */
  readonly isNew: boolean;
}

export interface WantedClient extends Pick<RegistrationRequest, 'scope' | 'needsScope' | 'isDevice'> {
  /** Of `scope`, what this sign-in asks for. */
  readonly now?: readonly string[];
  /** The user started the sign-in, not an app's request. */
  readonly isByUser: boolean;
}

/** Our registration at this issuer, if any. RFC 7591 §3.2.1: the end of its secret is the server's own time. */
export function knownAs(
  { registrations, servers, clientMetadataUrl }: BrokerParts,
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
 * How we would be known at this server. MCP, Client Registration Approaches: as before, then by the document at
 * `documentUrl`, then by a new registration (neither), else the user enters a client. Throws `registration_required`.
 */
export function chooseIdentity(
  parts: BrokerParts,
  server: AuthorizationServer,
): { readonly existing?: RegistrationRecord; readonly documentUrl?: string } {
  const existing = knownAs(parts, server);
  if (existing) return { existing };
  const { clientMetadataUrl, registrations } = parts;
  const canRegister = server.registrationEndpoint !== undefined;
  if (clientMetadataUrl !== undefined && server.clientIdMetadataDocumentSupported) {
    const rival = documentElsewhere(registrations.all(), server);
    if (rival === undefined) return { documentUrl: clientMetadataUrl };
    if (!canRegister) throw documentShared(server, rival);
  }
  if (canRegister) return {};
  throw new RegistrationRequired(server);
}

/** A server may refuse scopes that the client did not register. */
export function coversScope(
  { registration: { scope, refusedScope = [] } }: RegistrationRecord,
  { now = [] }: WantedClient,
): boolean {
  return scope === undefined || isWithin(now, union(scope, refusedScope));
}

export function mayBeUsed(existing: RegistrationRecord, wanted: WantedClient): boolean {
  const isCovered = existing.registration.source !== 'dynamic' || coversScope(existing, wanted);
  return isCovered && servesDevice(existing, wanted);
}

/** Our registration for sign-ins by a page doesn't allow a sign-in on another device. */
export function servesDevice(
  { registration: { grantTypes } }: RegistrationRecord,
  { isDevice }: WantedClient,
): boolean {
  return !isDevice || grantTypes === undefined || grantTypes.includes(deviceGrant);
}
