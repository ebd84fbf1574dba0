/** The conditions that a world can be put under, and what it leaves behind. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { access } from 'node:fs/promises';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import * as client from 'openid-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startWorld } from '../support/world/servers.ts';
import { openWorld, type TestWorld } from '../support/world.ts';
import { register, signIn, type SignedIn } from '../support/sign-in.ts';

/** How a connection to this port ends: `connected` or an error's code. */
async function tryPort(host: string, port: number): Promise<string> {
  const socket = connect(port, host);
  const { promise, resolve } = Promise.withResolvers<string>();
  socket.once('connect', () => resolve('connected'));
  socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.name));
  const outcome = await promise;
  socket.destroy();
  return outcome;
}

async function statusOf(world: TestWorld, token: string, body = '{"jsonrpc":"2.0","id":1,"method":"ping"}') {
  const response = await world.fetch(world.protectedServer.url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      authorization: `Bearer ${token}`,
    },
    body,
  });
  return response.status;
}

async function refresh(
  world: TestWorld,
  { config, tokens }: SignedIn,
): Promise<client.TokenEndpointResponse> {
  const { resource } = world.protectedServer;
  return client.refreshTokenGrant(config, tokens.refresh_token ?? '', { resource });
}

describe('a token endpoint in trouble', () => {
  let world: TestWorld;
  beforeAll(async () => {
    world = await openWorld();
  });
  afterAll(async () => world.close());

  it('answers as many requests with 503 as it was told, and the grant survives', async () => {
    const signedIn = await signIn(world, { scope: 'notes:read' });
    const before = world.counts().authorizationServer;
    world.failTokenRequests(2, { status: 503, retryAfter: 7 });
    await expect(refresh(world, signedIn)).rejects.toMatchObject({ cause: { status: 503 } });
    await expect(refresh(world, signedIn)).rejects.toMatchObject({ cause: { status: 503 } });
    expect((await refresh(world, signedIn)).access_token).toBeTypeOf('string');
    const after = world.counts().authorizationServer;
    expect(after.tokenRequests).toBe(before.tokenRequests + 3);
    expect(after.refreshes).toBe(before.refreshes + 1);
  });

  it('can lose its answer after it rotated the refresh token', async () => {
    const signedIn = await signIn(world, { scope: 'notes:read' });
    const before = world.counts().authorizationServer;
    world.failTokenRequests(1, 'loseAnswer');
    await expect(refresh(world, signedIn)).rejects.toThrow('fetch failed');
    await expect(refresh(world, signedIn)).rejects.toMatchObject({ error: 'invalid_grant' });
    const after = world.counts().authorizationServer;
    expect(after.refreshes).toBe(before.refreshes + 1);
    expect(after.refreshReuses).toBe(before.refreshReuses + 1);
  });

  it('can hold a request until it is released', async () => {
    const signedIn = await signIn(world, { scope: 'notes:read' });
    const before = world.counts().authorizationServer.refreshes;
    const held = world.holdTokenRequests();
    const refreshing = refresh(world, signedIn);
    await held.arrived;
    expect(world.counts().authorizationServer.refreshes).toBe(before);
    held.release();
    expect((await refreshing).access_token).toBeTypeOf('string');
    expect(world.counts().authorizationServer.refreshes).toBe(before + 1);
  });

  it('knows no client any more once clients are forgotten', async () => {
    const config = await register(world);
    const signedIn = await signIn(world, { scope: 'notes:read' }, config);
    expect(world.authorizationServer.forget('Client')).toBeGreaterThan(0);
    await expect(refresh(world, signedIn)).rejects.toMatchObject({ error: 'invalid_client' });
  });
});

