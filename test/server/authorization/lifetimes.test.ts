/** How long grants and registrations live at the authorization server. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { memoryStorage } from '../../../src/server/authorization/index.ts';
import { authorizationOf, publicClient, refreshOf, register, signIn, startServer, tokenFor } from './rig.ts';
import type { Rig } from './rig.ts';

const storage = memoryStorage();
let rig: Rig;
beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  rig = await startServer({ storage, lifetimes: { refreshToken: 1000, accessToken: 60 } });
});
afterEach(async () => {
  vi.useRealTimers();
  await rig.close();
});

const pass = (seconds: number): void => void vi.setSystemTime(Date.now() + seconds * 1000);

it('a sign-in outlives a refresh token if it is used, and ends with it if not', async () => {
  let { body } = await signIn(rig);
  const refresh = async () => tokenFor(rig, refreshOf(body['refresh_token']));
  for (const seconds of [90, 960, 600, 950]) {
    pass(seconds);
    const answer = await refresh();
    expect(answer.status).toBe(200);
    body = answer.body;
  }
  pass(1001);
  expect((await refresh()).body['error']).toBe('invalid_grant');
});

describe('a registration', () => {
  const newClient = async () =>
    (await register(rig, publicClient)).body as Readonly<
      Record<'client_id' | 'registration_client_uri' | 'registration_access_token', string>
    >;
  const isKnown = async (clientId: string): Promise<boolean> => {
    await storage.removeExpired(Math.floor(Date.now() / 1000));
    return (await rig.request(authorizationOf(rig, { client_id: clientId }).url)).status === 303;
  };

  it('AS-19: ends after a day without a token, and a year after the last one', async () => {
    const day = 24 * 60 * 60;
    const { client_id: unused } = await newClient();
    const { client_id: used, ...management } = await newClient();
    await signIn(rig, { client_id: used });
    // What it changes in its registration doesn't shorten it.
    let managedBy = management.registration_access_token;
    const change = async (): Promise<number> => {
      const changed = await rig.request(management.registration_client_uri, {
        method: 'PUT',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${managedBy}` },
        body: JSON.stringify({ ...publicClient, client_id: used, client_name: 'Renamed' }),
      });
      managedBy = String(((await changed.json()) as Record<string, unknown>)['registration_access_token']);
      return changed.status;
    };
    expect(await change()).toBe(200);
    pass(day - 60);
    expect([await isKnown(unused), await isKnown(used)]).toEqual([true, true]);
    pass(120);
    expect([await isKnown(unused), await isKnown(used)]).toEqual([false, true]);
    // Nor is the token left that managed the unused one.
    expect(await storage.ids('RegistrationAccessToken')).toHaveLength(1);
    pass(200 * day);
    await signIn(rig, { client_id: used });
    pass(200 * day);
    expect([await isKnown(used), await change()]).toEqual([true, 200]);
    pass(200 * day);
    expect(await isKnown(used)).toBe(false);
    expect(await storage.ids('RegistrationAccessToken')).toEqual([]);
  });
});
