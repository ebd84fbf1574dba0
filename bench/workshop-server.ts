/**
 * The bridge's server for its bench, in a process of its own: an authorization server and a protected server over HTTPS. A
 * token is asked about once in five minutes, so that the time of a call is that of its way. Prints its addresses as one line of JSON.
 */
import { startAuthorizationServer } from '../test/support/world/authorization-server.ts';
import { throwAwayCertificates } from '../src/serve/certificate.ts';
import { notebookScopes } from '../test/support/world/notebook.ts';
import { basicScopes, startProtectedServer } from '../test/support/world/protected-server.ts';
import { introspectionAt } from '../test/support/world/servers.ts';
import { trustingFetch } from '../src/serve/trusting-fetch.ts';
import { workshop } from '../test/support/servers/workshop.ts';

const certificates = await throwAwayCertificates();
const { fetch } = trustingFetch(certificates.ca);
const authorizationServer = await startAuthorizationServer({
  accessTokenLifetime: 3600,
  certificates,
  port: 0,
  scopes: notebookScopes,
});
const protectedServer = await startProtectedServer({
  certificates,
  issuer: authorizationServer.issuer,
  service: workshop(),
  tokens: introspectionAt(authorizationServer.introspection, 300),
  fetch,
});
authorizationServer.addResource({
  resource: protectedServer.resource,
  scopes: notebookScopes,
  defaultScopes: basicScopes,
});
process.stdout.write(`${JSON.stringify({ resource: protectedServer.resource, ca: certificates.ca })}\n`);
