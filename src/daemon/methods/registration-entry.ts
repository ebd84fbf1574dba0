/**
 * Client information that the user entered: `keyturn oauth-client add` (MCP, Preregistration).
 *
 * Invariants: it is bound to the issuer it was entered for, and replaces an earlier entry for it, unless sign-ins
 * need that one: only the client that a refresh token was issued to may use it. The same client entered again (with
 * another secret, say) keeps its sign-ins.
 */
import path from 'node:path';
import type { BrokerParts } from '../../broker/parts.ts';
import type { RegistrationRecord } from '../../broker/records/registrations.ts';
import { KeyturnError, quoted } from '../../base/errors.ts';
import type { ParamsOf, ResultOf } from '../../ipc/protocol/methods.ts';
import { clientAuthentication } from '../../oauth/client/client-authentication.ts';
import { isLoopbackRedirect, type Registration } from '../../oauth/client/registration.ts';
import { requireSecureUrl } from '../../oauth/base/secure-url.ts';
import { refuseNeeded, registeredAnswers, removeRegistered, revokeEarlierOf } from './oauth-clients.ts';
import type { Handlers } from './services.ts';

export const registrationMethods = {
  'oauthClient.add': ({ broker }, _caller, params) => enterRegistration(broker.parts, params),

  'oauthClient.list': ({ broker }) => ({ oauthClients: registeredAnswers(broker.parts) }),

  'oauthClient.remove': ({ broker }, _caller, params) => removeRegistered(broker.parts, params),
} satisfies Partial<Handlers>;

type Entry = ParamsOf<'oauthClient.add'>;

/** After a refusal because the other client is needed. */
const nextStep = 'then enter the other client';

type CheckParts = Pick<BrokerParts, 'urlPolicy' | 'registrations' | 'signIns'>;

/** Changes nothing. Throws `insecure_url`, `invalid_request`, `client_rejected`, `conflict`. */
export function checkRegistration({ urlPolicy, registrations, signIns }: CheckParts, entry: Entry): void {
  requireSecureUrl(entry.issuer, 'the issuer', urlPolicy);
  if (entry.idp) requireSecureUrl(entry.idp.issuer, 'the identity provider', urlPolicy);
  requireConsistent(entry);
  checkRedirect(entry.redirectUri);
  // A key that can't sign is found out now, not at the first sign-in.
  if (entry.privateKey !== undefined) requireUsableKey(entry, entry.privateKey);
  const others = enteredFor({ registrations }, entry.issuer).filter((record) => !isSame(record, entry));
  refuseNeeded(signIns, others, nextStep);
}

/** With another identity provider it is another client: the same name there may be another person's. */
const isSame = ({ registration, idp }: RegistrationRecord, entry: Entry): boolean =>
  registration.clientId === entry.clientId && idp?.issuer === entry.idp?.issuer;

/** What a new entry for this issuer replaces. */
export function enteredFor(
  { registrations }: Pick<BrokerParts, 'registrations'>,
  issuer: string,
): RegistrationRecord[] {
  return registrations
    .all()
    .filter(({ registration: r }) => r.issuer === issuer && r.source === 'preregistered');
}

/** Throws as `checkRegistration`, and what the vault throws. */
export async function enterRegistration(
  parts: BrokerParts,
  entry: Entry,
): Promise<ResultOf<'oauthClient.add'>> {
  const { registrations, audit, clock, signIns, refresher, loopback, approvalRequests } = parts;
  checkRegistration(parts, entry);
  const earlier = enteredFor(parts, entry.issuer);
  const same = earlier.find((record) => isSame(record, entry));
  const others = earlier.filter((record) => record !== same);
  await revokeEarlierOf(parts, others, nextStep);
  const redirectUri =
    entry.redirectUri ?? same?.registration.redirectUri ?? loopback.redirectFor(entry.issuer);
  const registration: Registration = {
    issuer: entry.issuer,
    clientId: entry.clientId,
    source: 'preregistered',
    ...authMethodOf(entry),
    redirectUri,
    registeredAt: clock.wall(),
  };
  const purpose = purposeOf(entry);
  const secret = entry.privateKey ?? entry.clientSecret;
  if (same) {
    await registrations.renew(same, registration, secret, purpose);
    await refresher.failures.tryAgain(
      signIns.all().filter(({ registrationId }) => registrationId === same.id),
    );
  }
  for (const one of signIns.all()) if (one.issuer === entry.issuer) refresher.failures.refusals.clear(one.id);
  const { id } = same ?? (await registrations.add(registration, secret, purpose));
  for (const record of others) await registrations.remove(record);
  // A sign-in that waits at a page of another client goes on with this one.
  for (const { question } of purpose.grantType === undefined ? approvalRequests.list() : []) {
    if (question.kind !== 'signIn' || question.issuer !== entry.issuer) continue;
    if (question.registrationId !== id) question.showsError();
  }
  await audit.record({ event: 'oauthClient', outcome: purpose.grantType ?? 'entered', issuer: entry.issuer });
  // An issuer has one at most.
  const replaced = earlier[0]?.registration.clientId;
  return { redirectUri: purpose.grantType === undefined ? redirectUri : undefined, replaced };
}

