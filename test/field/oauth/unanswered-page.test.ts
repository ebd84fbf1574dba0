/** A server that has forgotten its client says so only on its own page, from which nobody comes back. */
import { describe, expect, it } from 'vitest';
import { removeRegistered } from '../../../src/daemon/methods/oauth-clients.ts';
import { json } from '../../support/bent/server.ts';
import { until } from '../../support/home.ts';
import { ground, parameter, refused } from '../../rules/ground.ts';
import type { Ground } from '../../rules/ground.ts';

describe('a registration whose page nobody came back from', () => {
  /** Signed in once; then the server forgets its clients, and says so on its page only. */
  async function silent(): Promise<Ground> {
    const all = await ground();
    await all.rig.login();
    all.authorizationServer.clients.clear();
    return all;
  }

  async function givenUp({ rig }: Ground): Promise<void> {
    const login = refused(rig.login({ timeout: 15_000 }));
    const pages = rig.pages.length;
    await until('its page is open', () => rig.pages.length > pages);
    await rig.visited();
    rig.clock.advance(15_000);
    expect(await login).toMatchObject({ reason: 'login_pending' });
  }

  it.each([0, 600_000])('is replaced at the next attempt, %s ms later', async (later) => {
    const all = await silent();
    const { rig, authorizationServer } = all;
    await givenUp(all);
    rig.clock.advance(later);
    expect((await rig.login()).state).toEqual({ kind: 'active' });
    expect(authorizationServer.counts.registrations).toBe(2);
    await rig.login();
    expect(parameter(rig.pages.at(-1), 'client_id')).toBe(parameter(rig.pages.at(-2), 'client_id'));
  });

  it('stays in use if the server registers no other', async () => {
    const all = await silent();
    const { rig, authorizationServer } = all;
    await givenUp(all);
    rig.clock.advance(600_000);
    await until('the page is over', () => rig.parts.interactions.list().length === 0);
    authorizationServer.bend.registrationAnswer = () => json({ error: 'access_denied' }, 403);
    await givenUp(all);
    expect(parameter(rig.pages.at(-1), 'client_id')).toBe(parameter(rig.pages[0], 'client_id'));
  });

  it('its removal ends the sign-ins that wait with it', async () => {
    const all = await ground();
    const { rig, authorizationServer } = all;
    rig.person.isThere = false;
    const login = refused(rig.login());
    await until('its page is open', () => rig.pages.length > 0);
    const clientId = parameter(rig.pages[0], 'client_id') ?? '';
    await removeRegistered(rig.parts, { issuer: authorizationServer.issuer, clientId });
    expect(await login).toMatchObject({ reason: 'login_failed' });
    expect(rig.parts.interactions.list()).toEqual([]);
  });
});
