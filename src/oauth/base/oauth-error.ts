/**
 * Reads the response of an OAuth endpoint, as JSON or as a form.
 *
 * Invariants: this file returns fields or an error code. The caller decides what they mean for a grant. The text of an
 * error in a message contains no secret of the request.
 */
import { quotedWithheld } from '../../base/errors.ts';
import type { HttpReply } from './http.ts';
import { parseJson } from '../../base/text/json.ts';
import { parseJsonObject } from './json-object.ts';

/** The fields of an answer's body: a JSON object or a form, which some servers send for errors, or as plain text. */
export function responseFields(reply: HttpReply): Readonly<Record<string, unknown>> | undefined {
  if (reply.text === undefined) return undefined;
  const json = parseJsonObject(reply.text);
  if (json !== undefined) return json;
  const type = reply.headers.get('content-type') ?? '';
  const isForm =
    /^application\/x-www-form-urlencoded\b/i.test(type) ||
    (/^text\/plain\b|^$/i.test(type) && /^(?:[\w.-]+=[^&\s]*(?:&|$))+$/.test(reply.text));
  if (!isForm) return undefined;
  return Object.fromEntries(new URLSearchParams(reply.text));
}

export interface OAuthError {
  readonly code: string;
  readonly description?: string;
  readonly secretsSent?: readonly string[];
}

/** The error in a reply of any status (RFC 6749 §5.2); undefined if it contains none. */
export function oauthError(reply: HttpReply): OAuthError | undefined {
  const fields = responseFields(reply);
  const code = fields?.['error'];
  const description = fields?.['error_description'];
  if (typeof code !== 'string' || code === '') return undefined;
  return {
    code,
    description: typeof description === 'string' && description !== '' ? description : undefined,
    secretsSent: reply.secretsSent,
  };
}

/** What a refusal says, for a message: the error of OAuth, or else the server's own words beside the status. */
export function shownRefusal(reply: HttpReply): string {
  const error = oauthError(reply);
  if (error !== undefined) return shownError(error);
  const words = wordsIn(parseJson(reply.text ?? '')) ?? plainText(reply);
  const status = `status ${reply.status}`;
  return words === undefined ? status : `${status} (${shownText(words, reply.secretsSent ?? [])})`;
}

/** A body that is neither JSON nor a page. */
function plainText({ text = '' }: HttpReply): string | undefined {
  return /^\s*(?:[[{<]|$)/.test(text) ? undefined : text.trim();
}

/** Where servers write what is wrong, if they don't write it as RFC 6749 §5.2 has it. */
const placesOfWords = ['error_description', 'message', 'detail', 'msg', 'title', 'error', 'errors', '0'];

/** Errors lie in errors, and no deeper. */
const maxDepth = 3;

function wordsIn(value: unknown, depth = 0): string | undefined {
  if (typeof value === 'string') return value.trim() === '' ? undefined : value;
  if (typeof value !== 'object' || value === null || depth > maxDepth) return undefined;
  const fields = new Map<string, unknown>(Object.entries(value));
  for (const place of placesOfWords) {
    const words = wordsIn(fields.get(place), depth + 1);
    if (words !== undefined) return words;
  }
  return undefined;
}

/** RFC 6749 §4.1.2.1: the server reports a problem of its own. It refuses neither the user nor the client. */
export function isTransientError({ code }: OAuthError): boolean {
  return code === 'temporarily_unavailable' || code === 'server_error';
}

/** OpenID Connect Core §3.1.2.6, RFC 9470 §5: the user has to act at the server. Some answer a refresh so. */
const wantingUser: ReadonlySet<string> = new Set([
  'interaction_required',
  'login_required',
  'account_selection_required',
  'consent_required',
  'unmet_authentication_requirements',
]);

/** True for an error code that only the user can end, by a new sign-in. */
export function wantsUser(code: string): boolean {
  return wantingUser.has(code);
}

/** For a message: both texts, quoted and shortened, without the secrets of the request, which some servers repeat. */
export function shownError({ code, description, secretsSent = [] }: OAuthError): string {
  const shown = (text: string): string => shownText(text, secretsSent);
  return description === undefined ? shown(code) : `${shown(code)} (${shown(description)})`;
}

/** Text of a response for a message, without these secrets and without anything that looks like one. */
export function shownText(text: string, secrets: readonly string[]): string {
  // The longest first, since one secret may be part of another.
  const withheld = secrets
    .toSorted((a, b) => b.length - a.length)
    .reduce((left, secret) => (secret === '' ? left : left.replaceAll(secret, '…')), text);
  return quotedWithheld(withheld);
}
