/** What the owner does with proxies, where a step of it fails: the proxy stays as it was. */
import { afterEach, expect, it, vi } from 'vitest';
import { KeyturnError } from '../../../src/base/errors.ts';
import { Proxies, proxyRules, proxySchema } from '../../../src/broker/records/proxy.ts';
import { ProxiedApps } from '../../../src/daemon/proxy/proxied-apps.ts';
import { RunningProxies } from '../../../src/daemon/proxy/running-proxies.ts';
import { ProxyProcess, type ProxyProcessParts } from '../../../src/daemon/proxy/proxy-process.ts';
import type { ProxyEntry, ProxyOrder } from '../../../src/proxy/messages.ts';
import { listOf } from '../../../src/store/home-document.ts';
import { nowhere } from '../../broker/nowhere.ts';
import { brokerRig, testDocument } from '../../broker/rig.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const { endpoint } = nowhere;

const diskFull = new KeyturnError('file_unreadable', 'the disk is full');

const processOf = (parts: Pick<ProxyProcessParts, 'spawn' | 'clock'>) =>
  new ProxyProcess({
    env: {},
    log: () => undefined,
    admit: () => Promise.reject(new Error('nobody comes here')),
    changed: () => undefined,
    ...parts,
  });

/** A desk whose process opens each port that it is told, and notes the paths that it was told. */
async function newDesk() {
  const { broker, parts, clock } = await brokerRig(nowhere);
  const document = testDocument(temporaryFolder());
  const file = listOf(document, 'proxies', proxySchema, proxyRules);
  await document.verify();
  const proxies = new Proxies(file);
  const served: string[][] = [];
  let hear: (message: unknown) => void = () => undefined;
  const open = (entries: readonly ProxyEntry[]): void => {
    served.push(entries.map(({ path }) => path));
    for (const { id } of entries) queueMicrotask(() => hear({ op: 'state', entry: id, state: 'open' }));
  };
  const process = processOf({
    clock,
    spawn: () => ({
      post: (order) => {
        // What ProxyProcess posts.
        const { op, ...rest } = order as ProxyOrder;
        if (op === 'serve' && 'entries' in rest) open(rest.entries);
      },
      onMessage: (listener) => (hear = listener),
      onExit: () => undefined,
      kill: () => served.push([]),
    }),
  });
  const removeApp = async (id: string): Promise<void> => {
    await parts.permissions.removeAllOf(id);
    await parts.apps.remove(id);
  };
  const apps = new ProxiedApps({
    proxies,
    keys: { identityOf: async ({ id }) => ({ appId: id, key: 'k', brokerId: 'b' }) },
    net: { agentFor: async () => ({ reach: 'public' }) },
    parts,
    verify: async () => undefined,
    socket: () => '/nowhere',
    changed: () => undefined,
    removeApp,
  });
  const desk = new RunningProxies({ broker, proxies, apps, process });
  const paths = (): string[] => proxies.all().map(({ path }) => path);
  return { desk, proxies, apps, parts, served, paths };
}

afterEach(() => void vi.restoreAllMocks());

it('a process that ends again and again is given up until the list changes', async () => {
  let starts = 0;
  const nothing = () => undefined;
  const onExit = (ended: () => void): void => {
    starts += 1;
    queueMicrotask(ended);
  };
  const spawn = () => ({ post: nothing, onMessage: nothing, onExit, kill: nothing });
  const process = processOf({ spawn, clock: { sleep: async () => undefined } });
  const entries = [{ id: 'p', port: 50_000, path: 'x'.repeat(16) }];
  for (const ends of [8, 9]) {
    process.serve(entries);
    await vi.waitFor(() => expect([process.stateOf('p'), starts]).toEqual(['ended', ends]));
  }
});

it.each(['its app, which can’t be ended', 'its record'])(
  'a proxy is served again where its removal fails at %s',
  async (step) => {
    const { desk, apps, proxies, parts, served, paths } = await newDesk();
    const { id, name, url } = await desk.add({ resource: endpoint });
    await apps.admit(id);
    const before = paths();
    if (step === 'its record') vi.spyOn(proxies, 'remove').mockRejectedValueOnce(diskFull);
    else vi.spyOn(parts.apps, 'remove').mockRejectedValueOnce(diskFull);
    await expect(desk.remove(name)).rejects.toBe(diskFull);
    expect(desk.list()).toMatchObject([{ name, url }]);
    expect(served.at(-1)).toEqual(before);
    await desk.remove(name);
    expect([desk.list(), parts.apps.all(), served.at(-1)]).toEqual([[], [], []]);
  },
);

it('a removed proxy’s port closes before its app ends, and none comes meanwhile', async () => {
  const { desk, apps, parts, served } = await newDesk();
  const { id, name } = await desk.add({ resource: endpoint });
  await apps.admit(id);
  const remove = parts.apps.remove.bind(parts.apps);
  const late: Promise<unknown>[] = [];
  vi.spyOn(parts.apps, 'remove').mockImplementation(async (client) => {
    expect(served.at(-1)).toEqual([]);
    await remove(client);
    late.push(apps.admit(id).catch((error: unknown) => error));
  });
  await desk.remove(name);
  expect(await Promise.all(late)).toMatchObject([{ reason: 'not_found' }]);
  expect(parts.apps.all()).toEqual([]);
});
