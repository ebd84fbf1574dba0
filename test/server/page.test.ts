/** A Chromium page that signs in at our authorization server and calls our protected server by the SDK. */
import path from 'node:path';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { build } from 'vite';
import { expect, it, onTestFinished } from 'vitest';
import { throwAwayCertificates } from '../../src/serve/certificate.ts';
import { listenOnLoopback } from '../../src/serve/tls-listener.ts';
import { trustingFetch } from '../../src/serve/trusting-fetch.ts';
import { jwt, protectedServer } from '../../src/server/index.ts';
import { fetchListener } from '../../src/server/node.ts';
import { openBrowserProfile } from '../support/browsers/browser.ts';
import { startLoopbackServer } from '../support/servers/loopback-server.ts';
import { startServer } from './authorization/rig.ts';

const clients = path.join(import.meta.dirname, '../clients');
const program = path.join(clients, 'programs/page.mjs');

/** The page as one script. */
async function bundled(): Promise<string> {
  const built = await build({
    configFile: false,
    logLevel: 'silent',
    build: { write: false, minify: false, rolldownOptions: { input: program } },
  });
  const [output] = [built].flat().flatMap((each) => ('output' in each ? each.output : []));
  return output?.type === 'chunk' ? output.code : '';
}

/** A protected server behind its authorization server; answers what a browser has to trust. */
async function start() {
  const certificates = await throwAwayCertificates();
  const listener = await listenOnLoopback(certificates, 0);
  const resource = `${listener.origin}/mcp`;
  const scopes = { 'notes:read': 'Read your notes' };
  const login = await startServer({ resources: [{ resource, scopes }] }, '', { certificates });
  const trusting = trustingFetch(certificates.ca);
  onTestFinished(async () => {
    await login.close();
    await trusting.close();
    await listener.close();
  });
  const guard = protectedServer({
    resource,
    authorizationServers: [login.issuer],
    tokens: jwt(),
    scopes: { required: ['notes:read'] },
    fetch: trusting.fetch,
  });
  const mcp = createMcpHandler(() => {
    const notes = new McpServer({ name: 'notes', version: '1.0.0' });
    notes.registerTool('who', {}, ({ http }) => ({
      content: [{ type: 'text', text: `${String(http?.authInfo?.extra?.['sub'])} was here` }],
    }));
    return notes;
  });
  listener.serve(fetchListener(guard, (request, { authInfo }) => mcp.fetch(request, { authInfo })));
  return { resource, issuer: login.issuer, ca: certificates.ca };
}

it('a page with the protocol’s SDK registers, signs in, and calls a tool', async () => {
  const { resource, issuer, ca } = await start();
  const script = await bundled();
  const origin = await startLoopbackServer((request, response) => {
    const isScript = request.url === '/page.js';
    response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html');
    response.end(isScript ? script : '<body>…<script type="module" src="/page.js"></script></body>');
  });
  const profile = await openBrowserProfile({ ca, origins: [resource, issuer] });
  onTestFinished(() => profile.close());
  await profile.page.goto(`${origin}/?resource=${encodeURIComponent(resource)}`);
  const said = profile.page.getByText(/was here|failed/);
  // A failure is shown at once; else the page leaves for the sign-in.
  await Promise.race([profile.page.waitForURL(`${issuer}/**`), said.waitFor()]);
  if (profile.page.url().startsWith(issuer)) await profile.open(profile.page.url());
  await said.waitFor();
  expect(await said.innerText()).toBe('alice was here');
});
