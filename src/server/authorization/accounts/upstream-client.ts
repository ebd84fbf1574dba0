/**
 * This server as a client of an upstream authorization server: the upstream's metadata, and requests to it.
 *
 * Invariant: the metadata is that of the issuer that the operator named. Requests go over https, follow no redirect,
 * end in time, and reach private addresses only where the operator named that host.
 */
import * as openid from 'openid-client';
import { z } from 'zod';
import { KeyturnError, quoted, quotedWithheld } from '../../../base/errors.ts';
import { hostOf, reachOf } from '../../../base/addresses.ts';
import { networkProblem } from '../../../oauth/base/http.ts';
import { shownWords } from '../../resource/base/fault.ts';
import { operatorFetch } from '../base/operator-fetch.ts';

export interface UpstreamClient {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret?: string | undefined;
  readonly authorities?: string | undefined;
  /** Where the provider publishes none. */
  readonly metadata?: openid.ServerMetadata | undefined;
  /** Token requests are written as JSON. */
  readonly sendsJson?: boolean;
}

export interface UpstreamAnswer {
  readonly status: number;
  /** The media type. */
  readonly type: string;
  readonly text: string;
}

type ReadAnswer = (answer: UpstreamAnswer) => UpstreamAnswer;

/** Where metadata may lie: OpenID Connect Discovery, or RFC 8414. */
type MetadataPlace = 'oidc' | 'oauth2';

/** What this server finds wrong with an upstream, in our words. */
export class UpstreamFault extends Error {}

/** Why the upstream failed, for the operator's events: what it said, without what could be a secret, or our own words. */
export function upstreamProblem(error: unknown): string {
  if (error instanceof openid.ResponseBodyError) return `status ${error.status} ${upstreamWords(error)}`;
  if (error instanceof openid.AuthorizationResponseError) return `the error ${upstreamWords(error)}`;
  if (error instanceof openid.ClientError) {
    const { message, cause, code = 'no code' } = error;
    // The library's own words: the field, the claim or the status that it did not expect.
    const detail =
      cause instanceof Response ? `: ${cause.status}` : cause instanceof Error ? `: ${cause.message}` : '';
    return `${message}${detail} (${code})`;
  }
  if (error instanceof KeyturnError) return `${error.reason}: ${error.message}`;
  if (error instanceof UpstreamFault) return error.message;
  return error instanceof TypeError ? networkProblem(error) : 'an answer that can’t be used';
}

type OAuthError = Pick<openid.ResponseBodyError, 'error' | 'error_description'>;

/** RFC 6749 §5.2, and what to do about it. */
function upstreamWords({ error, error_description: description = '' }: OAuthError): string {
  const words = quotedWithheld(error) + (description === '' ? '' : `: ${shownWords(description)}`);
  const [, advice] = advices.find(([codes]) => codes.test(error)) ?? [];
  return advice === undefined ? words : `${words}. ${advice}.`;
}

/** By the error codes of RFC 6749 §5.2, GitHub and Slack. */
const advices: readonly (readonly [RegExp, string])[] = [
  [/^invalid_client|client_credentials|client_secret/, 'Check clientId and clientSecret'],
  [/redirect_uri/, 'Register <your issuer>/login/callback there'],
];

/** Seconds for each request: a user or a program waits for it. */
const timeoutSeconds = 5;

/** Bytes of a document, a key set or an answer of the upstream. */
const maxAnswerLength = 256 * 1024;

/** Milliseconds in which the metadata is not fetched again. */
const metadataLifetime = 60 * 60 * 1000;

/** Throws where the upstream can't be reached or its metadata is of another. */
export type UpstreamConfiguration = () => Promise<openid.Configuration>;

/** Looks for metadata at these places, in this order. `read` may rewrite what the token endpoint answers. */
export function upstreamConfiguration(
  client: UpstreamClient,
  places: readonly MetadataPlace[],
  read: ReadAnswer = (answer) => answer,
): UpstreamConfiguration {
  const customFetch = upstreamFetch(client, read);
  let found: { readonly at: number; readonly configuration: Promise<openid.Configuration> } | undefined;
  return async () => {
    const now = Date.now();
    if (found === undefined || now - found.at > metadataLifetime) {
      found = { at: now, configuration: configurationOf(client, places, customFetch) };
    }
    const known = found;
    try {
      return await known.configuration;
    } catch (error) {
      // The next request tries again.
      if (found === known) found = undefined;
      throw error;
    }
  };
}

