/** Sessions of the third-party flow: how the upstream's tokens stand, time-outs, renewals, revocations. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { memoryStorage, thirdPartyServer, type Storage } from '../../../src/server/third-party/index.ts';
import { editor, refreshOf, tokenFor } from '../authorization/rig.ts';
import { checkedToken, signIn, startFlow, type Bend } from './rig.ts';
import { ofFile, ofTest } from '../../support/lasting.ts';
import { Sessions } from '../../../src/server/third-party/session.ts';
import { upstreamFormSchema } from '../../../src/server/third-party/upstream-forms.ts';
import { isSilence, UpstreamServer } from '../../../src/server/third-party/upstream-server.ts';

const flow = ofFile(async () => startFlow({ session: { idle: 3600, absolute: 7200 } }));
beforeEach(() => {
  flow.clock.stoppedAt = Date.now();
});
afterEach(() => {
  flow.upstream.state.bend = {};
  flow.upstream.state.requests.length = 0;
  flow.clock.ahead = 0;
});

const bend = (next: Bend): void => void (flow.upstream.state.bend = next);
const requestsTo = (path: string) => flow.upstream.state.requests.filter((each) => each.path === path);
const endings = (session: string) =>
  flow.events.filter((each) => each.session === session && each.kind === 'session_ended');

describe('a session', () => {
  it('TP-2: whose upstream ended refuses its tokens at the next check', async () => {
    const { access, refresh, session } = await signIn(flow);
    expect(await flow.call(access)).toBe(200);
    bend({ introspection: { active: false }, refusesRenewal: true });
    flow.clock.ahead = 61;
    expect(await flow.call(access)).toBe(401);
    expect(endings(session)).toMatchObject([{ why: 'upstream_ended' }]);
    expect((await tokenFor(flow, refreshOf(refresh))).body['error']).toBe('invalid_grant');
  });

  it('TP-2: asks the upstream once a minute at most', async () => {
    const { access } = await signIn(flow);
    const before = requestsTo('/introspect').length;
    flow.clock.ahead = 59;
    await Promise.all([flow.call(access), flow.call(access)]);
    expect(requestsTo('/introspect')).toHaveLength(before);
    flow.clock.ahead = 61;
    const written = vi.spyOn(flow.storage, 'replace');
    await Promise.all([flow.call(access), flow.call(access), flow.call(access)]);
    expect(requestsTo('/introspect')).toHaveLength(before + 1);
    const done = await Promise.all(written.mock.results.map(({ value }) => value as unknown));
    // That it was checked, and that it was used.
    expect(done.filter(Boolean)).toHaveLength(2);
  });

  it('TP-4: renews its upstream token once for concurrent requests and processes', async () => {
    const tokens = await signIn(flow);
    const second = await thirdPartyServer(flow.options);
    flow.upstream.state.requests.length = 0;
    flow.clock.ahead = 601;
    const other = second.checkSession(checkedToken(flow, tokens));
    const calls = [tokens, tokens].map(({ access }) => flow.call(access));
    expect(await Promise.all([...calls, other])).toEqual([200, 200, 'valid']);
    expect(requestsTo('/token')).toHaveLength(1);
    const sent = requestsTo('/api/notes').map(({ authorization }) => authorization);
    expect(new Set(sent)).toEqual(new Set([`Bearer upstream-access-${flow.upstream.state.count}`]));
    await second.close();
  });

  it('TP-2: continues for the stated time while the upstream can’t be asked', async () => {
    const { access, refresh } = await signIn(flow);
    bend({ fault: { path: '/introspect', status: 500 } });
    flow.clock.ahead = 61;
    expect(await flow.call(access)).toBe(200);
    flow.clock.ahead = 121;
    expect(await flow.call(access)).toBe(503);
    const form = refreshOf(refresh);
    expect((await tokenFor(flow, form)).body['error']).toBe('temporarily_unavailable');
    bend({});
    flow.clock.ahead = 130;
    expect((await tokenFor(flow, form)).status).toBe(200);
  });

  it('TP-8: ends where a renewal brings fewer scopes', async () => {
    const { access, session } = await signIn(flow, { scope: 'notes:write' });
    bend({ token: { scope: 'openid offline_access read' } });
    flow.clock.ahead = 620;
    expect(await flow.call(access)).toBe(401);
    expect(endings(session)).toMatchObject([{ why: 'upstream_narrowed' }]);
  });

  it.each<[string, number, string]>([
    ['an hour without a request', 3601, 'idle'],
    ['two hours, whatever happened in it', 7201, 'too_old'],
  ])('TP-7: ends after %s', async (_what, seconds, why) => {
    const { access, session } = await signIn(flow);
    if (why === 'too_old') {
      flow.clock.ahead = 3000;
      expect(await flow.call(access)).toBe(200);
      flow.clock.ahead = 6000;
      expect(await flow.call(access)).toBe(200);
    }
    flow.clock.ahead = seconds;
    await flow.server.tidy();
    expect(endings(session)).toMatchObject([{ why }]);
    expect(await flow.call(access)).toBe(401);
    expect(await flow.server.receipt(session)).toBe('confirmed');
  });

  it('TP-1: takes no token of another client or user under its name', async () => {
    const token = checkedToken(flow, await signIn(flow));
    const check = flow.server.checkSession;
    expect(await check(token)).toBe('valid');
    const wrongs = [{ clientId: 'other' }, { subject: 'x' }, { issuer: 'https://e.example' }, { claims: {} }];
    for (const wrong of wrongs) expect(await check({ ...token, ...wrong })).toBe('ended');
  });
});

describe('a revocation', () => {
  it('TP-3: by the client ends the session and both upstream tokens, with a receipt', async () => {
    const { access, refresh, session } = await signIn(flow);
    const body = new URLSearchParams({ token: refresh, client_id: editor });
    await flow.request('/token/revocation', { method: 'POST', body });
    // Before anybody uses the token again.
    await expect.poll(async () => flow.server.receipt(session)).toBe('confirmed');
    expect(await flow.call(access)).toBe(401);
    expect(requestsTo('/revoke').map(({ form }) => form.get('token'))).toEqual([
      `upstream-refresh-${flow.upstream.state.count}`,
      `upstream-access-${flow.upstream.state.count}`,
    ]);
    expect(endings(session)).toMatchObject([{ why: 'revoked' }]);
  });

  it('leaves no upstream token alive that another process renews at that moment', async () => {
    const { access, session } = await signIn(flow);
    const storage: Storage = {
      ...flow.storage,
      async add(kind, id, item) {
        flow.clock.ahead = 650;
        if (kind === 'UpstreamRevocation') await flow.call(access);
        return flow.storage.add(kind, id, item);
      },
    };
    const second = await thirdPartyServer({ ...flow.options, storage });
    expect(await second.endSession(session)).toBe('confirmed');
    await second.close();
    const revoked = requestsTo('/revoke').map(({ form }) => form.get('token'));
    expect(revoked).toContain(`upstream-refresh-${flow.upstream.state.count}`);
    expect(await flow.call(access)).toBe(401);
  });

  it('TP-3: a refresh token used twice ends session and upstream tokens', async () => {
    const { refresh, session } = await signIn(flow);
    const form = refreshOf(refresh);
    const { body } = await tokenFor(flow, form);
    // Past the grace for two refreshes at once.
    flow.clock.ahead += 11;
    expect((await tokenFor(flow, form)).status).toBe(400);
    await expect.poll(async () => flow.server.receipt(session)).toBe('confirmed');
    expect(await flow.call(body['access_token'])).toBe(401);
  });

  it('TP-3: that the upstream does not confirm is abandoned after ten tries', async () => {
    const { access, session } = await signIn(flow);
    const token = `upstream-refresh-${flow.upstream.state.count}`;
    const tried = () => requestsTo('/revoke').filter(({ form }) => form.get('token') === token);
    bend({ fault: { path: '/revoke', status: 503 } });
    expect(await flow.server.endSession(session)).toBe('pending');
    expect(await flow.call(access)).toBe(401);
    await flow.server.tidy();
    expect(tried()).toHaveLength(1);
    for (let tries = 2; tries <= 10; tries += 1) {
      flow.clock.ahead += 60 * 2 ** (tries - 1);
      await flow.server.tidy();
    }
    expect(tried()).toHaveLength(10);
    expect(await flow.server.receipt(session)).toBe('abandoned');
    const item = await flow.storage.get('UpstreamRevocation', session);
    expect(JSON.stringify(item)).not.toContain('upstream-');
  });
});

it('TP-2: an upstream without introspection and revocation is renewed every 5 min', async () => {
  const plain = await ofTest(startFlow());
  Object.assign(plain.upstream.state.offers, { introspection: false, revocation: false });
  const { access, session } = await signIn(plain);
  const renewals = () =>
    plain.upstream.state.requests.filter(({ form }) => form.get('grant_type') === 'refresh_token').length;
  plain.clock.ahead = 290;
  expect([await plain.call(access), renewals()]).toEqual([200, 0]);
  plain.clock.ahead = 301;
  plain.upstream.state.bend = { fault: { path: '/token', status: 500 } };
  expect([await plain.call(access), renewals()]).toEqual([200, 1]);
  plain.clock.ahead = 361;
  expect([await plain.call(access), renewals()]).toEqual([503, 2]);
  plain.clock.ahead = 370;
  plain.upstream.state.bend = { refusesRenewal: true };
  expect([await plain.call(access), renewals()]).toEqual([401, 3]);
  expect(await plain.server.receipt(session)).toBe('notOffered');
});

it.each<[string, string, { upstream?: object; storage?: object; session?: object; issuer?: string }]>([
  ['no storage for others', 'storage', { storage: undefined, issuer: 'https://login.example' }],
  ['a storage that a thief can read', 'storage', { storage: { ...memoryStorage(), atRest: 'readable' } }],
  ['nothing that says who signed in', 'upstream.subjectOf', { upstream: { extraScopes: [] } }],
  ['a status that counts for more than a minute', 'session.status', { session: { status: 61 } }],
  ['an option that it doesn’t know', 'upstream', { upstream: { surprise: true } }],
])('TP-6: thirdPartyServer refuses %s, and names the option', async (_what, name, changes) => {
  const { options } = flow;
  const bent = { ...options, ...changes, upstream: { ...options.upstream, ...changes.upstream } };
  await expect(thirdPartyServer(bent as typeof options)).rejects.toThrow(`The option ${name}`);
});

it('a session that others change all the time refuses a change, and does not count as ended', async () => {
  const sessions = new Sessions({ ...flow.storage, replace: async () => false });
  await expect(sessions.update((await signIn(flow)).session, () => true, {})).rejects.toThrow('all the time');
});

it('an upstream that gives no answer is told from one that answers with an error', async () => {
  const { upstream } = flow.options;
  const plain = { ...upstream, scopes: {}, extraScopes: [], sendsResource: true, subjectOf: undefined };
  const tokens = { accessToken: 'a', refreshToken: 'r', scope: 'read' };
  const problemAt = async (issuer: string): Promise<unknown> =>
    new UpstreamServer({ ...plain, issuer, form: upstreamFormSchema.parse({}) }, Date.now)
      .renew(tokens, async () => undefined)
      .catch((error: unknown) => error);
  bend({ fault: { path: '/token', status: 500 } });
  expect([await problemAt('https://127.0.0.1:1'), await problemAt(upstream.issuer)].map(isSilence)).toEqual([
    true,
    false,
  ]);
});