describe('a world of another kind', () => {
  it('issues signed tokens, which the protected server checks without asking', async () => {
    const world = await openWorld({ accessTokenFormat: 'jwt' });
    try {
      const { tokens } = await signIn(world, { scope: 'notes:read' });
      expect(tokens.access_token.split('.')).toHaveLength(3);
      expect(await statusOf(world, tokens.access_token)).toBe(200);
      expect(await statusOf(world, `${tokens.access_token.slice(0, -8)}AAAAAAAA`)).toBe(401);
      expect(world.counts().authorizationServer.introspections).toBe(0);
      const other = 'https://127.0.0.1:1/other';
      world.authorizationServer.addResource({ resource: other, scopes: ['notes:read'], defaultScopes: [] });
      const elsewhere = await signIn(world, { scope: 'notes:read', resource: other });
      expect(await statusOf(world, elsewhere.tokens.access_token)).toBe(401);
    } finally {
      await world.close();
    }
  });

  it('issues refresh tokens only for offline_access, without asking for a prompt parameter', async () => {
    const world = await openWorld({ refreshTokens: 'offline_access' });
    try {
      const online = await signIn(world, { scope: 'notes:read' });
      expect(online.tokens.refresh_token).toBeUndefined();
      const offline = await signIn(world, { scope: 'notes:read offline_access' });
      expect(offline.tokens.scope).toBe('notes:read');
      expect((await refresh(world, offline)).access_token).toBeTypeOf('string');
    } finally {
      await world.close();
    }
  });

  it('issues no refresh tokens, and access tokens of the asked lifetime', async () => {
    const world = await openWorld({ refreshTokens: 'never', accessTokenLifetime: 42 });
    try {
      const { tokens } = await signIn(world, { scope: 'notes:read offline_access' });
      expect(tokens.refresh_token).toBeUndefined();
      expect(tokens.expires_in).toBe(42);
    } finally {
      await world.close();
    }
  });
});

describe('the protected server', () => {
  it('takes no refresh token for an access token, though it is active at its issuer', async () => {
    const world = await openWorld();
    try {
      const { tokens } = await signIn(world, { scope: 'notes:read offline_access' });
      expect(await statusOf(world, tokens.refresh_token ?? '', '{}')).toBe(401);
      expect(world.counts().authorizationServer.introspections).toBe(1);
    } finally {
      await world.close();
    }
  });

  it('refuses a malformed body in one line, but first looks at the token', async () => {
    const world = await openWorld();
    try {
      const { tokens } = await signIn(world, { scope: 'notes:read' });
      expect(await statusOf(world, tokens.access_token, '{"jsonrpc":')).toBe(400);
      expect(await statusOf(world, 'not-a-token', '{"jsonrpc":')).toBe(401);
    } finally {
      await world.close();
    }
  });
});

describe('the footprint of a world', () => {
  it('is two ports on 127.0.0.1 and one file, and nothing once it is closed', async () => {
    const world = await openWorld();
    const ports = [world.authorizationServer.port, Number(new URL(world.protectedServer.url).port)];
    for (const port of ports) {
      expect(await tryPort('127.0.0.1', port)).toBe('connected');
      expect(await tryPort('127.0.0.2', port)).toBe('ECONNREFUSED');
    }
    await world.close();
    for (const port of ports) expect(await tryPort('127.0.0.1', port)).toBe('ECONNREFUSED');
    await expect(access(world.caFile)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('closes in spite of a connection that is still open', async () => {
    const world = await startWorld();
    const idle = connect(world.authorizationServer.port, '127.0.0.1');
    await once(idle, 'connect');
    const ended = once(idle, 'close');
    await world.close();
    await ended;
  });

  it('refuses a port that is taken and leaves nothing running', async () => {
    const world = await startWorld();
    const taken = world.authorizationServer.port;
    await expect(startWorld({ protectedServerPort: taken })).rejects.toMatchObject({
      reason: 'conflict',
    });
    await world.close();
  });

  it('writes nothing to the terminal, even when requests fail', async () => {
    const script = `
      import { startWorld } from './test/support/world/servers.ts';
      const world = await startWorld();
      const { issuer } = world.authorizationServer;
      await world.fetch(issuer + '/auth?client_id=nobody', { headers: { accept: 'text/html', origin: 'https://a.example' } });
      await world.fetch(issuer + '/interaction/none');
      await world.fetch(issuer + '/token', { method: 'POST', body: 'grant_type=x' });
      await world.fetch(world.protectedServer.url, { method: 'POST', body: '{' });
      await world.close();`;
    const child = spawn(process.execPath, ['--input-type=module-typescript', '--eval', script], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const [out, err, [code]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'exit'),
    ]);
    expect({ out, err, code }).toEqual({ out: '', err: '', code: 0 });
  });
});
