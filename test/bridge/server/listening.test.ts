/** Streams of a stateful server across their ends. */
import { setImmediate } from 'node:timers/promises';
import { McpServer } from '@modelcontextprotocol/server';
import { expect, it } from 'vitest';
import { type Ending, keepListening, Pauses } from '../../../src/bridge/server/listening.ts';
import { type Mishap, statefulServer } from '../../support/servers/protocol-server.ts';
import { bridged, tokenBroker } from '../rig.ts';

/** Its tool `touch` says on the listening stream that the tools have changed. */
function touchy(): McpServer {
  const server = new McpServer({ name: 'touchy', version: '1.0.0' });
  server.registerTool('touch', {}, async () => {
    await server.server.notification({ method: 'notifications/tools/list_changed' });
    return { content: [] };
  });
  return server;
}

/** A bridge whose listening streams meet `mishap` so many times, with the pauses that it made. */
async function open(mishap: Mishap, times: number) {
  const server = await statefulServer(touchy);
  const heard: string[] = [];
  const pauses: number[] = [];
  const asked: unknown[] = [];
  let left = times;
  server.mishap = ({ http }) => (http === 'GET' && left-- > 0 ? mishap : undefined);
  const rig = await bridged(
    server.url,
    {},
    (client) =>
      client.setNotificationHandler('notifications/tools/list_changed', () => void heard.push('changed')),
    await tokenBroker(server.url.href, undefined, (params) => void asked.push(params)),
    async (ms) => {
      pauses.push(ms);
      await setImmediate();
    },
  );
  const streams = (): number => server.received.filter(({ http }) => http === 'GET').length;
  return { ...rig, server, heard, pauses, asked, streams };
}

it.each([
  ['breaks', 'cut'],
  ['ends', 'end stream'],
  ['is refused for a time', { status: 503 }],
] as const)(
  'the listening stream comes back with growing pauses, however often it %s',
  async (_what, mishap) => {
    const { client, heard, pauses, said, streams } = await open(mishap, 14);
    await expect.poll(streams).toBe(15);
    expect(pauses.slice(0, 4)).toEqual([500, 1000, 2000, 4000]);
    expect(pauses.slice(-4)).toEqual([300_000, 300_000, 300_000, 300_000]);
    await expect
      .poll(async () => {
        await client.callTool({ name: 'touch' });
        return heard;
      })
      .toContain('changed');
    expect(said).toEqual([]);
  },
);

it('BR-8: the listening stream is not asked for again where the server has none', async () => {
  const { client, pauses, streams } = await open({ status: 405 }, 100);
  await expect.poll(streams).toBe(1);
  await client.callTool({ name: 'touch' });
  expect(streams()).toBe(1);
  expect(pauses).toEqual([]);
});

it('asks nobody to sign in for the listening stream', async () => {
  const { asked, streams } = await open({ status: 401 }, 100);
  await expect.poll(streams).toBeGreaterThan(3);
  expect(asked).toContainEqual(expect.objectContaining({ interaction: 'never' }));
  const first = asked.findIndex((params) => JSON.stringify(params).includes('never'));
  expect(JSON.stringify(asked.slice(first))).not.toContain('allow');
});

it('BR-8: starts over after a stream that lasted, and keeps the server’s pause', async () => {
  let time = 0;
  const pauses: number[] = [];
  const endings: [number, Ending][] = [
    [0, 'not open'],
    [0, { retry: undefined }],
    [60_000, { retry: undefined }],
    [0, 'not open'],
    [0, { retry: 1500 }],
    [0, { retry: 0 }],
    [0, { retry: 1e12 }],
    [0, 'none'],
  ];
  await keepListening({
    open: async () => {
      const [lasted, ending] = endings.shift() ?? [0, 'none'];
      time += lasted;
      return ending;
    },
    time: { sleep: async (ms) => void pauses.push(ms), now: () => time },
    signal: new AbortController().signal,
  });
  expect(pauses).toEqual([500, 1000, 500, 1000, 1500, 250, 300_000]);
});

it('the pause grows to five seconds at a server that ends each stream', () => {
  const pauses = new Pauses();
  let now = 0;
  const made = Array.from({ length: 12 }, () => {
    const pause = pauses.next(0, now);
    now += pause;
    return pause;
  });
  expect(made[0]).toBe(250);
  expect(made.toSorted((a, b) => a - b)).toEqual(made);
  expect(made.at(-1)).toBe(5000);
  // A stream that stayed says that the server is well.
  expect(pauses.next(0, now + 60_000)).toBe(250);
});

it('the pause is the server’s, a minute at most', () => {
  const pauses = new Pauses();
  expect(pauses.next(3000, 0)).toBe(3000);
  expect(pauses.next(99_999_999_999, 3000)).toBe(60_000);
});
