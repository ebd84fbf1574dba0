/** The headless user agent as a process, the way a broker opens it in place of a browser. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import * as client from 'openid-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openWorld, type TestWorld } from '../support/world.ts';
import { register } from '../support/sign-in.ts';

const script = 'demo/user-agent.ts';

let world: TestWorld;
/** What the loopback address received and what it answers. */
const loopback = { port: 0, requests: [] as URL[], cookies: [] as (string | undefined)[], status: 200 };
const listener = createServer((request, response) => {
  loopback.requests.push(new URL(request.url ?? '/', 'http://127.0.0.1'));
  loopback.cookies.push(request.headers.cookie);
  response.writeHead(loopback.status).end('done');
});

beforeAll(async () => {
  world = await openWorld();
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  loopback.port = (listener.address() as AddressInfo).port;
});
afterAll(async () => {
  listener.close();
  listener.closeAllConnections();
  await world.close();
});

async function authorizationUrl(redirectHost = '127.0.0.1'): Promise<string> {
  const config = await register(world);
  const { href } = client.buildAuthorizationUrl(config, {
    redirect_uri: `http://${redirectHost}:${loopback.port}/callback`,
    code_challenge: await client.calculatePKCECodeChallenge(client.randomPKCECodeVerifier()),
    code_challenge_method: 'S256',
    state: 'the-state',
    resource: world.protectedServer.resource,
  });
  return href;
}

async function run(args: string[], env: NodeJS.ProcessEnv = { NODE_EXTRA_CA_CERTS: world.caFile }) {
  const child = spawn(process.execPath, [script, ...args], {
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  return { out, err, code: code as number };
}

describe('the user agent', () => {
  it('brings a code to the loopback address and no cookie with it', async () => {
    loopback.status = 200;
    const result = await run(['--account', 'bob', await authorizationUrl()]);
    expect(result).toEqual({ out: '', err: '', code: 0 });
    expect(loopback.requests.at(-1)?.searchParams.get('code')).toBeTypeOf('string');
    expect(loopback.requests.at(-1)?.searchParams.get('state')).toBe('the-state');
    expect(loopback.cookies.at(-1)).toBeUndefined();
  });

  it('brings a denial when it is told to deny', async () => {
    const result = await run(['--deny', await authorizationUrl()], { KEYTURN_DEMO_CA: world.caFile });
    expect(result.code).toBe(0);
    expect(loopback.requests.at(-1)?.searchParams.get('error')).toBe('access_denied');
  });

  it('fails with one sentence when the loopback address refuses', async () => {
    loopback.status = 400;
    const result = await run([await authorizationUrl()]);
    loopback.status = 200;
    expect(result).toEqual({ out: '', err: 'The loopback address answered 400.\n', code: 1 });
  });

  it('fails with one sentence that has no part of the query when nobody listens', async () => {
    const url = new URL(await authorizationUrl());
    // Port 9 is the discard service, which no machine of today runs.
    url.searchParams.set('redirect_uri', 'http://127.0.0.1:9/callback');
    const { err, code } = await run([url.href]);
    expect(code).toBe(1);
    expect(err).toMatch(/^[^\n]+\n$/);
    expect(err).not.toContain('the-state');
  });

  it('fails with one sentence at an authority that it was not told to trust', async () => {
    const { err, code } = await run([await authorizationUrl()], {});
    expect(code).toBe(1);
    expect(err).toMatch(/^[^\n]+\n$/);
  });

  it('repeats what the page of a refusal says', async () => {
    const { err, code } = await run(['--account', 'mallory', await authorizationUrl()]);
    expect(code).toBe(1);
    expect(err).toContain('There is no such account.');
  });

  it.each([['no URL'], ['not-a-url']])('shows its usage for %s', async (argument) => {
    const { err, code } = await run(argument === 'no URL' ? [] : [argument]);
    expect(code).toBe(1);
    expect(err).toContain('usage:');
  });

  it('follows no redirect to an http address outside of this machine', async () => {
    const { err, code } = await run(['http://192.0.2.1/']);
    expect(code).toBe(1);
    expect(err).toContain("isn't https");
  });
});
