/** `keyturn dev-server` as a person starts it: the broker signs in there, and what it refuses. */
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { trustingFetch } from '../../../src/serve/trusting-fetch.ts';
import { codeBlocks, page, root } from '../../docs/pages.ts';
import { newHome, type Running, type TestHome } from '../../support/home.ts';
import { freePort } from '../../support/servers/port.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const addresses = z.strictObject({
  issuer: z.url(),
  resource: z.url(),
  upstream: z.url().optional(),
  authorities: z.string(),
});

type Served = z.infer<typeof addresses> & { readonly running: Running };

function configurationFile(configuration: unknown): string {
  const file = path.join(temporaryFolder(), 'serve.json');
  writeFileSync(file, typeof configuration === 'string' ? configuration : JSON.stringify(configuration));
  return file;
}

const freePorts = { authorizationServer: { port: 0 }, protectedServer: { port: 0 } };

/** Ports that nobody else is given between two starts. */
const keptPorts = async (lifetime: object = {}) => ({
  authorizationServer: { port: await freePort(), ...lifetime },
  protectedServer: { port: await freePort() },
});

/** With free ports in place of the documented ones. */
async function serve(home: TestHome, configuration: object = {}): Promise<Served> {
  const file = configurationFile({ ...freePorts, ...configuration });
  const running = home.start(['dev-server', '--json', '--events', '--config', file]);
  return { running, ...addresses.parse(JSON.parse(await running.prints('}\n'))) };
}

/** A home whose browser signs in as alice there. */
function homeAt({ authorities }: Served): TestHome {
  const agent = path.join(root, 'demo', 'user-agent.ts');
  return newHome({
    env: { NODE_EXTRA_CA_CERTS: authorities, KEYTURN_BROWSER: `${process.execPath} ${agent}` },
  });
}

async function clientOf({ authorities, resource }: Served, token: string): Promise<Client> {
  const { fetch } = trustingFetch(readFileSync(authorities, 'utf8'));
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  const client = new Client({ name: 'test', version: '1.0.0' });
  await client.connect(new StreamableHTTPClientTransport(new URL(resource), { fetch, requestInit }));
  return client;
}

it('the broker signs in at `keyturn dev-server`, which asks for scopes', async () => {
  const place = newHome();
  const served = await serve(place);
  const home = homeAt(served);
  await home.ok(['app', 'allow', 'cli', served.resource, '--scope', 'notes:read notes:write']);
  const reader = await clientOf(served, (await home.ok(['token', served.resource])).trim());
  expect(await reader.callTool({ name: 'list-notes' })).toMatchObject({
    content: [{ text: '{"account":"alice","notes":[]}' }],
  });
  await expect(reader.callTool({ name: 'add-note', arguments: { note: 'one' } })).rejects.toMatchObject({
    name: 'InsufficientScopeError',
    requiredScope: 'notes:read notes:write',
  });
  await reader.close();

  const scope = ['--scope', 'notes:read notes:write'];
  const writer = await clientOf(served, (await home.ok(['token', served.resource, ...scope])).trim());
  expect(await writer.callTool({ name: 'add-note', arguments: { note: 'one' } })).toMatchObject({
    content: [{ text: '{"account":"alice","notes":["one"]}' }],
  });
  await writer.close();

  served.running.signal('SIGINT');
  const { code, stderr } = await served.running.ended;
  expect(code).toBe(0);
  const told = stderr
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { event: { kind?: string } });
  const kinds = told.map(({ event }) => event.kind);
  expect(kinds.filter((kind) => kind === 'signed_in')).toHaveLength(2);
  expect(kinds).toContain('registered');
  // Nothing is left of a trial whose folder nobody named.
  expect(existsSync(served.authorities)).toBe(false);
});

