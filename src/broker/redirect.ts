/**
 * What a sign-in needs before its page: our identity at the issuer, and a listener on its redirect URI.
 *
 * Invariant: the listener stands before its URI is registered, so that no registration names a port
 * that somebody else holds; on any failure it is closed again.
 */
import { reasonOf } from '../errors.ts';
import type { AuthorizationServer } from '../oauth/authorization-server.ts';
import type { Http } from '../oauth/http.ts';
import { registerDynamically } from '../oauth/registration.ts';
import type { Audit } from './audit.ts';
import type { Clock } from './clock.ts';
import type { Loopback, Receiver } from './loopback.ts';
import type { RegistrationRecord, Registrations } from './registrations.ts';

export interface RedirectParts {
  readonly http: Http;
  readonly clock: Clock;
  readonly registrations: Registrations;
  readonly loopback: Loopback;
  readonly audit: Audit;
}

/** The name that consent pages show. */
const clientName = 'Keyturn';

/**
 * A registration and a listener on its port; registers where there is none, or anew where the port of
 * one of ours is taken. Throws `redirect_port_taken` for one that the user entered, and what
 * registering throws.
 */
export async function prepareRedirect(
  parts: RedirectParts,
  server: AuthorizationServer,
): Promise<{ receiver: Receiver; record: RegistrationRecord }> {
  const existing = parts.registrations.for(server.issuer, parts.clock.now());
  if (existing) {
    try {
      return { receiver: await parts.loopback.open(existing.registration.redirectUri), record: existing };
    } catch (error) {
      const isOurs = existing.registration.source === 'dynamic';
      // The old registration stays while grants use it: their refresh tokens belong to it.
      if (!isOurs || reasonOf(error) !== 'redirect_port_taken') throw error;
    }
  }
  const receiver = await parts.loopback.open();
  try {
    return { receiver, record: await register(parts, server, receiver.redirectUri) };
  } catch (error) {
    await receiver.close();
    throw error;
  }
}

async function register(
  parts: RedirectParts,
  server: AuthorizationServer,
  redirectUri: string,
): Promise<RegistrationRecord> {
  const { registration, clientSecret } = await registerDynamically(
    server,
    { redirectUris: [redirectUri], clientName },
    parts.http,
  );
  await parts.audit.record({ event: 'registration', outcome: registration.source, issuer: server.issuer });
  return parts.registrations.add(registration, clientSecret);
}