/** Throws `client_rejected`, which says what is wrong with the key. */
function requireUsableKey(entry: Entry, key: string): void {
  const { issuer, clientId } = entry;
  const server = { issuer, tokenEndpoint: '', metadata: {} };
  const registration = { issuer, clientId, source: 'preregistered' as const, ...authMethodOf(entry) };
  clientAuthentication({ server, registration, clientSecret: key });
}

function authMethodOf({
  authMethod,
  clientSecret,
  privateKey,
  alg,
}: Entry): Pick<Registration, 'tokenEndpointAuthMethod' | 'isAuthMethodAssumed' | 'signingAlg'> {
  const signing = alg === undefined ? {} : { signingAlg: alg };
  if (authMethod !== undefined) return { tokenEndpointAuthMethod: authMethod, ...signing };
  if (privateKey !== undefined) return { tokenEndpointAuthMethod: 'private_key_jwt', ...signing };
  if (clientSecret === undefined) return { tokenEndpointAuthMethod: 'none' };
  return { tokenEndpointAuthMethod: 'client_secret_basic', isAuthMethodAssumed: true };
}

function purposeOf({
  grantType,
  idp,
  assertion,
}: Entry): Pick<RegistrationRecord, 'grantType' | 'idp' | 'assertion'> {
  if (grantType === undefined || grantType === 'authorization_code') return {};
  return { grantType, idp, assertion };
}

/** What contradicts itself would fail at the server, later and less clearly. */
function requireConsistent({
  clientSecret,
  privateKey,
  authMethod,
  grantType,
  idp,
  alg,
  assertion,
}: Entry): void {
  const isWanting = authMethod === 'client_secret_basic' || authMethod === 'client_secret_post';
  const problems: readonly (readonly [boolean, string])[] = [
    [
      clientSecret !== undefined && privateKey !== undefined,
      'a client has a secret or a private key, not both',
    ],
    [
      authMethod === 'none' && (clientSecret ?? privateKey) !== undefined,
      'a client without authentication has neither secret nor private key',
    ],
    [isWanting && clientSecret === undefined, `${authMethod} needs a client secret`],
    [authMethod === 'private_key_jwt' && privateKey === undefined, 'private_key_jwt needs a private key'],
    [alg !== undefined && privateKey === undefined, 'an algorithm belongs to a private key'],
    [(grantType === 'id-jag') !== (idp !== undefined), 'id-jag and an identity provider belong together'],
    [
      (grantType === 'jwt-bearer') !== (assertion !== undefined),
      'jwt-bearer and an assertion belong together',
    ],
    [isRelativeFile(assertion), 'the file of an assertion has an absolute path'],
    [
      grantType === 'client_credentials' && clientSecret === undefined && privateKey === undefined,
      'client_credentials needs a secret or a private key',
    ],
  ];
  const problem = problems.find(([isSo]) => isSo)?.[1];
  if (problem === undefined) return;
  throw new KeyturnError('invalid_request', `This can't be a registration: ${problem}.`, {
    hint: 'keyturn oauth-client add --help shows what goes together.',
  });
}

/** The broker runs in another folder than the command. */
function isRelativeFile(assertion = ''): boolean {
  const [, file] = /^file:(.*)$/s.exec(assertion) ?? [];
  return file !== undefined && !path.isAbsolute(file);
}

function checkRedirect(redirectUri: string | undefined): void {
  if (redirectUri === undefined) return;
  if (isLoopbackRedirect(redirectUri) && !redirectUri.includes('?')) return;
  throw new KeyturnError('invalid_request', `${quoted(redirectUri)} can't be a redirect URI here.`, {
    rule: 'RFC 8252 §7.3: a loopback redirect URI with a port',
    hint: 'Give one like http://127.0.0.1:53123/callback, as it is registered at the authorization server.',
  });
}
