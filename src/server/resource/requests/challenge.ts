/**
 * The answer to a request that goes no further, with its WWW-Authenticate (RFC 6750 §3, RFC 9728 §5.1, RFC 9449 §7.1).
 *
 * Invariant: it says what the table of refusals says, and repeats nothing of the request but a message's id and the
 * origin. Every value of the header is a well-formed quoted-string. The Bearer challenge, if there is one, is first,
 * since some clients read no further.
 */
import { formatScope } from '../../../oauth/base/scope.ts';
import type { Answer, IncomingRequest } from '../base/incoming.ts';
import type { Refusal } from '../base/refusal.ts';
import type { Checks } from '../checks.ts';
import { corsHeaders } from './cors.ts';

/** RFC 6750 §3: what is wrong, and what a client can do about it. */
export function refusalAnswer(
  checks: Checks,
  { method, headers }: IncomingRequest,
  refusal: Refusal,
  scope: readonly string[] | undefined,
  more: Readonly<Record<string, string>>,
): Answer {
  const { reason, row, details } = refusal;
  const { status, error, description } = row;
  const retryAfter = details.retryAfterSeconds;
  return {
    status,
    headers: {
      'content-type': 'application/json',
      'cache-control': 'no-store',
      ...corsHeaders(headers, checks.settings.origins),
      ...(error !== undefined || status === 401
        ? { 'www-authenticate': challenges(checks, headers, refusal, scope) }
        : {}),
      ...(retryAfter === undefined ? {} : { 'retry-after': String(Math.ceil(retryAfter)) }),
      ...more,
    },
    body:
      method === 'HEAD'
        ? null
        : (details.body ?? JSON.stringify({ error: error ?? reason, error_description: description })),
  };
}

/** Both challenges, or that of DPoP where only bound tokens are taken. An error is in the one whose scheme it is about. */
function challenges(
  { settings: { dpop }, metadata }: Checks,
  headers: Headers,
  { reason, row: { error, description } }: Refusal,
  scope: readonly string[] | undefined,
): string {
  // RFC 9449 §7.1: also what is wrong with the token of a request in the scheme of DPoP.
  const isBound = dpop.required || reason === 'token_bound' || isDpop(headers);
  const challenge = (scheme: 'Bearer' | 'DPoP'): string => {
    const isMeant = error !== undefined && isBound === (scheme === 'DPoP');
    const parameters = {
      error: isMeant ? error : undefined,
      error_description: isMeant ? description : undefined,
      // RFC 6749 §3.3: an empty list is no scope.
      scope: scope === undefined || scope.length === 0 ? undefined : formatScope(scope),
      resource_metadata: metadata.url,
      algs: scheme === 'DPoP' ? dpop.algorithms.join(' ') : undefined,
    };
    const written = Object.entries(parameters).flatMap(([name, value]) =>
      value === undefined ? [] : [`${name}="${escaped(value)}"`],
    );
    return `${scheme} ${written.join(', ')}`;
  };
  return [...(dpop.required ? [] : [challenge('Bearer')]), challenge('DPoP')].join(', ');
}

const isDpop = (headers: Headers): boolean => /^dpop\b/i.test(headers.get('authorization') ?? '');

/** RFC 9110 §5.6.4. What no header may hold at all is left out. */
function escaped(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '').replace(/["\\]/g, String.raw`\$&`);
}
