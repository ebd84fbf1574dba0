/**
 * When default endpoints may be used. They are guessed from the MCP server's URL.
 *
 * Invariant: if metadata is missing only for a moment, a guessed endpoint gets no user, no client that was entered
 * for the issuer, and no client secret.
 */
import type { BrokerParts } from '../parts.ts';
import { quoted, RuleRefusal, shellOption, shellWord } from '../../base/errors.ts';
import type { Registration } from '../../oauth/client/registration.ts';
import { metadataGone } from '../tokens/authorization-servers.ts';
import { isLiving } from '../records/sign-in.ts';

/** Metadata that is gone for a moment must send no user and no entered client to guessed endpoints. */
export function mayUseDefaults(parts: BrokerParts, issuer: string): boolean {
  const hasEntered = parts.registrations
    .all()
    .some(({ registration }) => registration.issuer === issuer && registration.source === 'preregistered');
  return !hasEntered && !wasByMetadata(parts, issuer);
}

/** True if a sign-in of this issuer came by its metadata, at any endpoint. */
function wasByMetadata({ signIns }: BrokerParts, issuer: string): boolean {
  return signIns
    .all()
    .filter(isLiving)
    .some(
      ({ issuer: own, server }) =>
        [own, server?.identifier].includes(issuer) &&
        // Older records don't say where metadata was found: their sign-ins used metadata.
        (server === undefined || server.revision === 'current' || server.isByMetadata === true),
    );
}

/** No guessed endpoint gets the secret of an entered client, unless a sign-in shows that it is used there. */
export function refuseGuess(parts: BrokerParts, issuer: string): void {
  if (wasByMetadata(parts, issuer)) throw metadataGone(issuer);
  const { signIns, registrations } = parts;
  const isUsed = (id: string): boolean =>
    signIns.all().some((signIn) => isLiving(signIn) && signIn.registrationId === id);
  const entered = registrations.all().find(({ id, registration, secret }) => {
    const { source, tokenEndpointAuthMethod: method } = registration;
    // A private key never leaves: its assertion is for this issuer.
    const wouldSend = source === 'preregistered' && secret !== undefined && method !== 'private_key_jwt';
    return registration.issuer === issuer && wouldSend && !isUsed(id);
  });
  if (entered) throw secretWithoutPlace(entered.registration);
}

function secretWithoutPlace({ issuer, clientId }: Registration): RuleRefusal {
  return new RuleRefusal(
    'metadata_invalid',
    `${quoted(issuer)} publishes no authorization server metadata, so that nothing says where the secret of the client ${quoted(clientId)} may go.`,
    {
      rule: 'A client secret goes to the token endpoint of its issuer only; default endpoints are guessed',
      hint: `Try again later: the metadata may be gone for a moment. If this issuer publishes none and takes the client without a secret: keyturn oauth-client add ${shellWord(issuer)} ${shellOption('client-id', clientId)}`,
    },
  );
}
