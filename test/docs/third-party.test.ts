/** The third-party flow of docs/servers/third-party.md runs as it stands there; its table is whole. */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../support/servers/port.ts';
import { page, root, tableRows } from './pages.ts';
import { countedLines, printedProgram, runPrinted } from './printed-program.ts';
import type { RunningProgram } from './printed-program.ts';

const subpath = '@keyturn/server/third-party';

describe('the example of a third-party flow', () => {
  let program: RunningProgram;
  let origin: string;

  beforeAll(async () => {
    origin = `http://127.0.0.1:${await freePort()}`;
    program = await runPrinted(subpath, {
      words: [origin, 'https://login.example', 'https://api.example', '{folder}/sessions.db'],
      url: origin,
      env: { SEALING_KEY: randomBytes(32).toString('base64'), UPSTREAM_SECRET: 'of-this-test' },
    });
  });

  afterAll(() => program.close());

  it('is twenty lines without its imports and empty lines', () => {
    const code = printedProgram(subpath);
    expect(countedLines(code)).toBeGreaterThan(5);
    expect(countedLines(code)).toBeLessThanOrEqual(20);
  });

  it('asks a client without a token to sign in, and a person for consent before anything else', async () => {
    const challenged = await fetch(`${origin}/mcp`, { method: 'POST' });
    expect(challenged.status).toBe(401);
    const [, metadata = ''] =
      /resource_metadata="([^"]*)"/.exec(challenged.headers.get('www-authenticate') ?? '') ?? [];
    expect(await (await fetch(metadata)).json()).toMatchObject({ authorization_servers: [`${origin}/id`] });
    const redirectUri = 'http://127.0.0.1:9/callback';
    const registered = await fetch(`${origin}/id/reg`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ redirect_uris: [redirectUri], token_endpoint_auth_method: 'none' }),
    });
    const { client_id: clientId } = (await registered.json()) as { client_id: string };
    const query = new URLSearchParams({
      client_id: clientId,
      redirect_uri: redirectUri,
      response_type: 'code',
      resource: `${origin}/mcp`,
      code_challenge: 'c'.repeat(43),
      code_challenge_method: 'S256',
    });
    const answer = await fetch(`${origin}/id/auth?${query.toString()}`, { redirect: 'manual' });
    const cookie = answer.headers
      .getSetCookie()
      .map((each) => each.split(';')[0])
      .join('; ');
    const shown = await fetch(new URL(answer.headers.get('location') ?? '', origin), { headers: { cookie } });
    expect([shown.status, await shown.text()]).toEqual([200, expect.stringContaining('login.example')]);
  });
});

describe('docs/servers/third-party.md', () => {
  it('has a row for each option of the upstream and of the session', () => {
    const rows = tableRows(page('docs/servers/third-party.md').text).map(([name = '']) =>
      name.replaceAll('`', ''),
    );
    const source = readFileSync(path.join(root, 'src/server/third-party/options.ts'), 'utf8');
    const options = ['upstream', 'session'].flatMap((part) => {
      const name = `${part[0]?.toUpperCase()}${part.slice(1)}Options`;
      const [, after = ''] = source.split(`export interface ${name} {\n`);
      const [body = ''] = after.split('\n}\n');
      return [...body.matchAll(/^ {2}readonly (\w+)/gm)].map(([, option]) => `${part}.${option}`);
    });
    expect(options.length).toBeGreaterThan(10);
    expect(options.filter((option) => !rows.includes(option))).toEqual([]);
  });
});
