/** Servers that can't serve now: how often they are asked, and what the program is told. */
import { describe, expect, it } from 'vitest';
import type { Answer } from '../support/bent/server.ts';
import { ground, refused, type Ground } from './ground.ts';

const busy = (status: number): Answer => ({ status, headers: { 'retry-after': '60' } });

/** Puts an answer in the place of one step, and counts the requests for that step. */
interface Step {
  readonly reason: string;
  readonly lay: (all: Ground, answer: Answer) => () => void;
  readonly asked: (all: Ground) => number;
}

const serverDocument = '/.well-known/oauth-authorization-server';

const steps: Readonly<Record<string, Step>> = {
  'the MCP server': {
    reason: 'mcp_server_unreachable',
    lay: ({ protectedServer: { server } }, answer) => server.on('*', '/mcp', answer),
    asked: ({ protectedServer: { server } }) => server.asked('/mcp', 'POST').length,
  },
  'its metadata': {
    reason: 'mcp_server_unreachable',
    lay: ({ protectedServer: { server } }, answer) =>
      server.on('GET', '/.well-known/oauth-protected-resource/mcp', answer),
    asked: ({ protectedServer: { server } }) =>
      server.asked('/.well-known/oauth-protected-resource/mcp').length,
  },
  'the metadata of the authorization server': {
    reason: 'authorization_server_unreachable',
    lay: ({ authorizationServer: { server } }, answer) => server.on('GET', serverDocument, answer),
    asked: ({ authorizationServer: { server } }) => server.asked(serverDocument).length,
  },
  registration: {
    reason: 'authorization_server_unreachable',
    lay: ({ authorizationServer: { server } }, answer) => server.on('POST', '/register', answer),
    asked: ({ authorizationServer: { server } }) => server.asked('/register').length,
  },
};

describe.each(Object.entries(steps))('%s that answers 503 or 429', (_what, { reason, lay, asked }) => {
  it.each([503, 429])(
    'M-8: is asked once within Retry-After (%i), and the refusal says when',
    async (status) => {
      const all = await ground();
      const { rig } = all;
      const end = lay(all, busy(status));
      for (let request = 0; request < 10; request += 1) {
        expect(await refused(rig.ask())).toMatchObject({ reason, retryAfter: 60 });
      }
      expect(asked(all)).toBe(1);
      end();
      rig.clock.advance(59_000);
      expect(await refused(rig.ask())).toMatchObject({
        retryAfter: 1,
        hint: expect.stringContaining('in 1 s'),
      });
      expect(asked(all)).toBe(1);
      rig.clock.advance(1000);
      expect((await rig.ask()).accessToken).toBeTypeOf('string');
    },
  );

  it('M-8: is asked once more by a user’s own sign-in', async () => {
    const all = await ground();
    const { rig } = all;
    const end = lay(all, busy(503));
    await refused(rig.ask());
    rig.clock.advance(10_000);
    for (let press = 0; press < 5; press += 1) await refused(rig.login());
    expect(asked(all)).toBe(2);
    rig.clock.advance(10_000);
    end();
    expect((await rig.login()).state).toEqual({ kind: 'active' });
    // The server serves again: nobody waits.
    expect((await rig.ask()).accessToken).toBeTypeOf('string');
  });

  it('without Retry-After is asked with growing pauses, by the user at any time', async () => {
    const all = await ground();
    const { rig } = all;
    lay(all, { status: 503 });
    const error = await refused(rig.ask());
    expect(error.retryAfter).toBe(1);
    await refused(rig.ask());
    expect(asked(all)).toBe(1);
    rig.clock.advance(1000);
    await refused(rig.ask());
    rig.clock.advance(1000);
    await refused(rig.ask());
    expect(asked(all)).toBe(2);
    await refused(rig.login());
    await refused(rig.login());
    expect(asked(all)).toBe(4);
  });
});

it('M-8: a resting registration is left alone for all endpoints of that issuer', async () => {
  const { rig, world, authorizationServer } = await ground();
  authorizationServer.server.on('POST', '/register', busy(429));
  const other = await world.openProtectedServer({ authorizationServers: [authorizationServer] });
  await rig.allow('editor', undefined, other.url);
  await refused(rig.ask());
  rig.clock.advance(20_000);
  expect(await refused(rig.ask({ resource: other.url }))).toMatchObject({ retryAfter: 40 });
  expect(authorizationServer.server.asked('/register')).toHaveLength(1);
});

it('M-8: a resting MCP server keeps no app from another one of its origin', async () => {
  const { rig, world, authorizationServer, protectedServer } = await ground();
  const { server } = protectedServer;
  const other = await world.openProtectedServer({
    authorizationServers: [authorizationServer],
    server,
    path: '/other/mcp',
  });
  other.bend.answer = () => ({ status: 503, headers: { 'retry-after': '86400' } });
  await rig.allow('toy', undefined, other.url);
  expect(await refused(rig.ask({ appId: 'toy', resource: other.url }))).toMatchObject({ retryAfter: 86_400 });
  expect((await rig.ask()).accessToken).toBeTypeOf('string');
});
