/**
 * Reading an answer of an OAuth endpoint: what it holds, in whatever form the server chose.
 *
 * Invariant: nothing here judges. An answer becomes fields or an error code; what they mean for a
 * grant is decided where the request was made.
 */
import { quotedWithheld } from '../errors.ts';
import type { Reply } from './http.ts';
import { parseJsonObject } from './metadata-document.ts';

/** The fields of an answer's body: a JSON object or a form, which some servers send for errors. */
export function answerFields(reply: Reply): Readonly<Record<string, unknown>> | undefined {
  if (reply.text === undefined) return undefined;
  const json = parseJsonObject(reply.text);
  if (json !== undefined) return json;
  const type = reply.headers.get('content-type') ?? '';
  if (!/^application\/x-www-form-urlencoded\b/i.test(type)) return undefined;
  return Object.fromEntries(new URLSearchParams(reply.text));
}

export interface OAuthError {
  readonly code: string;
  readonly description?: string;
}

/** RFC 6749 §5.2, whatever the status. */
export function oauthError(reply: Reply): OAuthError | undefined {
  const fields = answerFields(reply);
  const code = fields?.['error'];
  const description = fields?.['error_description'];
  if (typeof code !== 'string' || code === '') return undefined;
  return typeof description === 'string' && description !== '' ? { code, description } : { code };
}

/** For a message: both texts quoted and bounded. Some servers repeat the request in them, its secrets too. */
export function shownError({ code, description }: OAuthError): string {
  const shown = quotedWithheld(code);
  return description === undefined ? shown : `${shown} (${quotedWithheld(description)})`;
}
