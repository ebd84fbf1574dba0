/** Scopes: a program gets no more than it was allowed, and more only with the user (invariants 10 and 11, dev/internals.md). */
import { describe, expect, it } from 'vitest';
import { oddServer } from './odd-server.ts';
import { brokerRig, inWorld, refusal } from './rig.ts';
import { worldAndSite } from './places.ts';

const { world, site } = worldAndSite();

const both = ['notes:read', 'notes:write'];

const refreshes = (): number => world.counts().authorizationServer.refreshes;

const scopeAsked = (page: string | undefined): string[] =>
  (new URL(page ?? '').searchParams.get('scope') ?? '').split(' ').filter((s) => s !== 'offline_access');

describe('a program with a narrow permission', () => {
  it('PROMISE-10: gets a narrowed token, never the broad one that is in memory', async () => {
    const rig = await brokerRig(inWorld(world));
    await rig.login({ scope: both });
    await rig.allow('editor', ['notes:read']);
    await rig.allow('agent', both);
    const before = refreshes();
    const broad = await rig.ask({ appId: 'agent' });
    const narrow = await rig.ask();
    expect(broad.scope).toEqual(both);
    expect(narrow.scope).toEqual(['notes:read']);
    expect(narrow.accessToken).not.toBe(broad.accessToken);
    expect(refreshes()).toBe(before + 1);
  });

  it('PROMISE-10: gets no token from a server that does not narrow', async () => {
    const server = oddServer(site);
    server.answer = (_form, usual) => ({ ...usual, scope: 'read write' });
    const rig = await brokerRig(server);
    await rig.login({ scope: ['read', 'write'] });
    await rig.allow('editor', ['read']);
    const error = { reason: 'scope_insufficient', hint: expect.stringContaining('keyturn app allow editor') };
    expect(await refusal(rig.ask())).toMatchObject(error);
    expect(await refusal(rig.ask())).toMatchObject(error);
    // Not asked twice: the server's answer is in memory.
    expect(server.tokenRequests.map((form) => form.get('scope'))).toEqual([null, 'read']);
  });

  it('PROMISE-10: gets no token of a sign-in that can’t be narrowed', async () => {
    const server = oddServer(site);
    server.answer = (_form, usual) => ({ ...usual, refresh_token: undefined });
    const rig = await brokerRig(server);
    await rig.login({ scope: ['read', 'write'] });
    await rig.allow('editor', ['read']);
    expect(await refusal(rig.ask())).toMatchObject({ reason: 'scope_insufficient' });
  });
});

describe('a program that lies about its challenge', () => {
  it('PROMISE-11: does not make the broker use foreign metadata', async () => {
    const rig = await brokerRig(inWorld(world));
    await rig.allow();
    const foreign = 'https://127.0.0.1:1/.well-known/oauth-protected-resource';
    const bearer = { resourceMetadata: foreign };
    await rig.ask({ challenge: { status: 401, bearer } });
    const origins = new Set(rig.fetched.map((url) => new URL(url).origin));
    expect(origins).not.toContain('https://127.0.0.1:1');
    expect(origins.size).toBe(2);
  });

  it('PROMISE-11: gets no scope beyond its permission, and none is requested', async () => {
    const rig = await brokerRig(inWorld(world));
    await rig.allow('editor', ['notes:read']);
    const bearer = { scope: ['notes:read', 'notes:write'] };
    const token = await rig.ask({ challenge: { status: 401, bearer } });
    expect(token.scope).toEqual(['notes:read']);
    expect(scopeAsked(rig.pages[0])).toEqual(['notes:read']);
  });
});

it('a refresh with fewer scopes is not handed out for a request that needs them', async () => {
  const server = oddServer(site);
  const rig = await brokerRig(server);
  await rig.login({ scope: ['read', 'write'] });
  await rig.allow('editor', ['read', 'write']);
  server.answer = (_form, usual) => ({ ...usual, scope: 'read' });
  rig.clock.advance(3_600_000);
  expect(await refusal(rig.ask({ scope: ['write'] }))).toMatchObject({ reason: 'scope_insufficient' });
  expect((await rig.ask()).scope).toEqual(['read']);
});
