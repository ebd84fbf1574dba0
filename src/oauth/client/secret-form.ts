/**
 * The secrets of a request: the form in which a client's secret is sent, and the texts that no message may repeat.
 *
 * Invariants: a request contains one form of the secret. Other forms go to the same endpoint, each once, only after the
 * client was not recognised. Two at most: the id also in the body, if the reply speaks of the id; and one other place or
 * encoding, if the server offers it. Every parameter is secret unless it is listed as public.
 */
import { authMethod, offeredAuthMethods, requireSecret, type OAuthClient } from './client-authentication.ts';
import { isSuccess, isTransient, type Http, type HttpReply } from '../base/http.ts';
import { oauthError } from '../base/oauth-error.ts';

export interface RequestContent {
  readonly headers: Record<string, string>;
  readonly body: URLSearchParams;
}

export interface SecretForm {
  readonly name: 'basic' | 'named' | 'unescaped' | 'escaped' | 'post' | 'none';
  add(request: RequestContent): RequestContent;
}

/** The form to send first: the one that the server accepted last. Undefined: the client has no secret to send. */
export function firstForm(client: OAuthClient, http: Pick<Http, 'secretForms'>): SecretForm | undefined {
  const known = http.secretForms?.get(keyOf(client));
  return formsOf(client).find(({ name }) => name === known) ?? usualForm(client);
}

/** The forms to try after this reply to `first`. */
export function formsAfter(client: OAuthClient, first: SecretForm, reply: HttpReply): readonly SecretForm[] {
  const isUnrecognised = isClientUnrecognised(reply) || speaksOf(/client[\s_-]?secret/i, reply);
  return formsOf(client)
    .filter(({ name }) => name !== first.name)
    .filter(({ name }) => (name === 'named' ? speaksOf(/client[\s_-]?id/i, reply) : isUnrecognised));
}

function usualForm(client: OAuthClient): SecretForm | undefined {
  const method = authMethod(client);
  if (method === 'client_secret_post') return post(client);
  // The server registered the method "none" and gave a secret all the same.
  if (method === 'none' && client.clientSecret !== undefined) return { name: 'none', add: (sent) => sent };
  return method === 'client_secret_basic' ? basic(client, 'basic') : undefined;
}

/** All forms, the usual one first. */
function formsOf(client: OAuthClient): readonly SecretForm[] {
  const usual = usualForm(client);
  if (!usual) return [];
  if (usual.name === 'none') return [usual, post(client)];
  const other = usual.name === 'post' ? otherPlace(client, 'client_secret_basic') : otherForm(client);
  return [usual, ...(usual.name === 'post' ? [] : [named(client)]), ...(other ? [other] : [])];
}

/** In memory only: after a restart the usual form is tried first, for a server that was corrected meanwhile. */
export function rememberForm(
  client: OAuthClient,
  { name }: SecretForm,
  http: Pick<Http, 'secretForms'>,
): void {
  http.secretForms?.set(keyOf(client), name);
}

/**
 * RFC 6749 §5.2: the server did not recognise the client. A server authenticates the client before it checks a code or
 * token (§4.1.3, §6), so no code or token was used up, and the same request may be sent again. Some servers answer 401
 * with a body of their own.
 */
function isClientUnrecognised(reply: HttpReply): boolean {
  const code = oauthError(reply)?.code;
  return (
    (code === 'invalid_client' && (reply.status === 400 || reply.status === 401)) ||
    (code === undefined && reply.status === 401)
  );
}

/** The codes of a fault in how the client is named. Any other one may be about a code or token that is used up. */
const codesOfClient: readonly unknown[] = ['invalid_client', 'invalid_request', 'unauthorized_client'];

/**
 * Some servers read the id or the secret from the body alone, and then miss it. They say so by one of these codes, or in
 * words of their own. A page (HTML) says nothing about this request.
 */
function speaksOf(what: RegExp, reply: HttpReply): boolean {
  const { status, text = '' } = reply;
  if (![400, 401, 422].includes(status) || !what.test(text)) return false;
  const code = oauthError(reply)?.code;
  return code === undefined ? !/^\s*</.test(text) : codesOfClient.includes(code);
}

/** False if a server doesn't know this form (`invalid_request`, or unreadable): then its first response counts. */
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

type Escaping = Exclude<SecretForm['name'], 'post' | 'named' | 'none'>;

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
  return escaping ? basic(client, escaping) : otherPlace(client, 'client_secret_post');
}

/** The header instead of the body, or the body instead of the header: if the server offers it, or says nothing. */
function otherPlace(
  client: OAuthClient,
  method: 'client_secret_basic' | 'client_secret_post',
): SecretForm | undefined {
  if (offeredAuthMethods(client)?.includes(method) === false) return undefined;
  return method === 'client_secret_post' ? post(client) : basic(client, 'basic');
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

/** RFC 6749 §3.2.1: the id may be in the body too. */
function named(client: OAuthClient): SecretForm {
  const header = basic(client, 'basic');
  return {
    name: 'named',
    add({ headers, body }) {
      const filled = new URLSearchParams(body);
      filled.set('client_id', client.registration.clientId);
      return header.add({ headers, body: filled });
    },
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

/** The secrets of a request (token, code, verifier, assertion, proof, client secret), each in every encoding. */
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
