/**
 * Our clients at issuers, entered by hand or registered automatically: what there is, and its end,
 * by removal or by another that takes its place.
 *
 * Invariant: no answer holds a secret. None is removed while a sign-in needs it: only the client that a refresh token
 * was issued to may use it (RFC 6749 §6) or revoke it (RFC 7009 §2.1).
 */
import { firstEndpoint, isLiving, type SignIn } from '../../broker/records/sign-in.ts';
import type { BrokerParts } from '../../broker/parts.ts';
import type { RegistrationRecord } from '../../broker/records/registrations.ts';
import { isPending, revokeEarlier } from '../../broker/revocation/revoker.ts';
import { KeyturnError, quoted, shellWord } from '../../base/errors.ts';
import type { ParamsOf, ResultOf } from '../../ipc/protocol/methods.ts';
import { maxLength } from '../../ipc/wire/limits.ts';

type OAuthClient = ResultOf<'oauthClient.list'>['oauthClients'][number];

/** Sign-ins named in a refusal; a user revokes a few by hand, and the rest is counted. */
const maxNamed = 5;

/** Verified or not: to list, never to act upon. */
export function registeredAnswers({
  registrations,
  servers,
  signIns,
}: Pick<BrokerParts, 'registrations' | 'servers' | 'signIns'>): OAuthClient[] {
  const all = signIns.shown();
  const living = all.filter(isLiving);
  return registrations.shown().map((record) => {
    const state = registrations.standing(record, servers.timeAt(record.registration.issuer));
    const isUnused = state === 'rejected' && !living.some((one) => one.registrationId === record.id);
    const isNeeded = all.some((one) => one.registrationId === record.id && needsClient(one));
    if (state === 'replaced' && isNeeded) return answer(record);
    return { ...answer(record), state: isUnused ? 'replaced' : state };
  });
}

function answer(record: RegistrationRecord): OAuthClient {
  const { issuer, source, tokenEndpointAuthMethod, redirectUri, registeredAt } = record.registration;
  return {
    issuer,
    clientId: clientIdOf(record),
    source,
    authMethod: tokenEndpointAuthMethod,
    ...(record.grantType === undefined ? { redirectUri } : { grantType: record.grantType }),
    registeredAt: Math.floor(registeredAt / 1000),
  };
}

/** As it is listed and named: an issuer may give one of any length, which must not spoil the whole list. */
const clientIdOf = ({ registration }: RegistrationRecord): string =>
  registration.clientId.slice(0, maxLength.url);

/** Throws `not_found`, `conflict` while sign-ins need it, and what the vault throws. */
export async function removeRegistered(
  parts: BrokerParts,
  { issuer, clientId }: ParamsOf<'oauthClient.remove'>,
): Promise<void> {
  const { registrations, audit, approvalRequests } = parts;
  const records = registrations
    .all()
    .filter((record) => record.registration.issuer === issuer && clientIdOf(record) === clientId);
  if (records.length === 0)
    throw new KeyturnError('not_found', `No client ${quoted(clientId)} is known at ${quoted(issuer)}.`, {
      hint: '`keyturn oauth-client list` shows the clients there are.',
    });
  const next = 'then remove the client';
  refuseNeeded(parts.signIns, records, next);
  await revokeEarlierOf(parts, records, next);
  for (const record of records) {
    await registrations.remove(record);
    // Its pages are of no use any more: the next sign-in opens another one.
    for (const { id, question } of approvalRequests.list())
      if (question.kind === 'signIn' && question.registrationId === record.id)
        approvalRequests.answer(id, 'deny');
  }
  await audit.record({ event: 'oauthClient', outcome: 'removed', issuer });
}

/** Throws `conflict` while sign-ins need any of these; `next`: what the user can do once they don't. */
export function refuseNeeded(
  signIns: BrokerParts['signIns'],
  records: readonly RegistrationRecord[],
  next: string,
): void {
  refuseIf(signIns, records, {
    next,
    isNeeding: (signIn, id) => signIn.registrationId === id && needsClient(signIn),
  });
}

/** Revokes the tokens of earlier sign-ins that only these clients can revoke. Throws `conflict` while some are left. */
export async function revokeEarlierOf(
  parts: BrokerParts,
  records: readonly RegistrationRecord[],
  next: string,
): Promise<void> {
  const isNeeding = ({ earlier = [] }: SignIn, id: string): boolean =>
    earlier.some(({ registrationId }) => registrationId === id);
  for (const { id } of records)
    for (const signIn of parts.signIns.all().filter((one) => isLiving(one) && isNeeding(one, id)))
      await revokeEarlier(parts, signIn, (all) => all.filter(({ registrationId }) => registrationId === id));
  refuseIf(parts.signIns, records, { next, isNeeding });
}

function refuseIf(
  signIns: BrokerParts['signIns'],
  records: readonly RegistrationRecord[],
  { next, isNeeding }: { readonly next: string; readonly isNeeding: (signIn: SignIn, id: string) => boolean },
): void {
  for (const record of records) {
    const needing = signIns.all().filter((signIn) => isNeeding(signIn, record.id));
    if (needing.length > 0) throw stillNeeded(record, needing, next);
  }
}

/** It is active; or it has ended here, and the issuer has still to be told. */
const needsClient = (signIn: SignIn): boolean => signIn.state.kind === 'active' || isPending(signIn);

function stillNeeded(record: RegistrationRecord, signIns: readonly SignIn[], next: string): KeyturnError {
  const { issuer } = record.registration;
  const names = signIns.slice(0, maxNamed).map(nameOf);
  const rest = signIns.length - names.length;
  const list = [...names, ...(rest > 0 ? [`${rest} more`] : [])].join(', ');
  const first = signIns.find((signIn) => !isPending(signIn));
  return new KeyturnError(
    'conflict',
    `The client ${quoted(clientIdOf(record))} at ${quoted(issuer)} is still needed by: ${list}.`,
    {
      rule: 'RFC 6749 §6, RFC 7009 §2.1: only the client that a refresh token was issued to may use or revoke it',
      hint: first
        ? `Revoke them first, e.g. keyturn logout ${shellWord(first.id)}; ${next}.`
        : 'They have ended here, but their authorization server is not reached yet: `keyturn sign-in list` shows the next try.',
    },
  );
}

function nameOf(signIn: SignIn): string {
  const how = isPending(signIn)
    ? 'ended; its authorization server is not reached yet'
    : quoted(signIn.account);
  return `${quoted(firstEndpoint(signIn))} (${how})`;
}
