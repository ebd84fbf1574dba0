/** A page with the protocol's SDK in a browser: registers itself, signs in, calls a tool, and shows what came. */
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from '@modelcontextprotocol/client';

const asked = new URLSearchParams(location.search);
const read = (name) => JSON.parse(sessionStorage.getItem(name) ?? 'null') ?? undefined;
const write = (name) => (value) => sessionStorage.setItem(name, JSON.stringify(value));
const resource = asked.get('resource');
if (resource) write('resource')(resource);

const redirectUrl = `${location.origin}/`;
const transport = () =>
  new StreamableHTTPClientTransport(new URL(read('resource')), {
    authProvider: {
      redirectUrl,
      clientMetadata: {
        client_name: 'A page',
        redirect_uris: [redirectUrl],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        token_endpoint_auth_method: 'none',
      },
      clientInformation: () => read('client'),
      saveClientInformation: write('client'),
      tokens: () => read('tokens'),
      saveTokens: write('tokens'),
      codeVerifier: () => read('verifier'),
      saveCodeVerifier: write('verifier'),
      discoveryState: () => read('discovery'),
      saveDiscoveryState: write('discovery'),
      redirectToAuthorization: (url) => location.assign(url),
    },
  });

const show = (text) => {
  document.body.textContent = text;
};

try {
  if (asked.has('code')) await transport().finishAuth(asked);
  const client = new Client({ name: 'page', version: '1' });
  await client.connect(transport());
  const { content } = await client.callTool({ name: 'who' });
  show(content[0].text);
} catch (error) {
  if (!(error instanceof UnauthorizedError)) show(`failed: ${String(error)}`);
}
