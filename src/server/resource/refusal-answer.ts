/**
 * The answer to a request that goes no further.
 *
 * Invariant: it says what the table of refusals says, and repeats nothing of the request.
 */
import type { Answer, IncomingRequest } from './base/incoming.ts';
import type { Refusal } from './base/refusal.ts';
import type { Checks } from './checks.ts';
import { writeChallenge } from './requests/challenge.ts';
import { corsHeaders } from './requests/cors.ts';

/** RFC 6750 §3: what is wrong, and what a client can do about it. */
export function refusalAnswer(
  { settings, metadata }: Checks,
  { method, headers }: IncomingRequest,
  { reason, row, details }: Refusal,
  scope: readonly string[] | undefined,
  more: Readonly<Record<string, string>>,
): Answer {
  const error = 'error' in row ? row.error : undefined;
  const isBound = reason.startsWith('proof_') || reason === 'token_bound';
  const challenge = writeChallenge(
    { error, errorDescription: row.description, scope, resourceMetadata: metadata.url },
    { bearer: !settings.dpop.required, dpopAlgorithms: settings.dpop.algorithms },
    isBound ? 'dpop' : 'bearer',
  );
  return {
    status: row.status,
    headers: {
      'content-type': 'application/json',
      'cache-control': 'no-store',
      ...corsHeaders(headers, settings.origins),
      ...(error !== undefined || row.status === 401 ? { 'www-authenticate': challenge } : {}),
      ...(details.retryAfterSeconds === undefined
        ? {}
        : { 'retry-after': String(Math.ceil(details.retryAfterSeconds)) }),
      ...more,
    },
    body:
      method === 'HEAD'
        ? null
        : (details.body ?? JSON.stringify({ error: error ?? reason, error_description: row.description })),
  };
}
