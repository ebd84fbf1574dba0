/**
 * A client of ours that is of no use at its authorization server: one that the server has forgotten, or a metadata
 * document that it can't fetch or refuses.
 *
 * Invariant: what the user entered is never replaced, and a client is replaced once in a sign-in.
 */
import type { AuthorizationServer } from '../../oauth/discovery/authorization-server.ts';
import type { SignInContext, SignInParts } from './sign-in-context.ts';
import type { Question } from '../questions/question.ts';
import { enteredClientStays } from '../refusals/refusals.ts';
import type { RegistrationRecord, Registrations } from '../records/registrations.ts';
import { knownAs } from '../destination/known-client.ts';
import type { Identity } from '../destination/known-client.ts';
import type { RedirectParts } from '../destination/new-client.ts';

type Page = Extract<Question, { readonly kind: 'login' }>;

/** A client that another one is to take the place of. */
export interface Refused {
  readonly record: RegistrationRecord;
  /** The server refused it, or the person says that its page shows an error. */
  readonly saidBy: 'server' | 'person';
  /** The person wants a client that was never used. */
  readonly isFresh?: boolean;
}

/** The client that this sign-in does without from its beginning. Throws `conflict` for one that the user entered. */
function clientToReplace(parts: RedirectParts, { request, destination }: SignInContext): Refused | undefined {
  const record = request.isNewClient === true ? knownAs(parts, destination.server) : undefined;
  if (!record) return undefined;
  const { source, issuer, clientId } = record.registration;
  if (source === 'preregistered') throw enteredClientStays(issuer, clientId);
  return { record, saidBy: 'person', isFresh: true };
}

/** What came of a sign-in by one client: a value, or word that this client is of no use there and another may replace it. */
export type ClientOutcome<T> = { readonly value: T } | { readonly refused: Refused; readonly error: unknown };

/**
 * Signs in by the client at hand, and once more by another one where that one is of no use. `tryWith` is told the
 * client that it must do without.
 */
export async function replacingClient<T>(
  parts: RedirectParts,
  context: SignInContext,
  tryWith: (refused: Refused | undefined, isSecond: boolean) => Promise<ClientOutcome<T>>,
): Promise<T> {
  const first = await tryWith(clientToReplace(parts, context), false);
  if ('value' in first) return first.value;
  const second = await tryWith(first.refused, true);
  if ('value' in second) return second.value;
  throw second.error;
}

/** A client that is of no use. */
interface UselessClient {
  readonly identity: Identity;
  readonly server: AuthorizationServer;
  /** The client that this one replaces already. */
  readonly before: Refused | undefined;
  readonly error: unknown;
  readonly saidBy: Refused['saidBy'];
}

/** Throws `error` where no other client may take its place. */
export async function giveUpClient(
  registrations: Registrations,
  { identity, server, before, error, saidBy }: UselessClient,
): Promise<ClientOutcome<never>> {
  await giveUp(registrations, identity);
  if (before || !isReplaceable(identity, server)) throw error;
  return { refused: { record: identity.record, saidBy }, error };
}

/** Whether a new dynamic registration may take the place of this client. */
function isReplaceable({ record, isNew }: Identity, server: AuthorizationServer): boolean {
  // What was registered a moment ago can't have been forgotten: another one would be refused as well.
  if (isNew) return false;
  return record.registration.source !== 'preregistered' && server.registrationEndpoint !== undefined;
}

/** For the question of a page. */
export function ifForgotten(identity: Identity, server: AuthorizationServer): Pick<Page, 'ifForgotten'> {
  if (identity.isNew) return {};
  return { ifForgotten: isReplaceable(identity, server) ? 'anew' : 'byHand' };
}

/** A client that nothing depends on yet isn't used again; one in use keeps its place until another has worked. */
async function giveUp(registrations: Registrations, { record, isNew }: Identity): Promise<void> {
  if (isNew || record.isOnTrial) await registrations.reject(record);
}

/**
 * The client that a sign-in succeeded with is the one in use from now on, and pages of the refused one that are still
 * open give way to pages of the new one. Only on the server's own word the refused one counts as unknown there:
 * `mix-up.ts` relies on that.
 */
export async function useFromNowOn(
  { registrations, audit, interactions }: Pick<SignInParts, 'registrations' | 'audit' | 'interactions'>,
  record: RegistrationRecord,
  refused: Refused | undefined,
): Promise<void> {
  const isReplacing = registrations.byId(record.id)?.isOnTrial === true;
  await registrations.succeeded(record, refused?.saidBy === 'server' ? refused.record : undefined);
  if (!refused) return;
  const { issuer } = record.registration;
  if (isReplacing) await audit.record({ event: 'registration', outcome: 'replaced', issuer });
  for (const { question } of interactions.list()) {
    if (question.kind === 'login' && question.registrationId === refused.record.id) question.showsError();
  }
}
