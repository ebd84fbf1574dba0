/**
 * The bridge's server for its bench, in a process of its own: an authorization server and a protected server over HTTPS. A
 * token is checked once and remembered, so that the time of a call is that of its way. Prints its addresses as one line of JSON.
 */
import type { AuthInfo } from '@modelcontextprotocol/sdk/server/auth/types.js';
import { startAuthorizationServer } from '../demo/servers/authorization-server.ts';
import { throwAwayCertificates } from '../demo/servers/certificate.ts';
import { notebookScopes } from '../demo/servers/notebook.ts';
import { basicScopes, startProtectedServer } from '../demo/servers/protected-server.ts';
import { introspectionVerifier } from '../demo/servers/token-verifier.ts';
import { trustingFetch } from '../demo/servers/trusting-fetch.ts';
import { workshop } from '../test/support/servers/workshop.ts';

const certificates = await throwAwayCertificates();
const { fetch } = trustingFetch(certificates.ca);
const authorizationServer = await startAuthorizationServer({
  accessTokenLifetime: 3600,
  certificates,
  port: 0,
  scopes: notebookScopes,
});
const introspect = introspectionVerifier(authorizationServer.introspection, fetch);
const protectedServer = await startProtectedServer({
  certificates,
  issuer: authorizationServer.issuer,
  service: workshop(),
  verifier: (resource) => {
    const checked = new Map<string, Promise<AuthInfo>>();
    const verifier = introspect(resource);
    return {
      verifyAccessToken: async (token) => {
        const info = checked.get(token) ?? verifier.verifyAccessToken(token);
        checked.set(token, info);
        return info;
      },
    };
  },
});
authorizationServer.addResource({
  resource: protectedServer.resource,
  scopes: notebookScopes,
  defaultScopes: basicScopes,
});
process.stdout.write(`${JSON.stringify({ resource: protectedServer.resource, ca: certificates.ca })}\n`);
