/**
 * The reply of a sign-in page: the address that was pasted, and the tokens for the code in it.
 *
 * Invariant: a reply is used only for the sign-in that waits, at the redirect URI of its own client.
 */
import { KeyturnError, RuleRefusal, Unreachable } from '../../base/errors.ts';
import { ResponseLost } from '../../oauth/base/http.ts';
import type { AmbiguousIssuer, StartedAuthorization } from '../../oauth/grants/authorization.ts';
import { exchangeCode } from '../../oauth/grants/token.ts';
import type { TokenResponse } from '../../oauth/grants/token.ts';
import { ambiguityOf } from '../destination/mix-up.ts';
import type { RedirectCallback } from '../loopback/loopback.ts';
import type { BrokerParts } from '../parts.ts';
import type { RegistrationRecord } from '../records/registrations.ts';
import { statelessWords } from '../refusals/pending-refusals.ts';
import type { SignInContext } from './sign-in-context.ts';

/** The address must be of the sign-in that waits; a wrong one is refused here and the sign-in goes on. */
export function pastedReply(address: string, started: StartedAuthorization): URL {
  // Terminals and chats add quotes.
  const url = URL.parse(address.replaceAll(/^[\s"'<]+|[\s"'>]+$/g, ''));
  const expected = new URL(started.redirectUri);
  if (url?.origin !== expected.origin || url.pathname !== expected.pathname) {
    throw new KeyturnError('invalid_request', 'That is not the address a sign-in ends at.', {
      hint: `Paste the whole address from the browser's address bar; it begins with ${expected.origin}${expected.pathname}?`,
    });
  }
  const states = url.searchParams.getAll('state');
  if (states.length === 1 && states[0] === started.state) return url;
  if (states.length === 0) throw withoutState(url.searchParams.get('error') ?? '');
  throw new RuleRefusal('state_mismatch', 'That address belongs to another sign-in.', {
    rule: 'RFC 6749 §10.12',
    hint: 'Paste the address that this sign-in ended at, or start again.',
  });
}

function withoutState(error: string): RuleRefusal {
  return new RuleRefusal('state_mismatch', statelessWords(error), {
    rule: 'RFC 6749 §10.12',
    hint: 'Paste the whole address. If the server left the state out, tell its operator.',
  });
}

export interface OpenedContext extends SignInContext {
  /** The issuer whose answers could be confused with this one's when its page opened. */
  readonly ambiguity: AmbiguousIssuer | undefined;
}

interface Arrival {
  readonly started: StartedAuthorization;
  readonly record: RegistrationRecord;
  readonly callback: RedirectCallback;
}

/** The tokens for the code in the reply. A server that asks for a short wait is asked once more. */
export async function redeem(
  parts: BrokerParts,
  { request, destination, ambiguity: before }: OpenedContext,
  arrival: Arrival,
  signal: AbortSignal,
): Promise<TokenResponse> {
  const { started, record, callback } = arrival;
  const { server } = destination;
  const clientSecret = await parts.registrations.secret(record);
  // Checked again: this home may have got other clients while the page was open.
  const ambiguity = before ?? ambiguityOf(parts.registrations.all(), record);
  requireUnchanged(parts, arrival);
  const client = { server, registration: record.registration, clientSecret };
  const asked = { ...client, started, callbackUrl: callback.url, ambiguity };
  const exchange = (): Promise<TokenResponse> => exchangeCode(asked, parts.network(request.endpoint));
  try {
    return await exchange();
  } catch (error) {
    const wait = shortWait(error);
    if (wait === undefined) throw error;
    await parts.clock.sleep(wait * 1000, signal);
    return exchange();
  }
}

/** Seconds. RFC 6749 §4.1.2: a code lives ten minutes at most; with some servers it lives a minute. */
const longestWait = 30;

/** Seconds until the code may be sent once more: the server didn't serve the request, and says when it will. */
function shortWait(error: unknown): number | undefined {
  if (!(error instanceof Unreachable) || error instanceof ResponseLost) return undefined;
  return error.retryAfter !== undefined && error.retryAfter <= longestWait ? error.retryAfter : undefined;
}

/** RFC 9700 §4.4.2: the answer arrived at the redirect URI of the client that asked, and that client is still ours. */
function requireUnchanged({ registrations }: BrokerParts, { started, record, callback }: Arrival): void {
  const now = registrations.byId(record.id)?.registration;
  const { clientId, redirectUri } = record.registration;
  const isSame = now?.clientId === clientId && now.redirectUri === redirectUri;
  const [at, wanted] = [callback.url, new URL(started.redirectUri)];
  if (isSame && at.origin === wanted.origin && at.pathname === wanted.pathname) return;
  throw new KeyturnError('login_failed', 'The client of this sign-in was changed while its page was open.', {
    rule: 'RFC 9700 §4.4.2: an answer counts at the redirect URI of its own client',
    hint: 'Start the sign-in again.',
  });
}
