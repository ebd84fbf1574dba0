/** The protected server of docs/servers/protected-server.md runs as it stands there; the tables of options are whole. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { bearerChallenge } from '../../src/oauth/discovery/challenge.ts';
import { signIn } from '../support/sign-in.ts';
import { freePort } from '../support/servers/port.ts';
import { openWorld } from '../support/world.ts';
import type { TestWorld } from '../support/world.ts';
import { page, root, tableRows } from './pages.ts';
import { countedLines, printedProgram, runPrinted } from './printed-program.ts';
import type { RunningProgram } from './printed-program.ts';

const subpath = '@keyturn/server';

describe('the example', () => {
  let world: TestWorld;
  let program: RunningProgram;
  let resource: string;

  beforeAll(async () => {
    world = await openWorld({ accessTokenFormat: 'jwt' });
    resource = `http://127.0.0.1:${await freePort()}/mcp`;
    const { issuer } = world.authorizationServer;
    world.authorizationServer.addResource({
      resource,
      scopes: ['notes:read', 'notes:write'],
      defaultScopes: ['notes:read'],
    });
    const env = { NODE_EXTRA_CA_CERTS: world.caFile };
    program = await runPrinted(subpath, { words: [resource, issuer], url: resource, env });
  });

  afterAll(async () => {
    program.close();
    await world.close();
  });

  it('is fifteen lines without its imports and empty lines', () => {
    const code = printedProgram(subpath);
    expect(countedLines(code)).toBeGreaterThan(5);
    expect(countedLines(code)).toBeLessThanOrEqual(15);
  });

  it('RS-3: leads a client from its challenge to its metadata', async () => {
    const refused = await fetch(resource, { method: 'POST' });
    const challenge = bearerChallenge(refused.headers.get('www-authenticate') ?? '');
    expect([refused.status, challenge?.scope, challenge?.error]).toEqual([401, ['notes:read'], undefined]);
    const found = await fetch(challenge?.resourceMetadata ?? '');
    expect(await found.json()).toMatchObject({
      resource,
      authorization_servers: [world.authorizationServer.issuer],
    });
  });

  it('RS-1: takes a token of its issuer, and asks for the scope of a tool', async () => {
    const narrow = await signIn(world, { scope: 'notes:read', resource });
    const body = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'add-note' },
    });
    const headers = { authorization: `Bearer ${narrow.tokens.access_token}` };
    const refused = await fetch(resource, { method: 'POST', headers, body });
    const challenge = bearerChallenge(refused.headers.get('www-authenticate') ?? '');
    expect([refused.status, challenge?.error]).toEqual([403, 'insufficient_scope']);

    const wide = await signIn(world, { scope: challenge?.scope?.join(' ') ?? '', resource });
    const transport = new StreamableHTTPClientTransport(new URL(resource), {
      requestInit: { headers: { authorization: `Bearer ${wide.tokens.access_token}` } },
    });
    const client = new Client({ name: 'test', version: '1.0.0' });
    await client.connect(transport);
    expect(await client.callTool({ name: 'add-note' })).toMatchObject({
      content: [{ text: 'added for alice' }],
    });
    await client.close();
  });

  it('RS-6: refuses a token that the same issuer gave for another server', async () => {
    const { tokens } = await signIn(world, { scope: 'notes:read' });
    const headers = { authorization: `Bearer ${tokens.access_token}` };
    expect((await fetch(resource, { method: 'POST', headers })).status).toBe(401);
  });
});

describe('docs/servers/protected-server.md', () => {
  const rows = tableRows(page('docs/servers/protected-server.md').text).map(([name = '']) =>
    name.replaceAll('`', ''),
  );

  it.each([
    ['protectedServer', 'src/server/resource/options.ts', 'ProtectedServerOptions'],
    ['jwt', 'src/server/resource/tokens/jwt.ts', 'JwtOptions'],
    ['introspection', 'src/server/resource/tokens/introspection.ts', 'IntrospectionOptions'],
  ])('has a row for each option of %s', (_what, file, name) => {
    const source = readFileSync(path.join(root, file), 'utf8');
    const [, after = ''] = source.split(`export interface ${name} {\n`);
    const [body = ''] = after.split('\n}\n');
    const options = [...body.matchAll(/^ {2}readonly (\w+)/gm)].map(([, option]) => option);
    expect(options.length).toBeGreaterThan(4);
    expect(options.filter((option) => !rows.includes(option ?? ''))).toEqual([]);
  });
});
