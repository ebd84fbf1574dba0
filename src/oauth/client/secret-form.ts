/**
 * The secrets of a request: the encoding of the secret of a `client_secret_basic` client, and the texts that no message
 * may repeat.
 *
 * Invariants: a request contains one form of the secret. A second form is tried once, only after `invalid_client`, only
 * if it differs, and at the same endpoint. Every parameter counts as a secret unless it is listed as public.
 */
import type { OAuthClient } from './client-authentication.ts';
import { authMethod, offeredAuthMethods, requireSecret } from './client-authentication.ts';
import type { Http, HttpReply } from '../base/http.ts';
import { isSuccess, isTransient } from '../base/http.ts';
import { oauthError } from '../base/oauth-error.ts';

/** The headers and the body of a request. */
export interface RequestContent {
  readonly headers: Record<string, string>;
  readonly body: URLSearchParams;
}

export interface SecretForm {
  readonly name: 'basic' | 'unescaped' | 'escaped' | 'post';
  /** The request with the secret added. */
  add(request: RequestContent): RequestContent;
}

/** The form to send first, and the form to try if the server refuses that one; empty for methods other than Basic. */
export function secretForms(client: OAuthClient, http: Pick<Http, 'secretForms'>): readonly SecretForm[] {
  if (authMethod(client) !== 'client_secret_basic') return [];
  const usual = basic(client, 'basic');
  const other = otherForm(client);
  if (!other) return [usual];
  return http.secretForms?.get(keyOf(client)) === other.name ? [other, usual] : [usual, other];
}

/**
 * Remembers, in memory only, the form that the server accepted. After a restart the usual form is tried first again,
 * for a server that was corrected meanwhile. Forgetting costs one refused request.
 */
export function rememberForm(
  client: OAuthClient,
  { name }: SecretForm,
  http: Pick<Http, 'secretForms'>,
): void {
  http.secretForms?.set(keyOf(client), name);
}

/**
 * RFC 6749 §5.2: the server did not recognise the client. A server authenticates the client before it checks a code or
 * token (§4.1.3, §6), so no code or token was used up, and the same request may be sent again.
 */
export function isClientUnrecognised(reply: HttpReply): boolean {
  return (reply.status === 400 || reply.status === 401) && oauthError(reply)?.code === 'invalid_client';
}

/**
 * True if the response to the second form is about the request itself. A server that doesn't know the form may send
 * `invalid_request` or something unreadable; then its first response counts.
 */
export function isAboutRequest(reply: HttpReply): boolean {
  if (isSuccess(reply.status) || isTransient(reply.status)) return true;
  const code = oauthError(reply)?.code;
  return code !== undefined && code !== 'invalid_client' && code !== 'invalid_request';
}

/** One text in the encoding of forms (RFC 6749 Appendix B). */
function formEncoded(text: string): string {
  return new URLSearchParams([['', text]]).toString().slice(1);
}

const keyOf = ({ registration }: OAuthClient): string => `${registration.issuer} ${registration.clientId}`;

type Escaping = Exclude<SecretForm['name'], 'post'>;

const escapings: Readonly<Record<Escaping, (text: string) => string>> = {
  /**
   * RFC 6749 §2.3.1: id and secret are form-encoded. Only the characters are escaped that a decoder would change, and
   * the colon. The others mean the same with and without decoding. So this form also works at servers that don't
   * decode, for most ids and secrets, such as one with a "/".
   */
  basic: (text) => text.toWellFormed().replace(/[^\x21-\x7e]|[%+:]/gu, encodeURIComponent),
  /** RFC 7617 without form-encoding, for servers that don't decode. */
  unescaped: (text) => text,
  /** The whole form-encoding of §2.3.1, for servers that expect it exactly. */
  escaped: formEncoded,
};

/** Another encoding if it differs from the usual one; else the request body, if the server offers that. */
function otherForm(client: OAuthClient): SecretForm | undefined {
  const usual = credentials(client, 'basic');
  // RFC 7617 §2: the first colon ends the id, so an id with a colon must be escaped.
  const escaping = (['unescaped', 'escaped'] as const)
    .filter((one) => one !== 'unescaped' || !client.registration.clientId.includes(':'))
    .find((one) => credentials(client, one) !== usual);
  if (escaping) return basic(client, escaping);
  return offeredAuthMethods(client)?.includes('client_secret_post') ? post(client) : undefined;
}

function credentials(client: OAuthClient, escaping: Escaping): string {
  const escaped = escapings[escaping];
  return `${escaped(client.registration.clientId)}:${escaped(requireSecret(client))}`;
}

function basic(client: OAuthClient, name: Escaping): SecretForm {
  const encoded = Buffer.from(credentials(client, name)).toString('base64');
  return {
    name,
    add: ({ headers, body }) => ({ headers: { ...headers, authorization: `Basic ${encoded}` }, body }),
  };
}

function post(client: OAuthClient): SecretForm {
  return {
    name: 'post',
    add({ headers, body }) {
      const filled = new URLSearchParams(body);
      filled.set('client_id', client.registration.clientId);
      filled.set('client_secret', requireSecret(client));
      return { headers, body: filled };
    },
  };
}

/** The parameters that messages may repeat. Every other one counts as a secret. */
const publicParameters = new Set([
  'grant_type',
  'client_id',
  'scope',
  'resource',
  'audience',
  'redirect_uri',
  'token_type_hint',
  'client_assertion_type',
  'requested_token_type',
  'subject_token_type',
  'actor_token_type',
]);

/**
 * The secrets of a request (token, code, verifier, assertion, proof, client secret), each also as encoded in a form and
 * a URL.
 */
export function secretsOf({ headers, body }: RequestContent, clientSecret: string | undefined): string[] {
  const parameters = [...body].filter(([name]) => !publicParameters.has(name)).map(([, value]) => value);
  const authorization = headers['authorization']?.split(' ').at(-1);
  const secrets = [...parameters, authorization, headers['dpop'], clientSecret].filter(
    (secret) => secret !== undefined,
  );
  return secrets.flatMap((secret) => [
    secret,
    encodeURIComponent(secret.toWellFormed()),
    formEncoded(secret),
  ]);
}
