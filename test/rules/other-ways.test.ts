/** Signing in where no browser reaches the loopback: a pasted address, or a code on another device. */
import { describe, expect, it } from 'vitest';
import { turnOfEvents } from '../broker/rig.ts';
import { json } from '../support/bent/server.ts';
import { callbackOf, followed, ground, refused, tokenRequests, words } from './ground.ts';
import type { Ground, GroundOptions } from './ground.ts';
import { asClient, asOwner } from './wire.ts';

async function pasting(options: GroundOptions = {}) {
  const all = await ground(options);
  const login = all.rig.login({ method: 'paste' });
  // Its refusal may come before a test waits for it.
  login.catch(() => undefined);
  const { id, question } = await all.rig.question('signIn');
  const callback = await callbackOf(all, question.kind === 'signIn' ? question.url : undefined);
  const paste = async (address: string): Promise<unknown> =>
    asOwner(all.rig)('signIn.answer', { id, redirect: address });
  return { ...all, login, callback, paste };
}

describe('an address that is pasted back', () => {
  it('B-8: finishes the sign-in, and no browser is opened', async () => {
    const { rig, login, callback, paste } = await pasting();
    await paste(`  ${callback.href}\n`);
    expect((await login).state).toEqual({ kind: 'active' });
    expect(rig.pages).toEqual([]);
  });

  it.each([
    ['of another sign-in', (url: URL) => url.searchParams.set('state', 'another'), 'state_mismatch'],
    ['without a state', (url: URL) => url.searchParams.delete('state'), 'state_mismatch'],
    ['of another port', (url: URL) => (url.port = '1'), 'invalid_request'],
    ['of another path', (url: URL) => (url.pathname = '/elsewhere'), 'invalid_request'],
  ])(
    'B-8: a pasted address %s is refused, sends no code, and the sign-in goes on',
    async (_what, change, reason) => {
      const { login, callback, paste, authorizationServer } = await pasting();
      const wrong = new URL(callback);
      change(wrong);
      const error = await refused(paste(wrong.href));
      expect(error.reason).toBe(reason);
      expect(words(error)).not.toContain(callback.searchParams.get('code'));
      expect(tokenRequests(authorizationServer)).toEqual([]);
      await paste(callback.href);
      expect((await login).state).toEqual({ kind: 'active' });
    },
  );

  it('B-8 B-26: from another issuer ends the sign-in, and no code is sent', async () => {
    const { login, callback, paste, authorizationServer } = await pasting();
    callback.searchParams.set('iss', 'https://issuer.example');
    await paste(callback.href);
    expect(await refused(login)).toMatchObject({ reason: 'issuer_mismatch' });
    expect(tokenRequests(authorizationServer)).toEqual([]);
  });

  it('B-8: is valid once; a browser that brings it again is refused', async () => {
    const { world, login, callback, paste, authorizationServer } = await pasting();
    const late: number[] = [];
    authorizationServer.bend.tokenRequest = async () => {
      late.push((await followed(world, callback.href)).status);
      return undefined;
    };
    await paste(callback.href);
    await login;
    expect(late).toEqual([400]);
    expect(authorizationServer.counts).toMatchObject({ codesRedeemed: 1, codeReuses: 0, tokenRequests: 1 });
  });
});

interface AtTheDevice extends Ground {
  readonly login: Promise<unknown>;
  readonly userCode: string;
  /** After so many seconds, and once the server has been asked. */
  readonly poll: (seconds: number) => Promise<void>;
}

async function atTheDevice(options: GroundOptions = {}): Promise<AtTheDevice> {
  const { authorization, ...rest } = options;
  const all = await ground({ ...rest, authorization: { deviceAuthorization: true, ...authorization } });
  const { rig } = all;
  const login = rig.login({ method: 'device', timeout: 3_600_000 });
  login.catch(() => undefined);
  const { question } = await rig.question('device');
  const polls = (): number => rig.readUp.filter((url) => url.endsWith('/token')).length;
  return {
    ...all,
    login,
    userCode: question.kind === 'device' ? question.userCode : '',
    async poll(seconds) {
      const before = polls();
      rig.clock.advance(seconds * 1000);
      while (polls() === before) await turnOfEvents();
      await turnOfEvents();
    },
  };
}

