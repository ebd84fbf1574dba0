/** What a sign-in page is asked to show, at servers that need it and at servers that fail on it. */
import { describe, expect, it } from 'vitest';
import { turnOfEvents } from '../broker/rig.ts';
import { hour, followed, ground, parameter, refused, stepUp, states } from './ground.ts';
import type { Ground, GroundOptions } from './ground.ts';

const openid = ['openid', 'read'];

const prompts = ({ rig }: Ground) => rig.pages.map((page) => parameter(page, 'prompt'));

/** A server that advertises these pages. */
async function advertising(values: readonly string[], options: GroundOptions = {}): Promise<Ground> {
  const all = await ground(options);
  states(all.authorizationServer, { prompt_values_supported: values });
  return all;
}

/** Bob signs in where alice is expected, and the user says no to it. */
async function wrongAccount({ rig, authorizationServer }: Ground): Promise<void> {
  authorizationServer.settings.subject = 'bob';
  const login = refused(rig.login({ scope: openid, account: 'alice' }));
  rig.parts.approvalRequests.answer((await rig.question('account')).id, 'deny');
  expect(await login).toMatchObject({ reason: 'account_mismatch' });
  authorizationServer.settings.subject = 'alice';
}

describe('a page to choose the account', () => {
  it('B-7: is asked for only after another account signed in', async () => {
    const all = await advertising(['none', 'select_account']);
    const { rig } = all;
    await rig.login({ scope: openid, account: 'alice' });
    await rig.ask();
    await rig.ask(stepUp('write'));
    await wrongAccount(all);
    await rig.ask(stepUp('admin'));
    await rig.ask(stepUp('more'));
    expect(prompts(all)).toEqual([undefined, undefined, undefined, 'select_account', undefined]);
  });

  it('B-7: is left out after the server answered it with an error page', async () => {
    const all = await advertising(['select_account'], { authorization: { failsOnPrompts: 'page' } });
    const { rig } = all;
    await rig.login({ scope: openid, account: 'alice' });
    await wrongAccount(all);
    const login = refused(rig.login({ scope: openid, account: 'alice' }));
    const { id } = await rig.question('signIn');
    await rig.visited();
    rig.parts.approvalRequests.answer(id, 'deny');
    expect(await login).toMatchObject({ reason: 'login_failed' });
    await rig.login({ scope: openid, account: 'alice' });
    expect(prompts(all)).toEqual([undefined, undefined, 'select_account', undefined]);
  });
});

describe('a page for consent', () => {
  const provider = {
    scopesSupported: ['read', 'write', 'offline_access'],
    refreshTokens: 'afterConsent',
  } as const;

  it('B-24 N-8: is asked for once no refresh token came without it', async () => {
    const all = await ground({ authorization: provider });
    const { rig } = all;
    await rig.ask();
    expect(rig.signIn().hasRefreshToken).toBe(false);
    rig.clock.advance(hour);
    await rig.ask();
    expect(rig.signIn().hasRefreshToken).toBe(true);
    rig.clock.advance(hour);
    await rig.ask({ interaction: 'never' });
    await rig.ask(stepUp('write'));
    expect(rig.signIn().hasRefreshToken).toBe(true);
    expect(prompts(all)).toEqual([undefined, 'consent', 'consent']);
  });

  it('B-24: asks for a page for consent after a restart too', async () => {
    const all = await ground({ authorization: provider });
    await all.rig.ask();
    const after = await all.restarted();
    await after.ask(stepUp('write'));
    expect(parameter(after.pages[0], 'prompt')).toBe('consent');
  });

  it('N-8: is asked for once in vain if the server gives no refresh tokens', async () => {
    const all = await ground({ authorization: { ...provider, refreshTokens: 'never' } });
    for (let n = 0; n < 4; n += 1) {
      await all.rig.ask();
      all.rig.clock.advance(hour);
    }
    expect(prompts(all)).toEqual([undefined, 'consent', undefined, undefined]);
  });
});

it('a prompt that an issuer refuses is not sent there again until the broker ends', async () => {
  const all = await ground({
    authorization: {
      scopesSupported: ['read', 'offline_access'],
      refreshTokens: 'never',
      failsOnPrompts: 'redirect',
    },
  });
  const { rig, world, authorizationServer } = all;
  await rig.login();
  rig.person.isThere = false;
  const login = rig.login();
  await rig.question('signIn');
  expect((await followed(world, rig.pages[1] ?? '')).text).toContain('One more page');
  while (rig.pages.length < 3) await turnOfEvents();
  await followed(world, rig.pages[2] ?? '');
  await login;
  rig.person.isThere = true;
  await rig.login();
  expect(prompts(all)).toEqual([undefined, 'consent', undefined, undefined]);
  expect(authorizationServer.counts.registrations).toBe(1);
  const after = await all.restarted();
  await after.login();
  expect(parameter(after.pages[0], 'prompt')).toBe('consent');
});
