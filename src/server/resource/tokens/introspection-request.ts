/**
 * The question that introspection asks (RFC 7662 §2.1), and how this server proves who it is.
 *
 * Invariant: the token goes to the one introspection endpoint of its issuer, over https, in a body. Time and size of
 * the answer are bounded.
 */
import { importJWK, SignJWT, type CryptoKey, type JWK } from 'jose';
import { deadline, send, type Http, type HttpReply } from '../../../oauth/base/http.ts';

/** Who this server is at its authorization server. */
export type IntrospectionClient =
  | {
      readonly id: string;
      readonly secret: string;
      /** `client_secret_basic` unless given. */
      readonly method?: 'client_secret_basic' | 'client_secret_post';
    }
  | {
      readonly id: string;
      /** Signs an assertion for each question (`private_key_jwt`, RFC 7523). A JWK names its `alg`. */
      readonly privateKey: JWK;
    };

export interface Question {
  readonly endpoint: string;
  readonly issuer: string;
  readonly token: string;
  readonly client: IntrospectionClient;
  readonly timeoutSeconds: number;
}

/** Rejects with Unreachable, or insecure_url. */
export async function ask(question: Question, http: Http): Promise<HttpReply> {
  const { endpoint, token, timeoutSeconds } = question;
  // RFC 7662 §2.1: the hint may help the server, and says what this server takes.
  const form = new URLSearchParams({ token, token_type_hint: 'access_token' });
  const headers: Record<string, string> = {
    accept: 'application/json',
    'content-type': 'application/x-www-form-urlencoded',
  };
  await authenticate(question, form, headers, http);
  return send(
    http,
    {
      url: endpoint,
      what: 'the introspection endpoint',
      method: 'POST',
      headers,
      body: form.toString(),
      signal: deadline(http, timeoutSeconds * 1000),
    },
    'authorization_server_unreachable',
  );
}

async function authenticate(
  { client, issuer }: Question,
  form: URLSearchParams,
  headers: Record<string, string>,
  http: Http,
): Promise<void> {
  if ('privateKey' in client) {
    form.set('client_id', client.id);
    form.set('client_assertion_type', 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer');
    form.set('client_assertion', await assertion(client.id, client.privateKey, issuer, http));
  } else if (client.method === 'client_secret_post') {
    form.set('client_id', client.id);
    form.set('client_secret', client.secret);
  } else {
    // RFC 6749 §2.3.1: both parts are form-encoded first.
    const credentials = [client.id, client.secret].map(encodeURIComponent).join(':');
    headers['authorization'] = `Basic ${btoa(credentials)}`;
  }
}

/** RFC 7523 §3: for this issuer, for a minute, once. */
async function assertion(id: string, jwk: JWK, issuer: string, http: Http): Promise<string> {
  const key = (await importJWK(jwk)) as CryptoKey;
  const now = Math.floor(http.wall() / 1000);
  return new SignJWT()
    .setProtectedHeader({ alg: jwk.alg ?? 'ES256', ...(jwk.kid === undefined ? {} : { kid: jwk.kid }) })
    .setIssuer(id)
    .setSubject(id)
    .setAudience(issuer)
    .setJti(crypto.randomUUID())
    .setIssuedAt(now)
    .setExpirationTime(now + 60)
    .sign(key);
}
