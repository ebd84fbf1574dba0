/**
 * Our client that can't be used at its authorization server: the server has forgotten it, or can't fetch or
 * refuses its metadata document.
 *
 * Invariant: only the user replaces a client that the user entered, and a sign-in replaces a client only once.
 */
import type { BrokerParts } from '../parts.ts';
import type { AuthorizationServer } from '../../oauth/discovery/authorization-server.ts';
import type { SignInContext } from './sign-in-context.ts';
import type { PageQuestion } from '../approval-requests/question.ts';
import { enteredClientStays } from '../refusals/refusals.ts';
import type { RegistrationRecord, Registrations } from '../records/registrations.ts';
import { knownAs } from '../destination/known-client.ts';
import type { Identity } from '../destination/known-client.ts';

/** A client that another one will replace. */
export interface ClientRefusal {
  readonly record: RegistrationRecord;
  /** The server refused it, or the user reports that its page shows an error. */
  readonly saidBy: 'server' | 'user';
  /** The user wants a new client. */
  readonly isFresh?: boolean;
}

/** The client that this sign-in replaces from the start. Throws `conflict` for one that the user entered. */
function clientToReplace(
  parts: BrokerParts,
  { request, destination }: SignInContext,
): ClientRefusal | undefined {
  const record = request.isNewClient === true ? knownAs(parts, destination.server) : undefined;
  if (!record) return undefined;
  const { source, issuer, clientId } = record.registration;
  if (source === 'preregistered') throw enteredClientStays(issuer, clientId);
  return { record, saidBy: 'user', isFresh: true };
}

/** The result of a sign-in with one client: a value, or a refused client that another may replace. */
export type ClientOutcome<T> =
  | { readonly value: T }
  | { readonly refused: ClientRefusal; readonly error: unknown };

/** With the present client, and once more with another one if it is unusable. `tryWith` gets the client to replace. */
export async function replacingClient<T>(
  parts: BrokerParts,
  context: SignInContext,
  tryWith: (refused: ClientRefusal | undefined, isSecond: boolean) => Promise<ClientOutcome<T>>,
): Promise<T> {
  const first = await tryWith(clientToReplace(parts, context), false);
  if ('value' in first) return first.value;
  const second = await tryWith(first.refused, true);
  if ('value' in second) return second.value;
  throw second.error;
}

interface UselessClient {
  readonly identity: Identity;
  readonly server: AuthorizationServer;
  /** The client that this one has already replaced. */
  readonly before: ClientRefusal | undefined;
  readonly error: unknown;
  readonly saidBy: ClientRefusal['saidBy'];
}

/** A client that the user has entered meanwhile replaces any. Throws `error` if no other client may replace it. */
export async function giveUpClient(
  registrations: Registrations,
  { identity, server, before, error, saidBy }: UselessClient,
): Promise<ClientOutcome<never>> {
  const { record, isNew } = identity;
  // A new client that nothing depends on is dropped; a client in use stays until another one has worked.
  if (isNew || record.isOnTrial) await registrations.reject(record);
  const entered = registrations
    .all()
    .filter(
      ({ grantType, registration }) => grantType === undefined && registration.source === 'preregistered',
    );
  const isOvertaken = entered.some(
    ({ id, registration }) => registration.issuer === server.issuer && id !== record.id,
  );
  if (before || !(isOvertaken || isReplaceable(identity, server))) throw error;
  return { refused: { record, saidBy }, error };
}

/** Whether a new dynamic registration may take the place of this client. */
function isReplaceable({ record, isNew }: Identity, server: AuthorizationServer): boolean {
  // The server can't have forgotten a client that was registered a moment ago: it would refuse another one too.
  if (isNew) return false;
  return record.registration.source !== 'preregistered' && server.registrationEndpoint !== undefined;
}

export function ifForgotten(identity: Identity, server: AuthorizationServer): PageQuestion['ifForgotten'] {
  if (identity.isNew) return undefined;
  return isReplaceable(identity, server) ? 'register' : 'byHand';
}

/** Open pages of the refused client give way. Only the server's own refusal rejects a client: `mix-up.ts` relies on it. */
export async function useFromNowOn(
  { registrations, audit, approvalRequests }: BrokerParts,
  record: RegistrationRecord,
  refused: ClientRefusal | undefined,
): Promise<void> {
  const isReplacing = registrations.byId(record.id)?.isOnTrial === true;
  await registrations.succeeded(record, refused?.saidBy === 'server' ? refused.record : undefined);
  if (!refused) return;
  const { issuer } = record.registration;
  if (isReplacing) await audit.record({ event: 'oauthClient', outcome: 'replaced', issuer });
  for (const { question } of approvalRequests.list()) {
    if (question.kind === 'signIn' && question.registrationId === refused.record.id) question.showsError();
  }
}
