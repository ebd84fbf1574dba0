/** The authorization server of README and docs/authorization-server.md runs as it stands there; its table is whole. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../support/home.ts';
import { freePort } from '../support/servers/port.ts';
import { codeBlocks, page, root, tableRows } from './pages.ts';

const example = (name: string): string =>
  codeBlocks(page(name), 'ts').find((code) => code.includes('keyturn/server/authorization')) ?? '';

describe('the example of an authorization server', () => {
  let folder: string;
  let program: ChildProcess;
  let issuer: string;

  beforeAll(async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'kt-authorization-'));
    const modules = path.join(folder, 'node_modules', 'keyturn');
    mkdirSync(modules, { recursive: true });
    writeFileSync(path.join(folder, 'server.mts'), example('README.md'));
    symlinkSync(path.join(root, 'src'), path.join(modules, 'src'));
    const exports = { './server/authorization': './src/server/authorization/index.ts' };
    writeFileSync(
      path.join(modules, 'package.json'),
      JSON.stringify({ name: 'keyturn', type: 'module', exports }),
    );
    issuer = `http://127.0.0.1:${await freePort()}`;
    const file = path.join(folder, 'login.db');
    program = spawn(
      process.execPath,
      [path.join(folder, 'server.mts'), issuer, 'http://127.0.0.1:8080/mcp', file],
      {
        env: { PATH: process.env['PATH'] },
        stdio: ['ignore', 'ignore', 'inherit'],
      },
    );
    await until('the example listens', () =>
      fetch(issuer).then(
        () => true,
        () => undefined,
      ),
    );
  });

  afterAll(() => {
    program.kill();
    rmSync(folder, { recursive: true });
  });

  it('is the same on both pages, and twenty lines without its imports and empty lines', () => {
    expect(example('docs/authorization-server.md')).toBe(example('README.md'));
    const lines = example('README.md')
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('import '));
    expect(lines.length).toBeGreaterThan(5);
    expect(lines.length).toBeLessThanOrEqual(20);
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
      resource: 'http://127.0.0.1:8080/mcp',
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

describe('docs/authorization-server.md', () => {
  it('has a row for each option of authorizationServer', () => {
    const rows = tableRows(page('docs/authorization-server.md').text).map(([name = '']) =>
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