async function configurationOf(
  client: UpstreamClient,
  places: readonly MetadataPlace[],
  customFetch: openid.CustomFetch,
): Promise<openid.Configuration> {
  const { clientId, clientSecret } = client;
  const server = client.metadata ?? (await discovered(client, places, customFetch));
  // RFC 8414 §2: a provider that names no method takes this one.
  const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
  const authentication =
    clientSecret === undefined
      ? openid.None()
      : methods.includes('client_secret_basic')
        ? basic(clientSecret)
        : openid.ClientSecretPost(clientSecret);
  const configuration = new openid.Configuration(server, clientId, undefined, authentication);
  configuration[openid.customFetch] = customFetch;
  configuration.timeout = timeoutSeconds;
  // Also the signature of an ID token that came over TLS, which the client by itself would trust.
  openid.enableNonRepudiationChecks(configuration);
  return configuration;
}

async function discovered(
  { issuer, clientId }: UpstreamClient,
  places: readonly MetadataPlace[],
  customFetch: openid.CustomFetch,
): Promise<openid.ServerMetadata> {
  let problem: unknown;
  for (const algorithm of places) {
    try {
      // RFC 8414 §3.3, OpenID Connect Discovery §4.3: the document's issuer is this one, or it is not used.
      const found = await openid.discovery(new URL(issuer), clientId, undefined, openid.None(), {
        [openid.customFetch]: customFetch,
        timeout: timeoutSeconds,
        algorithm,
      });
      return found.serverMetadata();
    } catch (error) {
      problem = error;
    }
  }
  throw metadataFault(problem, issuer);
}

/** Where asking again won't help, the fault with what the operator may have written wrong. */
function metadataFault(error: unknown, issuer: string): unknown {
  const cause = error instanceof openid.ClientError ? error.cause : undefined;
  const other = otherIssuer.safeParse(cause);
  if (other.success)
    return new UpstreamFault(
      `its metadata names the issuer ${quotedWithheld(other.data.body.issuer)}; expected: ${quoted(issuer)}`,
    );
  if (cause instanceof Response && cause.status < 500)
    return new UpstreamFault(`the issuer ${quoted(issuer)} has no metadata: status ${cause.status}`);
  return error;
}

const otherIssuer = z.object({ body: z.object({ issuer: z.string() }), attribute: z.literal('issuer') });

/**
 * What the upstream's documents name is reached at public addresses, and the host that the operator named wherever it
 * is.
 */
function upstreamFetch(
  { issuer, authorities, sendsJson = false }: UpstreamClient,
  read: ReadAnswer,
): openid.CustomFetch {
  const operator = operatorFetch({ authorities, maxLength: maxAnswerLength });
  return async (url, { method, headers, body, signal }) => {
    const isConfirmed = (each: string): boolean => hostOf(each) === hostOf(issuer);
    const reach = reachOf(url, { endpoint: issuer, isConfirmed });
    const form = body instanceof URLSearchParams ? body : undefined;
    const isForToken = form?.has('grant_type') ?? false;
    const isJson = isForToken && sendsJson;
    const sent = isJson ? JSON.stringify(Object.fromEntries(form ?? [])) : form?.toString();
    const answer = await operator.fetch(url, reach, {
      method,
      headers: isJson ? { ...headers, 'content-type': 'application/json' } : headers,
      ...(sent === undefined ? {} : { body: sent }),
      ...(signal ? { signal } : {}),
    });
    const heard = { status: answer.status, type: answer.headers['content-type'] ?? '', text: answer.text };
    const said = isForToken ? read(heard) : heard;
    const hasBody = said.status !== 204 && said.status !== 304 && said.status >= 200;
    // RFC 6749 §5.2: a refused secret brings a challenge, for which the client would leave the body unread.
    const { 'www-authenticate': _challenge, ...kept } = answer.headers;
    return new Response(hasBody ? said.text : undefined, {
      status: said.status,
      headers: { ...kept, 'content-type': said.type },
    });
  };
}

/** RFC 6749 §2.3.1. The encoding leaves `-`, `.` and `_` alone, which some servers that don't decode need. */
function basic(clientSecret: string): openid.ClientAuth {
  const encoded = (text: string): string => new URLSearchParams({ '': text }).toString().slice(1);
  return (_server, { client_id: clientId }, _body, headers) => {
    const pair = Buffer.from(`${encoded(clientId)}:${encoded(clientSecret)}`).toString('base64');
    headers.set('authorization', `Basic ${pair}`);
  };
}
