/**
 * Client information that the user entered: `keyturn register` (spec, Client registration 1 and 4).
 *
 * Invariant: it is bound to the issuer it was entered for, and replaces an earlier entry for it.
 */
import { randomInt } from 'node:crypto';
import type { BrokerParts } from '../broker/parts.ts';
import { redirectPath } from '../broker/loopback.ts';
import { KeyturnError, quoted } from '../errors.ts';
import type { ParamsOf, ResultOf } from '../ipc/protocol.ts';
import { requireSecureUrl } from '../oauth/secure-url.ts';

/** Ports nobody is assigned (RFC 6335 §6): the dynamic range, less the part that Linux hands out by itself. */
const portRange = [49_152, 60_999] as const;

export async function enterRegistration(
  { registrations, audit, clock, http }: BrokerParts,
  params: ParamsOf<'registration.set'>,
): Promise<ResultOf<'registration.set'>> {
  requireSecureUrl(params.issuer, 'the issuer', http);
  const redirectUri =
    checkedRedirect(params.redirectUri) ?? `http://127.0.0.1:${randomInt(...portRange)}${redirectPath}`;
  const earlier = registrations
    .all()
    .filter(({ registration: r }) => r.issuer === params.issuer && r.source === 'preregistered');
  await registrations.add(
    {
      issuer: params.issuer,
      clientId: params.clientId,
      source: 'preregistered',
      tokenEndpointAuthMethod: params.clientSecret === undefined ? 'none' : 'client_secret_basic',
      redirectUri,
      registeredAt: clock.now(),
    },
    params.clientSecret,
  );
  for (const record of earlier) await registrations.remove(record);
  await audit.record({ event: 'registration', outcome: 'entered', issuer: params.issuer });
  return { redirectUri };
}

/** Spec, security requirement 5: a redirect URI is a localhost URL (or HTTPS, which no loopback can serve). */
function checkedRedirect(redirectUri: string | undefined): string | undefined {
  if (redirectUri === undefined) return undefined;
  const url = URL.parse(redirectUri);
  const isLoopback = url?.protocol === 'http:' && ['127.0.0.1', 'localhost', '[::1]'].includes(url.hostname);
  if (isLoopback && url.port !== '' && url.hash === '' && url.search === '') return redirectUri;
  throw new KeyturnError('invalid_request', `${quoted(redirectUri)} can't be a redirect URI here.`, {
    rule: 'RFC 8252 §7.3: a loopback redirect URI with a port',
    hint: 'Give one like http://127.0.0.1:53123/callback, as it is registered at the issuer.',
  });
}
