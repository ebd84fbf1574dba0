/** Sign-ins: one page at a time, none unattended, and each for the account it was started for. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, it, vi } from 'vitest';
import { oddServer } from '../odd-server.ts';
import { brokerRig, inWorld, queued, refusal, turnOfEvents, type Rig } from '../rig.ts';
import { bound } from '../../vault/doubles.ts';
import { worldAndSite } from '../places.ts';

const { world, site } = worldAndSite();

const minute = 60_000;

async function allowed(): Promise<Rig> {
  const rig = await brokerRig(inWorld(world));
  await rig.allow();
  return rig;
}

/** How a connection to a page's redirect URI ends. */
function tryRedirect(page: string | undefined): Promise<unknown> {
  return tryConnect(new URL(page ?? '').searchParams.get('redirect_uri') ?? '');
}

async function tryConnect(redirectUri: string): Promise<unknown> {
  const { port, hostname } = new URL(redirectUri);
  const socket = connect(Number(port), hostname);
  const connected = once(socket, 'connect').then(() => 'connected');
  return connected.catch(({ code }) => code as unknown).finally(() => socket.destroy());
}

it('a request that comes while tokens are stored joins the sign-in: one page', async () => {
  const written = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  const rig = await brokerRig(inWorld(world), {
    front: (vault) => ({
      ...bound(vault),
      async set(id, secret) {
        if (id.startsWith('s-')) {
          written.resolve();
          await held.promise;
        }
        await vault.set(id, secret);
      },
    }),
  });
  await rig.allow('editor');
  await rig.allow('second');
  const first = rig.ask({ appId: 'editor' });
  await written.promise;
  const second = rig.ask({ appId: 'second' });
  await turnOfEvents();
  held.resolve();
  expect((await second).accessToken).toBe((await first).accessToken);
  expect(rig.pages).toHaveLength(1);
  expect(rig.parts.signIns.all()).toHaveLength(1);
});