it('`keyturn dev-server` with a folder keeps its certificate and clients', async () => {
  const folder = path.join(temporaryFolder(), 'trial');
  const place = newHome();
  const lifetime = { accessTokenSeconds: 1 };
  const first = await serve(place, { folder, ...(await keptPorts(lifetime)) });
  const home = homeAt(first);
  await home.ok(['app', 'allow', 'cli', first.resource]);
  await home.ok(['token', first.resource]);
  const { port: issuerPort } = new URL(first.issuer);
  const { port: resourcePort } = new URL(first.resource);
  first.running.signal('SIGTERM');
  await first.running.ended;

  const again = await serve(place, {
    folder,
    authorizationServer: { port: Number(issuerPort), ...lifetime },
    protectedServer: { port: Number(resourcePort) },
  });
  // The same sign-in is renewed: by the client and the refresh token of before, and the same authority.
  await home.ok(['token', again.resource, '--min-validity', '1s']);
  expect(statSync(path.join(folder, 'certificate.json')).mode & 0o777).toBe(0o600);
  again.running.signal('SIGTERM');
  expect((await again.running.ended).stderr).not.toContain('signed_in');
});

it('the broker signs in at `keyturn dev-server` in third-party mode', async () => {
  const place = newHome();
  const kept = { folder: path.join(temporaryFolder(), 'trial') };
  const first = await serve(place, { ...kept, ...(await keptPorts()), upstream: { port: await freePort() } });
  const home = homeAt(first);
  const scope = 'notes:read notes:write';
  await home.ok(['app', 'allow', 'cli', first.resource, '--scope', scope]);
  const token = (await home.ok(['token', first.resource, '--scope', scope])).trim();
  const writer = await clientOf(first, token);
  const account = `${first.upstream}#alice`;
  const noted = { content: [{ text: JSON.stringify({ account, notes: ['one'] }) }] };
  expect(await writer.callTool({ name: 'add-note', arguments: { note: 'one' } })).toMatchObject(noted);
  expect(await writer.callTool({ name: 'list-notes' })).toMatchObject(noted);
  await writer.close();
  // The token of the client is no token of the service.
  const api = new URL('/api', first.upstream);
  const { fetch } = trustingFetch(readFileSync(first.authorities, 'utf8'));
  expect((await fetch(api, { headers: { authorization: `Bearer ${token}` } })).status).toBe(401);
  first.running.signal('SIGTERM');
  const { stderr } = await first.running.ended;
  expect(stderr).toContain('{"server":"upstream","event":{"kind":"signed_in"');

  const again = await serve(place, {
    ...kept,
    authorizationServer: { port: Number(new URL(first.issuer).port) },
    protectedServer: { port: Number(new URL(first.resource).port) },
    upstream: { port: Number(api.port) },
  });
  const reader = await clientOf(again, token);
  expect(await reader.callTool({ name: 'list-notes' })).toMatchObject({
    content: [{ text: JSON.stringify({ account, notes: [] }) }],
  });
  await reader.close();
  // A session ends with its refresh token, at both servers.
  await home.ok(['logout', first.resource]);
  expect((await fetch(again.resource, { headers: { authorization: `Bearer ${token}` } })).status).toBe(401);
  // The answer to the revocation doesn't wait for the service behind.
  await again.running.says('"kind":"upstream_revoked"');
  again.running.signal('SIGTERM');
  await again.running.ended;
});

it('`keyturn dev-server` takes the configuration that its page shows', async () => {
  const shown =
    codeBlocks(page('docs/servers/dev-server.md'), 'json').find((each) => each.includes('"folder"')) ?? '';
  const configuration = z.record(z.string(), z.looseObject({}).or(z.string())).parse(JSON.parse(shown));
  const { authorizationServer, protectedServer } = configuration;
  const served = await serve(newHome(), {
    ...configuration,
    authorizationServer: { ...z.looseObject({}).parse(authorizationServer), port: 0 },
    protectedServer: { ...z.looseObject({}).parse(protectedServer), port: 0 },
  });
  served.running.signal('SIGHUP');
  expect((await served.running.ended).code).toBe(0);
});