describe('a code on another device', () => {
  it('B-27 P-6: finishes the sign-in once the user has approved it', async () => {
    const { rig, login, userCode, poll, authorizationServer, protectedServer } = await atTheDevice();
    await poll(1);
    authorizationServer.approveDevice(userCode);
    await poll(1);
    expect(await login).toMatchObject({ state: { kind: 'active' }, hasRefreshToken: true });
    expect(rig.pages).toEqual([]);
    const [start] = authorizationServer.server.asked('/device_authorization', 'POST');
    expect(start?.form.getAll('resource')).toEqual([protectedServer.url]);
    expect(tokenRequests(authorizationServer).every(({ form }) => form.has('resource'))).toBe(true);
  });

  it('P-6: polls five seconds less often after slow_down', async () => {
    const { rig, login, userCode, poll, authorizationServer } = await atTheDevice();
    authorizationServer.slowDown();
    await poll(1);
    authorizationServer.approveDevice(userCode);
    rig.clock.advance(5_900);
    await turnOfEvents();
    expect(authorizationServer.counts.devicePolls).toBe(1);
    await poll(0.1);
    expect(await login).toMatchObject({ state: { kind: 'active' } });
  });

  it.each([
    ['denied', 'denyDevice', 'access_denied'],
    ['too old', 'expireDevice', 'login_failed'],
  ] as const)('P-6: that is %s ends the sign-in, and nothing is kept', async (_what, end, reason) => {
    const { rig, login, userCode, poll, authorizationServer } = await atTheDevice();
    authorizationServer[end](userCode);
    await poll(1);
    expect(await refused(login)).toMatchObject({ reason });
    expect(rig.parts.signIns.all()).toEqual([]);
    expect(rig.parts.approvalRequests.list()).toEqual([]);
  });

  it('B-27 P-6: never reaches an app, a file or the audit log', async () => {
    const { rig, userCode } = await atTheDevice();
    const call = asClient(rig);
    const told = await refused(rig.ask({ interaction: 'never' }));
    const seen = [JSON.stringify(await call('signIn.list')), words(told)];
    for (const method of ['request.list', 'signIn.answer', 'status']) {
      expect(await refused(call(method))).toMatchObject({ reason: 'not_permitted' });
    }
    await rig.parts.audit.flush();
    for (const text of [...seen, ...rig.texts()]) expect(text).not.toContain(userCode);
    expect(JSON.stringify(await asOwner(rig)('request.list'))).toContain(userCode);
  });

  it('P-6: only the user starts it, never a request of an app', async () => {
    const { rig, authorizationServer } = await ground({ authorization: { deviceAuthorization: true } });
    await rig.ask();
    expect(authorizationServer.server.asked('/device_authorization', 'POST')).toEqual([]);
  });

  it('P-6: is shown with its page, which the answer may call verification_url', async () => {
    const { rig, authorizationServer } = await ground({ authorization: { deviceAuthorization: true } });
    authorizationServer.bend.deviceAnswer = ({ body: { verification_uri_complete: _left, ...body } }) =>
      json({ ...body, verification_uri: undefined, verification_url: body['verification_uri'] });
    rig.login({ method: 'device' }).catch(() => undefined);
    const { question } = await rig.question('device');
    expect(question).toMatchObject({ url: expect.stringMatching(/\/device$/) });
  });

  it('P-6: says what the server says that gives none now', async () => {
    const { rig, authorizationServer } = await ground({ authorization: { deviceAuthorization: true } });
    authorizationServer.bend.deviceAnswer = () => json({ message: 'no codes today' }, 503);
    const { message } = await refused(rig.login({ method: 'device' }));
    expect(message).toContain('status 503 ("no codes today")');
  });

  it.each([
    [{ verification_uri: 'javascript:alert(1)' }, 'insecure_url'],
    [{ verification_uri_complete: 'javascript:alert(1)' }, 'insecure_url'],
    [{ user_code: 'a\u001B[2Jb' }, 'login_failed'],
    [{ user_code: '\u202Eabc' }, 'login_failed'],
  ])('P-6: is not shown if the answer has %j', async (changes, reason) => {
    const { rig, authorizationServer } = await ground({ authorization: { deviceAuthorization: true } });
    authorizationServer.bend.deviceAnswer = ({ body }) => json({ ...body, ...changes });
    expect(await refused(rig.login({ method: 'device' }))).toMatchObject({ reason });
    expect(rig.parts.approvalRequests.list()).toEqual([]);
  });
});
