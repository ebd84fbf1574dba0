/** The authorization request, its answer and the exchange of the code, against servers that cheat. */
import { describe, expect, it } from 'vitest';
import { revokeSignIn } from '../../src/broker/revocation/revoker.ts';
import { exitCodes, reasons } from '../../src/base/errors.ts';
import { html, redirectTo, type Answer } from '../support/bent/server.ts';
import { askTwice, callbackOf, enter, followed, ground, parameter, refused } from './ground.ts';
import { states, tokenRequests, words } from './ground.ts';
import type { Ground, GroundOptions } from './ground.ts';

/** A sign-in whose page is open and unvisited. */
async function atThePage(options: GroundOptions = {}) {
  const all = await ground(options);
  all.rig.person.isThere = false;
  const asked = all.rig.ask();
  // Its refusal may come before a test waits for it.
  asked.catch(() => undefined);
  await all.rig.question('signIn');
  const callback = await callbackOf(all, all.rig.pages[0]);
  return { ...all, asked, callback };
}

const nothingKept = ({ rig }: Pick<Ground, 'rig'>): void => {
  expect(rig.parts.signIns.all()).toEqual([]);
  expect(rig.vault.done.filter((call) => call.startsWith('set s-'))).toEqual([]);
};

describe('mixed-up authorization servers', () => {
  /** The MCP server names the hostile one, which sends the browser on to an honest one. */
  async function mixUp(issInResponse: boolean) {
    const all = await ground();
    const { authorizationServer: hostile, world, rig } = all;
    const honest = await world.openAuthorizationServer({ issInResponse });
    const { clientId, redirectUri } = await enter(rig, hostile);
    honest.addClient({ clientId, redirectUris: [redirectUri] });
    hostile.bend.authorizeAnswer = (_reply, { url }) =>
      redirectTo(`${honest.server.base}/authorize${url.search}`);
    return { ...all, hostile, honest };
  }

  it('N-1: get no code if the answer names its issuer', async () => {
    const { rig, hostile, honest } = await mixUp(true);
    expect(await refused(rig.ask())).toMatchObject({ reason: 'issuer_mismatch', rule: 'RFC 9207 §2.4' });
    expect(honest.counts.authorizations).toBe(1);
    expect([...tokenRequests(hostile), ...tokenRequests(honest)]).toEqual([]);
    nothingKept({ rig });
  });

  it('N-1: get no code if the hostile one promised iss and the answer has none', async () => {
    const { rig, hostile, honest } = await mixUp(false);
    expect(await refused(rig.ask())).toMatchObject({ reason: 'issuer_mismatch' });
    expect([...tokenRequests(hostile), ...tokenRequests(honest)]).toEqual([]);
  });
});