describe('a sign-in page', () => {
  it('is followed by another for a request that joined it as its time ended', async () => {
    const rig = await allowed();
    rig.person.isThere = false;
    const first = refusal(rig.login({ timeout: 60 * minute }));
    await rig.question('signIn');
    rig.clock.advance(10 * minute - 1);
    const second = rig.login({ timeout: 60 * minute });
    await turnOfEvents();
    rig.person.isThere = true;
    rig.clock.advance(1);
    expect(await first).toMatchObject({ reason: 'login_required' });
    expect((await second).state).toEqual({ kind: 'active' });
    expect(rig.pages).toHaveLength(2);
  });

  it('PROMISE-5: that nobody answers is the last one until the user acts', async () => {
    const rig = await allowed();
    rig.person.isThere = false;
    const asked = refusal(rig.ask({ timeout: 60 * minute }));
    await rig.question('signIn');
    rig.clock.advance(10 * minute);
    expect(await asked).toMatchObject({ reason: 'login_required' });
    const error = {
      reason: 'login_required',
      rule: expect.stringContaining('one sign-in page automatically'),
    };
    for (const account of [undefined, 'work', 'home']) {
      expect(await refusal(rig.ask(account === undefined ? {} : { account }))).toMatchObject(error);
    }
    expect(rig.pages).toHaveLength(1);
    rig.broker.userActed(rig.endpoint);
    rig.person.isThere = true;
    expect((await rig.ask()).accessToken).toBeTypeOf('string');
    expect(rig.pages).toHaveLength(2);
  });

  it('stays open for a request that ran out of time, and a late sign-in counts', async () => {
    const rig = await allowed();
    rig.person.isThere = false;
    const asked = refusal(rig.ask({ timeout: minute }));
    const { question } = await rig.question('signIn');
    rig.clock.advance(minute);
    const again = `an ID token: keyturn login ${rig.endpoint} --scope "openid notes:read".`;
    expect(await asked).toMatchObject({ reason: 'login_pending', hint: expect.stringContaining(again) });
    expect(await tryRedirect(rig.pages[0])).toBe('connected');
    expect(question).toMatchObject({ url: rig.pages[0] });
    expect((await world.signIn(rig.pages[0] ?? '')).status).toBe(200);
    expect((await rig.ask({ interaction: 'never' })).accessToken).toBeTypeOf('string');
    expect(rig.pages).toHaveLength(1);
  });

  it('closes when the program goes away, and delays the next one, whatever its account', async () => {
    const rig = await allowed();
    rig.person.isThere = false;
    const program = new AbortController();
    const asked = refusal(rig.ask({ signal: program.signal }));
    await rig.question('signIn');
    expect(await tryRedirect(rig.pages[0])).toBe('connected');
    program.abort();
    expect(await asked).toMatchObject({ reason: 'interrupted' });
    await turnOfEvents();
    expect(rig.parts.approvalRequests.list()).toEqual([]);
    expect(await tryRedirect(rig.pages[0])).toBe('ECONNREFUSED');
    const hint = expect.stringContaining(`keyturn login ${rig.endpoint}`);
    for (const other of [{}, ...Array.from('abcdef', (account) => ({ account }))])
      expect(await refusal(rig.ask(other))).toMatchObject({ reason: 'rate_limited', retryAfter: 1, hint });
    expect(rig.pages).toHaveLength(1);
    rig.person.isThere = true;
    rig.clock.advance(1000);
    expect((await rig.ask()).accessToken).toBeTypeOf('string');
  });

  it('that could not begin in time is no refusal in the audit log', async () => {
    const asked = Promise.withResolvers<void>();
    const silent = { ...oddServer(site), fetch: () => new Promise<never>(() => asked.resolve()) };
    const rig = await brokerRig(silent);
    await rig.allow();
    const late = { reason: 'authorization_server_unreachable' };
    const refused = refusal(rig.ask());
    await asked.promise;
    rig.clock.advance(60_000);
    expect(await refused).toMatchObject(late);
    await rig.parts.audit.flush();
    expect(rig.texts().join()).not.toContain(late.reason);
  });

  it('that was never shown does not count: an unreachable server is asked again', async () => {
    const server = oddServer(site, { scopesSupported: ['read'] });
    site.lay('/register', { status: 503 });
    const rig = await brokerRig(server);
    await rig.allow();
    expect(await refusal(rig.ask())).toMatchObject({ reason: 'authorization_server_unreachable' });
    const { redirect_uris: redirects } = JSON.parse(site.asked.at(-1)?.body ?? '');
    expect(await tryConnect(redirects[0])).toBe('ECONNREFUSED');
    site.lay('/register', { status: 201, body: { client_id: 'client-1' } });
    // The server has a pause of a second.
    rig.clock.advance(1000);
    expect((await rig.ask()).accessToken).toBe('access-1');
  });

  it('is not opened when the vault could not keep what it brings, and keeps nothing when it refuses', async () => {
    const rig = await allowed();
    for (const [failing, pages] of [
      ['probe', 0],
      ['set', 1],
    ] as const) {
      rig.vault.failing.add(failing);
      expect(await refusal(rig.ask())).toMatchObject({ reason: 'vault_unavailable' });
      expect([rig.pages.length, rig.fetched.length > 0]).toEqual([pages, pages > 0]);
      expect(rig.parts.signIns.all()).toEqual([]);
      rig.vault.failing.clear();
    }
    await rig.login();
    expect(rig.signIn().state).toEqual({ kind: 'active' });
  });
});

