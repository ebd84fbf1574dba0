/** The authorization server of docs/servers/authorization-server.md runs as it stands there; its table is whole. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../support/servers/port.ts';
import { page, root, tableRows } from './pages.ts';
import { countedLines, printedProgram, runPrinted } from './printed-program.ts';
import type { RunningProgram } from './printed-program.ts';

const subpath = '@keyturn/server/authorization';
const resource = 'http://127.0.0.1:8080/mcp';

describe('the example of an authorization server', () => {
  let program: RunningProgram;
  let issuer: string;

  beforeAll(async () => {
    issuer = `http://127.0.0.1:${await freePort()}`;
    program = await runPrinted(subpath, { words: [issuer, resource, '{folder}/login.db'], url: issuer });
  });

  afterAll(() => program.close());

  it('is twenty lines without its imports and empty lines', () => {
    const code = printedProgram(subpath);
    expect(countedLines(code)).toBeGreaterThan(5);
    expect(countedLines(code)).toBeLessThanOrEqual(20);
  });

  it('registers a client and shows the sign-in page to its browser', async () => {
    const found = await fetch(`${issuer}/.well-known/oauth-authorization-server`);
    expect(await found.json()).toMatchObject({ issuer, code_challenge_methods_supported: ['S256'] });
    const redirectUri = 'http://127.0.0.1:9/callback';
    const registered = await fetch(`${issuer}/reg`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ redirect_uris: [redirectUri], token_endpoint_auth_method: 'none' }),
    });
    const { client_id: clientId } = (await registered.json()) as { client_id: string };
    const query = new URLSearchParams({
      client_id: clientId,
      redirect_uri: redirectUri,
      response_type: 'code',
      resource,
      code_challenge: 'c'.repeat(43),
      code_challenge_method: 'S256',
    });
    const answer = await fetch(`${issuer}/auth?${query.toString()}`, { redirect: 'manual' });
    const cookie = answer.headers
      .getSetCookie()
      .map((each) => each.split(';')[0])
      .join('; ');
    const next = new URL(answer.headers.get('location') ?? '', issuer);
    expect(next.origin).toBe(issuer);
    const shown = await fetch(next, { headers: { cookie } });
    expect([shown.status, await shown.text()]).toEqual([200, expect.stringContaining('alice')]);
  });
});

describe('docs/servers/authorization-server.md', () => {
  it('has a row for each option of authorizationServer', () => {
    const rows = tableRows(page('docs/servers/authorization-server.md').text).map(([name = '']) =>
      name.replaceAll('`', ''),
    );
    const source = readFileSync(path.join(root, 'src/server/authorization/options.ts'), 'utf8');
    const [, after = ''] = source.split('export interface AuthorizationServerOptions {\n');
    const [body = ''] = after.split('\n}\n');
    const options = [...body.matchAll(/^ {2}readonly (\w+)/gm)].map(([, option]) => option);
    expect(options.length).toBeGreaterThan(10);
    expect(options.filter((option) => !rows.includes(option ?? ''))).toEqual([]);
  });
});