describe('an answer', () => {
  it('N-1 N-2: an error in an answer with a wrong issuer is neither acted on nor shown', async () => {
    const { rig, authorizationServer } = await ground();
    authorizationServer.bend.authorizeError = () => ({
      error: 'access_denied',
      error_description: 'send money',
    });
    authorizationServer.bend.authorizeResponse = (parameters) =>
      parameters.set('iss', 'https://issuer.example');
    const error = await refused(rig.ask());
    expect(error.reason).toBe('issuer_mismatch');
    expect(words(error)).not.toMatch(/access_denied|send money/);
  });

  it('X-5: that comes a second time is refused, and its code is sent once', async () => {
    const { world, authorizationServer, asked, callback } = await atThePage();
    const replies: number[] = [];
    authorizationServer.bend.tokenRequest = async () => {
      replies.push((await followed(world, callback.href)).status);
      return undefined;
    };
    await followed(world, callback.href);
    await asked;
    expect(replies).toEqual([400]);
    expect(authorizationServer.counts).toMatchObject({ codesRedeemed: 1, codeReuses: 0, tokenRequests: 1 });
  });

  it.each(['temporarily_unavailable', 'server_error'])(
    'T-3: that says %s is no refusal: a later sign-in works',
    async (code) => {
      const { rig, authorizationServer } = await ground();
      authorizationServer.bend.authorizeError = () => ({ error: code });
      const error = await refused(rig.ask());
      expect(error).toMatchObject({ reason: 'authorization_server_unreachable', retryAfter: 1 });
      expect(reasons[error.reason].exit).toBe(exitCodes.unreachable);
      expect(words(error)).toMatch(/can't serve the sign-in now.*later/);
      nothingKept({ rig });
      authorizationServer.bend.authorizeError = undefined;
      expect((await rig.login()).state).toEqual({ kind: 'active' });
    },
  );
});

describe('the authorization request', () => {
  it('N-11: is not in the address that the browser is started with', async () => {
    const { rig } = await atThePage();
    expect(rig.opened).toEqual([expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/[\w-]{22}$/)]);
  });

  it('B-12 X-2: no authorization request is made if the metadata names no PKCE methods', async () => {
    const { rig, authorizationServer } = await ground();
    states(authorizationServer, { code_challenge_methods_supported: undefined });
    expect(await refused(rig.ask())).toMatchObject({ reason: 'pkce_unsupported' });
    expect(rig.pages).toEqual([]);
    expect(authorizationServer.counts.registrations).toBe(0);
  });

  it('X-1: each authorization request has S256 and a state and a verifier of its own', async () => {
    const { rig, authorizationServer } = await ground();
    await rig.login();
    await rig.login();
    for (const name of ['state', 'code_challenge']) {
      expect(parameter(rig.pages[0], name)).not.toBe(parameter(rig.pages[1], name));
    }
    expect(rig.pages.map((page) => parameter(page, 'code_challenge_method'))).toEqual(['S256', 'S256']);
    const verifiers = tokenRequests(authorizationServer).map(({ form }) => form.get('code_verifier'));
    expect(new Set(verifiers).size).toBe(2);
  });

  it.each(['/', '?tenant=a+b%20c&scope=admin'])(
    'B-14 I-1 I-5: sends the same resource with %s, encoded, for authorization, code and refresh',
    async (end) => {
      const { rig, authorizationServer, protectedServer } = await ground();
      const resource = `${protectedServer.url}${end}`;
      protectedServer.settings.resource = resource;
      await askTwice(rig);
      const requests = tokenRequests(authorizationServer);
      expect(requests.map(({ form }) => form.get('grant_type'))).toEqual([
        'authorization_code',
        'refresh_token',
      ]);
      const written = `resource=${encodeURIComponent(resource)}`;
      for (const query of [
        new URL(rig.pages[0] ?? '').search.slice(1),
        ...requests.map(({ body }) => body),
      ]) {
        expect(query.split('&').filter((one) => one.startsWith('resource='))).toEqual([written]);
        expect(new URLSearchParams(query).has('tenant')).toBe(false);
      }
      expect(rig.signIn().resource).toBe(resource);
    },
  );
});

it('T-5: requests for code, refresh and revocation are forms, by type and text', async () => {
  const { rig, authorizationServer } = await ground();
  await askTwice(rig);
  await revokeSignIn(rig.parts, rig.signIn());
  const { server } = authorizationServer;
  const posts = [...tokenRequests(authorizationServer), ...server.asked('/revoke', 'POST')];
  expect(posts.length).toBeGreaterThanOrEqual(3);
  for (const { headers, body, form } of posts) {
    expect(headers['content-type']).toMatch(/^application\/x-www-form-urlencoded\b/);
    expect(body).toBe(form.toString());
    expect([...form.keys()].length).toBeGreaterThan(1);
  }
});

it.each([
  ['a 500', { status: 500 }],
  ['a web page with status 200', html('<h1>Welcome</h1>')],
  ['a broken connection', 'destroy'],
  ['a redirect', redirectTo('https://issuer.example/token', 307)],
] as const satisfies readonly (readonly [string, Answer])[])(
  'B-6 X-8: a code is never sent twice, not even after %s',
  async (_what, answer) => {
    const { rig, authorizationServer } = await ground();
    authorizationServer.bend.tokenRequest = () => answer;
    await refused(rig.ask());
    expect(authorizationServer.counts.tokenRequests).toBe(1);
    nothingKept({ rig });
  },
);
