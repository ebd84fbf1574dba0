/**
 * Who a request comes from. A client passes only by the method that it registered (RFC 6749 §2.3), and is really
 * checked.
 */
import { documentRedirectUris } from '../../../src/broker/destination/redirect.ts';
import { clientMetadataDocument } from '../../../src/oauth/client/client-metadata.ts';
import type { RecordedRequest } from './server.ts';
import { verifyJwt } from './jwt.ts';
import { type AuthMethod, type BentClient, type Parts, Refusal } from './parties.ts';

interface Credentials {
  readonly method: AuthMethod;
  readonly clientId: string;
  readonly proof: string;
}

const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

/** Throws a `Refusal`: `invalid_client`, or `invalid_request` for two methods at once. */
export function authenticate(parts: Parts, request: RecordedRequest): BentClient {
  const credentials = credentialsOf(parts, request);
  const client = findClient(parts, credentials.clientId);
  if (client === undefined) throw invalidClient(credentials, 'the client is unknown');
  if (client.authMethod !== credentials.method) {
    throw invalidClient(credentials, `the client is registered for ${client.authMethod}`);
  }
  if (credentials.method === 'private_key_jwt') requireAssertion(parts, client, credentials);
  else if (credentials.method !== 'none' && credentials.proof !== client.secret) {
    throw invalidClient(credentials, 'the secret is wrong');
  }
  return client;
}

/** Where the tests' metadata document is: as `keyturn oauth-client metadata URL` prints it. */
const documentUrl = 'https://keyturn.example/client.json';

/** A registered client, or one by its metadata document where those are taken. */
export function findClient({ clients, settings }: Parts, clientId: string): BentClient | undefined {
  if (settings.refusesDocuments && URL.canParse(clientId)) return undefined;
  const known = clients.get(clientId);
  if (known !== undefined || !settings.clientIdMetadataDocuments) return known;
  if (clientId !== documentUrl) return undefined;
  const { client_name, redirect_uris, grant_types } = clientMetadataDocument(
    documentUrl,
    documentRedirectUris,
  );
  return {
    clientId,
    authMethod: 'none',
    redirectUris: redirect_uris,
    grantTypes: grant_types,
    name: client_name,
  };
}

function credentialsOf(parts: Parts, { headers, form }: RecordedRequest): Credentials {
  const found: Credentials[] = [];
  const basic = /^Basic (.+)$/i.exec(headers.authorization ?? '')?.[1];
  if (basic !== undefined) {
    found.push({ method: 'client_secret_basic', ...basicCredentials(parts, basic) });
  }
  const secret = form.get('client_secret');
  if (secret !== null) {
    found.push({ method: 'client_secret_post', clientId: form.get('client_id') ?? '', proof: secret });
  }
  const assertion = form.get('client_assertion');
  if (assertion !== null) {
    if (form.get('client_assertion_type') !== assertionType) {
      throw new Refusal('invalid_request', 'client_assertion_type is wrong');
    }
    found.push({ method: 'private_key_jwt', clientId: signerOf(parts, assertion), proof: assertion });
  }
  if (found.length > 1) throw new Refusal('invalid_request', 'the client authenticates in two ways');
  return found[0] ?? { method: 'none', clientId: form.get('client_id') ?? '', proof: '' };
}

/** RFC 6749 §2.3.1: both halves are form-encoded before they are joined. */
function basicCredentials({ settings }: Parts, basic: string): Omit<Credentials, 'method'> {
  const joined = Buffer.from(basic, 'base64').toString('utf8');
  const colon = joined.indexOf(':');
  const halves = [joined.slice(0, colon), joined.slice(colon + 1)];
  const [clientId = '', proof = ''] = halves.map((half) => decodings[settings.basicDecoding](half));
  return { clientId, proof };
}

const decodings = {
  /** As most servers do: an `&` or `=` that stands as it is ends nothing. */
  lenient: (text: string): string => decodeURIComponent(text.replaceAll('+', ' ')),
  /** Nothing that a form would escape may stand as it is. */
  strict: (text: string): string => (/^[\w*.%+-]*$/.test(text) ? decodings.lenient(text) : ''),
  none: (text: string): string => text,
};

/** The client whose key signed the assertion; '' for nobody's. */
function signerOf({ clients }: Parts, assertion: string): string {
  const signer = clients.values().find(({ jwk }) => jwk && verifyJwt(assertion, jwk) !== undefined);
  return signer?.clientId ?? '';
}

/** RFC 7523 §3: issuer and subject are the client, the audience is this issuer, once only, not expired. */
function requireAssertion(parts: Parts, client: BentClient, credentials: Credentials): void {
  const claims = client.jwk && verifyJwt(credentials.proof, client.jwk)?.claims;
  if (!claims) throw invalidClient(credentials, 'the assertion is not signed by the client');
  const { iss, sub, aud, exp, jti } = claims;
  const wrong = [
    iss !== client.clientId && 'iss',
    sub !== client.clientId && 'sub',
    // One audience, as a string or as a list of one.
    ([aud].flat().length !== 1 || [aud].flat()[0] !== parts.issuer) && 'aud',
    (typeof exp !== 'number' || exp * 1000 <= parts.settings.now()) && 'exp',
    (typeof jti !== 'string' || parts.store.assertions.has(jti)) && 'jti',
  ].filter((name) => name !== false);
  if (wrong.length > 0) throw invalidClient(credentials, `the assertion is wrong in ${wrong.join(', ')}`);
  parts.store.assertions.add(String(jti));
}

/** RFC 6749 §5.2: 401, with a challenge where the client used the Authorization header. */
function invalidClient({ method }: Credentials, description: string): Refusal {
  const challenge = { 'www-authenticate': 'Basic realm="bent"' };
  return new Refusal('invalid_client', description, 401, method === 'client_secret_basic' ? challenge : {});
}
