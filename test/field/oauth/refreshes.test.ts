/** Refreshes that servers refuse in words of their own, or want in a form of their own. */
import { describe, expect, it } from 'vitest';
import { cutOff, html, json, type Answer } from '../../support/bent/server.ts';
import {
  aWhile,
  hour,
  ground,
  isRefresh,
  keptItem,
  never,
  refreshes,
  refused,
  refusing,
  tokenRequests,
} from '../../rules/ground.ts';

describe('a refresh that the server refuses in its own words', () => {
  const ownWords: readonly (readonly [string, Answer, boolean])[] = [
    [
      'a 400 with names of its own',
      json({ status: 'BAD_REFRESH_TOKEN', message: 'refresh token is invalid' }, 400),
      true,
    ],
    ['an unknown error code', json({ error: 'token_expired' }, 400), true],
    ['a plain 401', json({ message: 'Unauthorized' }, 401), true],
    ['a 401 with an empty body', { status: 401 }, true],
    ['a 403', json({ error: { code: 403 } }, 403), true],
    ['a 404 of a removed route', json({}, 404), true],
    ['a web page', { status: 403, headers: { 'content-type': 'text/html' }, body: '<h1>No</h1>' }, false],
    ['a limit that is sent as 400', json({ __type: 'TooManyRequestsException' }, 400), false],
    ['a time to ask again', { ...json({ message: 'later' }, 403), headers: { 'retry-after': '1' } }, false],
    ['a 408', json({}, 408), false],
    ['a 425', json({}, 425), false],
    ['a 429', json({}, 429), false],
    ['a 500 that says invalid_grant', json({ error: 'invalid_grant' }, 500), false],
    ['a web page with status 200', html('<h1>Sign in to this network</h1>'), false],
    ['a broken connection', 'destroy', false],
    ['an answer that breaks off', cutOff('{"access_token":"'), false],
    ['a server’s own trouble', json({ error: 'temporarily_unavailable' }, 400), false],
  ];
  it.each(ownWords)(
    'T-3 W-8: %s, twice with a minute between, ends the sign-in: %s',
    async (_name, answer, ends) => {
      const all = await refusing(answer);
      const { rig, authorizationServer } = all;
      const kept = await keptItem(rig);
      expect(await refused(rig.ask(never))).toMatchObject({ reason: 'authorization_server_unreachable' });
      rig.clock.advance(59_000);
      expect(await refused(rig.ask(never))).toMatchObject({ reason: 'authorization_server_unreachable' });
      expect(rig.signIn().state.kind).toBe('active');
      rig.clock.advance(aWhile);
      const reason = ends ? 'login_required' : 'authorization_server_unreachable';
      expect(await refused(rig.ask(never))).toMatchObject({ reason });
      expect(await refused(rig.ask(never))).toMatchObject({ reason });
      expect(refreshes(all)).toBe(3);
      expect(rig.signIn().state.kind).toBe(ends ? 'signInRequired' : 'active');
      expect(await keptItem(rig)).toEqual(kept);
      authorizationServer.bend.tokenRequest = undefined;
      rig.clock.advance(aWhile);
      expect((await rig.ask(never)).accessToken).toBeTypeOf('string');
      expect(rig.signIn().state).toEqual({ kind: 'active' });
      expect(rig.pages).toHaveLength(1);
    },
  );

  it('W-8: a success between two refusals in the server’s own words begins a new count', async () => {
    const all = await refusing(json({ message: 'Unauthorized' }, 401));
    const { rig, authorizationServer } = all;
    const { tokenRequest } = authorizationServer.bend;
    await refused(rig.ask(never));
    authorizationServer.bend.tokenRequest = undefined;
    rig.clock.advance(aWhile);
    await rig.ask(never);
    authorizationServer.bend.tokenRequest = tokenRequest;
    rig.clock.advance(hour);
    expect(await refused(rig.ask(never))).toMatchObject({ reason: 'authorization_server_unreachable' });
    expect(rig.signIn().state.kind).toBe('active');
  });
});

describe('a refresh whose scopes the server wants named', () => {
  it.each([
    ['invalid_request', 'AADSTS90009: Application is requesting a token for itself', 400],
    ['invalid_resource', 'AADSTS90009: Application is requesting a token for itself', 400],
    ['invalid_scope', 'The scope parameter is required', 400],
    ['invalid_request', 'missing scope', 422],
  ])(
    'a refresh that is refused with %s (%s) is sent once more with all scopes',
    async (error, description, status) => {
      const all = await ground();
      const { rig, authorizationServer } = all;
      await rig.ask();
      authorizationServer.bend.tokenRequest = (request) =>
        isRefresh(request) && !request.form.has('scope')
          ? json({ error, error_description: description }, status)
          : undefined;
      rig.clock.advance(hour);
      expect((await rig.ask(never)).scope).toEqual(['read']);
      expect(
        tokenRequests(authorizationServer, 'refresh_token').map(({ form }) => form.get('scope')),
      ).toEqual([null, 'read']);
    },
  );

  it('a refresh names the scopes as they were asked for, whatever form the server gives them', async () => {
    const all = await ground({ authorization: { scopesSupported: ['offline_access'] } });
    const { rig, authorizationServer } = all;
    authorizationServer.bend.tokenAnswer = ({ body }) => json({ ...body, scope: 'api://mcp/read' });
    await rig.ask();
    authorizationServer.bend.tokenRequest = (request) =>
      isRefresh(request) && !request.form.has('scope')
        ? json({ error: 'invalid_scope', error_description: 'AADSTS70011: the scope is missing' }, 400)
        : undefined;
    rig.clock.advance(hour);
    await rig.ask(never);
    expect(tokenRequests(authorizationServer, 'refresh_token')[1]?.form.get('scope')).toBe(
      'read offline_access',
    );
  });

  it('a refresh that is refused with all scopes too says why the first one was', async () => {
    const all = await refusing(json({ error: 'invalid_request', error_description: 'scope missing' }, 400));
    expect(await refused(all.rig.ask(never))).toMatchObject({ reason: 'login_failed' });
    expect(refreshes(all)).toBe(2);
  });
});
