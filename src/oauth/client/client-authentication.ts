/**
 * Client authentication at the token endpoint: none, a secret, or a signed assertion.
 *
 * Invariant: a secret is only in the requests that need it. A private key never leaves this process. No error
 * contains a part of either.
 */
import { createPrivateKey, type KeyObject } from 'node:crypto';
import { modifyAssertion, None, PrivateKeyJwt, type ClientAuth } from 'openid-client';
import { KeyturnError, quoted, shellWord } from '../../base/errors.ts';
import type { TokenServer } from '../discovery/authorization-server.ts';
import { parseJsonObject } from '../base/json-object.ts';
import type { Registration, SigningAlg } from './registration.ts';

/** Our identity as a client at an issuer; every `Registration` has it. */
export type ClientIdentity = Pick<
  Registration,
  'issuer' | 'clientId' | 'tokenEndpointAuthMethod' | 'isAuthMethodAssumed' | 'signingAlg'
>;

export interface OAuthClient {
  readonly server: TokenServer;
  readonly registration: ClientIdentity;
  /** The client secret; for private_key_jwt the private key, as PEM (PKCS #8, PKCS #1, SEC 1) or as a JWK. */
  readonly clientSecret?: string;
}

/** The library's authentication; secret-form.ts adds a secret. Throws client_rejected for a missing or unusable one. */
export function clientAuthentication(client: OAuthClient): ClientAuth {
  const method = authMethod(client);
  switch (method) {
    case 'none':
      return None();
    case 'client_secret_basic':
    case 'client_secret_post':
      requireSecret(client);
      // Added when it is sent.
      return () => undefined;
    case 'private_key_jwt':
      return assertionAuthentication(client, requireSecret(client));
  }
}

/**
 * The method of the registration. RFC 6749 §2.3.1: every server MUST support Basic. So if the method is only assumed,
 * it changes to client_secret_post only for a server that offers that and not the assumed one.
 */
export function authMethod(client: OAuthClient): ClientIdentity['tokenEndpointAuthMethod'] {
  const { tokenEndpointAuthMethod: method, isAuthMethodAssumed } = client.registration;
  const offered = offeredAuthMethods(client);
  if (isAuthMethodAssumed !== true || !offered || offered.includes(method)) return method;
  return offered.includes('client_secret_post') ? 'client_secret_post' : method;
}

/** RFC 8414 §2 (token_endpoint_auth_methods_supported); undefined if the metadata doesn't state it. */
export function offeredAuthMethods({ server }: OAuthClient): readonly unknown[] | undefined {
  const offered = server.metadata['token_endpoint_auth_methods_supported'];
  return Array.isArray(offered) ? offered : undefined;
}

export function requireSecret({ server, clientSecret }: OAuthClient): string {
  if (clientSecret !== undefined) return clientSecret;
  throw new KeyturnError(
    'client_rejected',
    `The client secret or key for ${quoted(server.issuer)} is missing.`,
    { hint: `Enter it again: keyturn oauth-client add ${shellWord(server.issuer)} --client-id ID` },
  );
}

/** RFC 7523 §3 (private_key_jwt): each request has a new assertion, valid for a minute, with the issuer as `aud`. */
function assertionAuthentication(client: OAuthClient, keyText: string): ClientAuth {
  const { key, kid } = readPrivateKey(client, keyText);
  // The usual algorithm for a key of this kind, if the registration names none.
  const usual = (['ES256', 'RS256', 'EdDSA'] as const).find((one) => algorithms[one].fits(key));
  const alg = client.registration.signingAlg ?? usual;
  const algorithm = alg === undefined ? undefined : algorithms[alg];
  if (alg === undefined || !algorithm?.fits(key)) {
    const problem = alg === undefined ? 'no algorithm that we know fits it' : `it can't sign with ${alg}`;
    throw unusableKey(client, problem);
  }
  const cryptoKey = key.toCryptoKey(algorithm.parameters, false, ['sign']);
  return PrivateKeyJwt(kid === undefined ? cryptoKey : { key: cryptoKey, kid }, {
    // RFC 8037 §3.1: EdDSA. The library writes "Ed25519", which most servers don't support yet.
    [modifyAssertion]: (header) => void (header['alg'] = alg),
  });
}

function readPrivateKey(client: OAuthClient, text: string): { key: KeyObject; kid?: string } {
  const jwk = parseJsonObject(text);
  try {
    if (jwk === undefined) return { key: createPrivateKey(text) };
    const { kid } = jwk;
    const key = createPrivateKey({ key: jwk, format: 'jwk' });
    return { key, kid: typeof kid === 'string' ? kid : undefined };
  } catch {
    // The parser's own error could quote the key.
    throw unusableKey(client, 'it is neither a PEM private key without passphrase nor a private JWK');
  }
}

interface Algorithm {
  readonly parameters: Parameters<KeyObject['toCryptoKey']>[0];
  fits(key: KeyObject): boolean;
}

const isRsa = (key: KeyObject): boolean => key.asymmetricKeyType === 'rsa';

const algorithms: Readonly<Record<SigningAlg, Algorithm>> = {
  ES256: {
    parameters: { name: 'ECDSA', namedCurve: 'P-256' },
    fits: (key) => key.asymmetricKeyDetails?.namedCurve === 'prime256v1',
  },
  RS256: { parameters: { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' }, fits: isRsa },
  PS256: { parameters: { name: 'RSA-PSS', hash: 'SHA-256' }, fits: isRsa },
  EdDSA: { parameters: { name: 'Ed25519' }, fits: (key) => key.asymmetricKeyType === 'ed25519' },
};

function unusableKey({ server }: OAuthClient, problem: string): KeyturnError {
  return new KeyturnError(
    'client_rejected',
    `The private key for ${quoted(server.issuer)} can't be used: ${problem}.`,
    {
      rule: 'RFC 7523 §3',
      hint: `Enter it again: keyturn oauth-client add ${shellWord(server.issuer)} --client-id ID --private-key FILE --alg ES256`,
    },
  );
}
