/** Answers of the sign-in page that leave something out. */
import { expect, it } from 'vitest';
import { until } from '../../support/home.ts';
import { rawGet } from '../../support/servers/raw-get.ts';
import { callbackOf, ground, refused } from '../../rules/ground.ts';

it.each(['error=invalid_scope', 'code=stolen'])(
  'an answer with %s and no state is told, and the sign-in goes on',
  async (query) => {
    const { rig, world } = await ground();
    rig.person.isThere = false;
    const login = rig.login();
    const { question } = await rig.question('login');
    await until('the page is open', () => rig.pages.length > 0);
    const callback = await callbackOf({ world }, rig.pages[0]);
    const stateless = `${callback.origin}${callback.pathname}?${query}`;
    expect((await rawGet(stateless)).status).toBe(400);
    expect(question).toMatchObject({ stateless: query === 'code=stolen' ? '' : 'invalid_scope' });
    expect((await rawGet(callback.href)).status).toBe(200);
    expect((await login).state).toEqual({ kind: 'active' });
  },
);

it('a sign-in whose only answer had no state says so when its time is over', async () => {
  const { rig, world } = await ground();
  rig.person.isThere = false;
  const login = refused(rig.login({ timeout: 1000 }));
  await until('the page is open', () => rig.pages.length > 0);
  const { origin, pathname } = await callbackOf({ world }, rig.pages[0]);
  await rawGet(`${origin}${pathname}?error=invalid_scope`);
  rig.clock.advance(1000);
  expect(await login).toMatchObject({
    reason: 'login_failed',
    message: expect.stringContaining('"invalid_scope"'),
    hint: expect.stringContaining('--scope'),
  });
});
