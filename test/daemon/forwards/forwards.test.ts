/** The time of a forward, and what its socket passes on. */
import { expect, it, vi } from 'vitest';
import { Forwards } from '../../../src/daemon/forwards/forwards.ts';
import type { BrokerServer, Caller, ServerDeps } from '../../../src/ipc/server/server.ts';
import { nowhere } from '../../broker/nowhere.ts';
import { brokerRig } from '../../broker/rig.ts';

const resource = 'https://notes.example/mcp';
const hour = 3_600_000;

/** The connection of a command, and that of a program elsewhere. */
function caller(role: Caller['role']): Caller & { heard: unknown[]; close: () => void } {
  const gone = new AbortController();
  const heard: unknown[] = [];
  return {
    appId: role,
    role,
    peer: { kind: 'unverified' },
    peerNow: () => ({ kind: 'unverified' }),
    signal: gone.signal,
    isOpen: true,
    notify: (method: string, params: unknown) => heard.push([method, params]),
    onClose: (callback: () => void) => gone.signal.addEventListener('abort', callback),
    heard,
    close: () => gone.abort(),
  };
}

/** Sockets that note whether they are open; each passes requests to `ask`. */
async function newForwards() {
  const { broker, clock } = await brokerRig(nowhere);
  const dispatch = vi.fn<ServerDeps['dispatch']>().mockResolvedValue('answered');
  const listening = new Map<string, ServerDeps['dispatch']>();
  const forwards = new Forwards({
    broker,
    homeId: 'A'.repeat(22),
    socketFor: (name) => `/run/keyturn/${name}`,
    changed: () => undefined,
    sockets: {
      dispatch,
      serve: async (origin, own) => {
        await Promise.resolve();
        listening.set(origin.label, own.dispatch);
        return {
          socketId: own.socketId ?? '',
          path: own.path,
          isLost: () => false,
          listenAgain: async () => undefined,
          callers: () => [],
          closeConnectionsOf: () => undefined,
          close: async () => void listening.delete(origin.label),
        } satisfies BrokerServer;
      },
    },
  });
  const open = async (label: string, lifetime = 3600, path?: string) => {
    const opener = caller('owner');
    await forwards.open(opener, { label, hostKey: undefined, path, resources: [resource], lifetime });
    const ask = async (method: string, params: unknown): Promise<unknown> =>
      listening.get(label)?.(caller('app'), method, params);
    return { opener, ask };
  };
  return { forwards, clock, dispatch, listening, open };
}

it('a forward ends when its time is over, and tells the connection that opened it', async () => {
  const { forwards, clock, listening, open } = await newForwards();
  const { opener } = await open('box');
  clock.advance(hour - 1);
  expect(forwards.list()).toHaveLength(1);
  clock.advance(1);
  await vi.waitFor(() => expect(opener.heard).toMatchObject([['forward.ended', { why: 'expired' }]]));
  expect([...listening.keys()]).toEqual([]);
  expect(forwards.list()).toEqual([]);
});

it('answers nothing after its time, even if the machine slept over its end', async () => {
  const { forwards, clock, dispatch, open } = await newForwards();
  const { ask } = await open('box');
  await expect(ask('token.get', { resource })).resolves.toBe('answered');
  clock.suspend(hour);
  await expect(ask('token.get', { resource })).rejects.toMatchObject({ reason: 'not_permitted' });
  expect(dispatch).toHaveBeenCalledTimes(1);
  expect(forwards.list()).toEqual([]);
  await open('box');
});

it('a forward ends with the connection that opened it', async () => {
  const { forwards, listening, open } = await newForwards();
  const { opener } = await open('box');
  opener.close();
  await vi.waitFor(() => expect([...listening.keys()]).toEqual([]));
  expect(forwards.list()).toEqual([]);
});

it('a remote program asks for named servers only, and gets no API key', async () => {
  const { dispatch, open } = await newForwards();
  const { ask } = await open('box');
  await ask('token.get', { resource, kinds: ['token', 'apiKey'] });
  expect(dispatch.mock.lastCall?.[2]).toEqual({ resource, kinds: ['token'] });
  await ask('token.prove', { tokenId: 't', method: 'GET', url: `${resource}/notes?page=2` });
  const calls = dispatch.mock.calls.length;
  for (const [method, params] of [
    ['token.get', { resource: 'https://other.example/mcp' }],
    ['token.get', { resource, kinds: ['apiKey'] }],
    ['token.prove', { tokenId: 't', method: 'GET', url: 'https://notes.example/mcp2' }],
    ['token.prove', { tokenId: 't', method: 'GET', url: 'https://notes.example/' }],
    ['permission.release', { resource: 'https://other.example/mcp' }],
    ['network.get', { resource }],
    ['constructor', {}],
  ] as const) {
    await expect(ask(method, params), method).rejects.toMatchObject({ reason: 'not_permitted' });
  }
  expect(dispatch).toHaveBeenCalledTimes(calls);
});