describe('two servers', () => {
  /** `answer` lets the page be answered. */
  async function pair() {
    const server = oddServer(site, { scopesSupported: ['read'] });
    const answered = Promise.withResolvers<void>();
    server.beforeVisit = () => answered.promise;
    const rig = await brokerRig(server);
    await rig.allow();
    await rig.allow('editor', undefined, server.other);
    return { server, rig, answer: () => answered.resolve() };
  }

  it('PROMISE-5: take turns: the second page opens when the first is done', async () => {
    const { server, rig, answer } = await pair();
    const first = rig.ask();
    await rig.question('signIn');
    const second = rig.ask({ resource: server.other });
    await turnOfEvents();
    expect(rig.pages).toHaveLength(1);
    answer();
    expect([(await first).resource, (await second).resource]).toEqual([server.endpoint, server.other]);
    expect(rig.pages).toHaveLength(2);
  });

  it('PROMISE-5: no sign-in page opens once the permission has ended in the queue', async () => {
    const { server, rig, answer } = await pair();
    const first = rig.ask();
    await rig.question('signIn');
    const second = refusal(rig.ask({ resource: server.other }));
    await queued(rig);
    await rig.parts.permissions.revoke('editor', server.other);
    answer();
    await first;
    expect(await second).toMatchObject({ reason: 'consent_required' });
    expect(rig.pages).toHaveLength(1);
  });

  it('PROMISE-5: no page opens that the user’s sign-in there overtook in the queue', async () => {
    const { server, rig, answer } = await pair();
    const program = new AbortController();
    void refusal(rig.ask({ signal: program.signal }));
    await rig.question('signIn');
    const second = rig.ask({ resource: server.other });
    await queued(rig);
    const login = rig.login({ resource: server.other });
    await vi.waitFor(() => expect(rig.pages).toHaveLength(2));
    program.abort();
    await turnOfEvents();
    answer();
    await login;
    expect((await second).resource).toBe(server.other);
    expect(rig.pages).toHaveLength(2);
  });
});

describe('a sign-in that the user starts', () => {
  it('renews the account’s sign-in and keeps the old refresh token for revocation', async () => {
    const rig = await allowed();
    const first = await rig.login();
    const before = await rig.vault.get(first.item ?? '');
    const second = await rig.login();
    expect(second.id).toBe(first.id);
    expect(second.item).not.toBe(first.item);
    expect(second.earlier).toEqual([{ item: first.item, registrationId: first.registrationId }]);
    expect(await rig.vault.get(first.item ?? '')).toBe(before);
    expect(rig.texts().join('')).not.toContain(JSON.parse(before).refreshToken);
  });

  it('two concurrent sign-ins of one account leave one record', async () => {
    const rig = await allowed();
    const logins = await Promise.all([rig.login(), rig.login({ scope: ['notes:read'] })]);
    expect(new Set(logins.map(({ id }) => id)).size).toBe(1);
    expect(rig.signIn().state).toEqual({ kind: 'active' });
    rig.clock.advance(3_600_000);
    expect((await rig.ask({ interaction: 'never' })).accessToken).toBeTypeOf('string');
  });

  it('PROMISE-5: is one with what an app waits for, whichever came first', async () => {
    for (const steps of ['ask login', 'login ask', 'ask+login', 'ask other login', 'ask never login']) {
      const rig = await allowed();
      rig.person.isThere = false;
      const resource = `${rig.endpoint}?a=1`;
      vi.spyOn(rig.parts.registrations, 'hasUnattended').mockReturnValue(steps.includes('never'));
      const done: Promise<unknown>[] = [];
      for (const step of steps.split(' ')) {
        if (step === 'never') await refusal(rig.ask({ interaction: 'never', resource }));
        else if (step === 'other') done.push(rig.ask());
        else for (const each of step.split('+')) done.push(rig[each as 'ask' | 'login']({ resource }));
        await rig.question('signIn');
        await turnOfEvents();
      }
      await vi.waitFor(() => expect(rig.parts.approvalRequests.list()).toHaveLength(1));
      await world.signIn(rig.pages.at(-1) ?? '');
      await Promise.all(done);
      expect(rig.parts.approvalRequests.list(), steps).toEqual([]);
      expect(rig.pages.length, steps).toBe(steps.startsWith('ask ') ? 2 : 1);
    }
  });
});
