/** Many programs that know a proxy's address, and one that stays for long. */
import { describe, expect, it } from 'vitest';
import { AccessPause } from '../../src/broker/refusals/access-pause.ts';
import { Leases } from '../../src/broker/consent/lease.ts';
import { Proxies } from '../../src/broker/records/proxy.ts';
import { daemonFetch } from '../../src/daemon/system/fetch.ts';
import { ProxiedPrograms } from '../../src/daemon/proxy/proxied-programs.ts';
import { lastingVault, startOn } from '../support/homes/authority-home.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const endpoint = 'https://notes.example/mcp';
const now = 1_000;

/** A proxy to which as many programs came as it serves, and nobody decided about any of them. */
async function crowded() {
  const { records, clients, permissions, overrides } = await startOn(temporaryFolder(), lastingVault());
  const proxies = new Proxies(records.proxies);
  const { id } = await proxies.add({ name: 'notes', endpoint, port: 4000, createdAt: now });
  for (let number = 1; number <= 32; number += 1)
    await clients.addToProxy(id, { name: `notes: p${number}`, executable: `/p${number}`, now });
  const leases = new Leases();
  const removed: string[] = [];
  const pause = new AccessPause(() => now);
  const clock = { wall: () => now, now: () => now, awake: () => now, sleep: async () => undefined };
  const programs = new ProxiedPrograms({
    proxies,
    parts: { clients, permissions, leases, overrides, clock, pause },
    keys: { identityOf: async (client) => ({ clientId: client.id, key: 'k', brokerId: 'b' }) },
    net: daemonFetch(async () => ({})),
    verify: async () => undefined,
    socket: () => '/socket',
    changed: () => undefined,
    removeClient: async (client) => {
      removed.push(clients.nameOf(client));
      await clients.remove(client);
    },
  });
  const [first] = clients.ofProxy(id);
  if (!first) throw new Error('nobody came');
  const permission = { clientId: first.id, endpoint, decision: 'allow', createdAt: now } as const;
  return {
    clients,
    leases,
    pause,
    permission,
    overrides,
    programs,
    removed,
    comes: () => programs.admit(id, undefined),
  };
}

describe('one more program than a proxy serves', () => {
  it('takes the place of one that nobody decided about', async () => {
    const { comes, removed } = await crowded();
    await comes();
    expect(removed).toEqual(['notes: p1']);
  });

  it.each([
    ['for its run, or for a time', false],
    ['for one token, which it got', true],
  ])('takes no place of one that was allowed %s', async (_how, once) => {
    const { comes, removed, leases, permission } = await crowded();
    leases.set({ permission, ...(once ? { once } : {}) });
    if (once) leases.used(permission, 'token 1');
    await comes();
    expect(removed).toEqual(['notes: p2']);
  });
});

describe('a program that came', () => {
  it('loses what it has open when its person pauses all access, though it stays allowed', async () => {
    const { clients, comes, programs, leases, pause, permission } = await crowded();
    const { clientId } = (await comes()).identity;
    leases.set({ permission: { ...permission, clientId } });
    clients.used(clientId, now);
    expect(programs.withoutPermission()).toEqual([]);
    pause.begin({ since: now });
    expect([programs.withoutPermission(), programs.withoutPermission()]).toEqual([[clientId], []]);
  });

  it('connects to private addresses no longer than its person allows that host', async () => {
    const { comes, programs, overrides } = await crowded();
    const reaches = async (): Promise<string> => (await comes()).agent.reach;
    expect(await reaches()).toBe('public');
    const { origin } = new URL(endpoint);
    await overrides.set(origin, 'private-address', true);
    expect(await programs.rerouted()).toHaveLength(1);
    expect(await programs.rerouted()).toEqual([]);
    expect(await reaches()).toBe('anywhere');
    await overrides.set(origin, 'private-address', false);
    expect(await programs.rerouted()).toHaveLength(1);
    expect(await reaches()).toBe('public');
    expect(await programs.rerouted()).toEqual([]);
  });
});
