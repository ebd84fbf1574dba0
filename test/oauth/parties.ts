/** The parties that the unit tests share: one authorization server and one registration at it. */
import type { AuthorizationServer } from '../../src/oauth/discovery/authorization-server.ts';
import type { Registration } from '../../src/oauth/client/registration.ts';

export function serverAt(origin: string, changes: Partial<AuthorizationServer> = {}): AuthorizationServer {
  return {
    issuer: origin,
    authorizationEndpoint: `${origin}/authorize`,
    tokenEndpoint: `${origin}/token`,
    registrationEndpoint: `${origin}/register`,
    revocationEndpoint: `${origin}/revoke`,
    issParameterSupported: false,
    clientIdMetadataDocumentSupported: false,
    metadata: {},
    ...changes,
  };
}

export function registrationAt(issuer: string, changes: Partial<Registration> = {}): Registration {
  return {
    issuer,
    clientId: 'client-1.a_b',
    source: 'dynamic',
    tokenEndpointAuthMethod: 'none',
    redirectUri: 'http://127.0.0.1:4711/callback',
    registeredAt: 0,
    ...changes,
  };
}
