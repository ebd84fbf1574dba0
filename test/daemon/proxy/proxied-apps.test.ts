/** The apps that proxies are: what the broker tells the process of the proxies about one that stays for long. */
import { describe, expect, it } from 'vitest';
import { AccessPause } from '../../../src/broker/refusals/access-pause.ts';
import { TemporaryPermissions } from '../../../src/broker/consent/temporary-permissions.ts';
import { Proxies } from '../../../src/broker/records/proxy.ts';
import { daemonFetch } from '../../../src/daemon/system/fetch.ts';
import { ProxiedApps } from '../../../src/daemon/proxy/proxied-apps.ts';
import { lastingVault, startOn } from '../../support/homes/authority-home.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const endpoint = 'https://notes.example/mcp';
const now = 1_000;

async function oneProxy() {
  const { records, apps, permissions, exceptions } = await startOn(temporaryFolder(), lastingVault());
  const proxies = new Proxies(records.proxies);
  const { id } = await proxies.add({ name: 'notes', endpoint, port: 4000, createdAt: now });
  const temporaryPermissions = new TemporaryPermissions();
  const pause = new AccessPause(() => now);
  const clock = { wall: () => now, now: () => now, awake: () => now, sleep: async () => undefined };
  const proxiedApps = new ProxiedApps({
    proxies,
    parts: { apps, permissions, temporaryPermissions, exceptions, clock, pause },
    keys: { identityOf: async (app) => ({ appId: app.id, key: 'k', brokerId: 'b' }) },
    net: daemonFetch(async () => ({})),
    verify: async () => undefined,
    socket: () => '/socket',
    changed: () => undefined,
    removeApp: async (app) => apps.remove(app),
  });
  return { apps, temporaryPermissions, pause, exceptions, proxiedApps, comes: () => proxiedApps.admit(id) };
}

describe('the app of a proxy', () => {
  it('is one, however many programs come at once', async () => {
    const { apps, comes } = await oneProxy();
    const came = await Promise.all([comes(), comes(), comes()]);
    expect(new Set(came.map(({ identity }) => identity.appId)).size).toBe(1);
    expect(apps.all()).toMatchObject([{ name: 'notes' }]);
  });

  it('is refused where another app took its name after it was unpaired', async () => {
    const { apps, comes } = await oneProxy();
    await apps.remove((await comes()).identity.appId);
    await apps.add('NOTES', now);
    await expect(comes()).rejects.toMatchObject({
      reason: 'conflict',
      message: expect.stringContaining('NOTES'),
    });
  });

  it('loses what it has open during a pause, and stays allowed', async () => {
    const { apps, comes, proxiedApps, temporaryPermissions, pause } = await oneProxy();
    const { appId } = (await comes()).identity;
    temporaryPermissions.set({ permission: { appId, endpoint, decision: 'allow', createdAt: now } });
    apps.used({ appId, endpoint }, now);
    expect(proxiedApps.withoutPermission()).toEqual([]);
    pause.begin({ since: now });
    expect([proxiedApps.withoutPermission(), proxiedApps.withoutPermission()]).toEqual([[appId], []]);
  });

  it('connects to private addresses only while the user allows that host', async () => {
    const { comes, proxiedApps, exceptions } = await oneProxy();
    const reaches = async (): Promise<string> => (await comes()).agent.reach;
    expect(await reaches()).toBe('public');
    const { origin } = new URL(endpoint);
    await exceptions.set(origin, 'private-address', true);
    expect(await proxiedApps.rerouted()).toHaveLength(1);
    expect(await proxiedApps.rerouted()).toEqual([]);
    expect(await reaches()).toBe('anywhere');
    await exceptions.set(origin, 'private-address', false);
    expect(await proxiedApps.rerouted()).toHaveLength(1);
    expect(await reaches()).toBe('public');
    expect(await proxiedApps.rerouted()).toEqual([]);
  });
});
