/**
 * What the broker runs between the frame of a `token.get` for a token in memory and the frame of its answer: which files
 * a reader has to read to follow it, and how often it looks something up.
 */
import inspector from 'node:inspector/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { openHeadless } from '../support/homes/desk-home.ts';
import { homeInWorld, until } from '../support/home.ts';

const source = path.join(import.meta.dirname, '..', '..', 'src', '/');

/** The rooms of the broker's process that decide. The files of the others are called by name: they parse, count, compare or keep. */
const rooms = ['ipc/server/', 'ipc/protocol/', 'daemon/', 'broker/'];

/** How often each named function ran, by file: V8's own count. */
async function callsOf(work: () => Promise<unknown>): Promise<Record<string, Record<string, number>>> {
  const session = new inspector.Session();
  session.connect();
  try {
    await session.post('Profiler.enable');
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
    await work();
    const { result } = await session.post('Profiler.takePreciseCoverage');
    const calls: Record<string, Record<string, number>> = {};
    for (const { url, functions } of result) {
      const file = path.relative(source, url.startsWith('file:') ? fileURLToPath(url) : url);
      if (!rooms.some((room) => file.startsWith(room))) continue;
      const counts = functions.map(
        ({ functionName, ranges }) => [functionName, ranges[0]?.count ?? 0] as const,
      );
      const ran = counts.filter(([name, count]) => name !== '' && count > 0);
      if (ran.length > 0) calls[file] = Object.fromEntries(ran);
    }
    return calls;
  } finally {
    session.disconnect();
  }
}

/** What ran each of three times: a timer of the broker's may go off during one of them. */
async function callsOfEach(work: () => Promise<unknown>): Promise<Record<string, Record<string, number>>> {
  const [first, ...others] = [await callsOf(work), await callsOf(work), await callsOf(work)];
  const common: Record<string, Record<string, number>> = {};
  for (const [file, functions] of Object.entries(first)) {
    if (others.some((other) => other[file] === undefined)) continue;
    const counts = Object.entries(functions).map(
      ([name, count]) => [name, Math.min(count, ...others.map((other) => other[file]?.[name] ?? 0))] as const,
    );
    common[file] = Object.fromEntries(counts.filter(([, count]) => count > 0));
  }
  return common;
}

/** What a reader reads, in this order. A file more is a decision: the way has to stay short enough to be read in one sitting. */
const toRead = {
  'ipc/server/session.ts': 'takes the frame, and writes the answer',
  'daemon/methods/dispatch.ts': 'asks every guard that can refuse the request, in order',
  'daemon/methods/token-methods.ts': 'makes the request of the parameters, and the result of the token',
  'broker/token-requests.ts': 'decides, from the permission to the answer',
  'broker/consent/current-permissions.ts': 'says what is allowed now',
  'broker/records/permission.ts': 'says what a permission covers, refuses and names',
  'broker/consent/lease.ts': 'says what is allowed once, or to this run',
  'broker/records/grant.ts': 'says which grants there are at the endpoint',
  'broker/grants/vault-comparison.ts': 'says which of them the vault vouches for',
  'broker/consent/grant-choice.ts': 'chooses one, and how far its token may reach',
  'broker/tokens/token-cache.ts': 'holds the token, and says whether it is fresh',
} as const;

/** One call each, whose name says at its place what comes back. */
const calledByName = {
  'ipc/server/rate-limit.ts': 'how long a client that asks too fast waits',
  'ipc/protocol/methods.ts': 'the table of the methods',
  'daemon/shutdown.ts': 'a guard: nothing begins once the broker stops',
  'daemon/home/home-check.ts': 'a guard: nothing is served in a home of another vault',
  'daemon/vault/vault-lock.ts': 'a guard: nothing is served while the vault is locked',
  'broker/refusals/access-pause.ts': 'a guard: nothing is handed out while the owner paused all access',
  'daemon/clients/client-processes.ts': 'which process asks',
  'daemon/system/machine-clock.ts': 'the time',
  'broker/broker.ts': 'the entry to the room: hands the request on',
  'broker/token-rows.ts': 'the row in the audit log',
  'broker/soon.ts': 'goes on at once, where nothing has to be waited for',
  'broker/questions/token-request.ts': 'the fields of the request, and whether it asks for more scopes',
  'broker/records/local-client.ts': 'the name of the program for the audit log, and when it last came',
  'broker/rejections.ts': 'whether the protected server refused a token of this grant',
} as const;

it('a request for a valid token passes through these files, and looks up its permission and its grant once', async () => {
  const { home, world, resource } = await homeInWorld();
  const { line, pages } = await openHeadless(home);
  await line.request('permission.set', { client: 'cli', resource, decision: 'allow' });
  const first = line.getToken({ resource, interaction: 'allow' });
  await world.signIn(await until('a page', () => pages[0]));
  await first;
  // The first token binds the permission to its grant.
  await line.getToken({ resource });
  const calls = await callsOfEach(() => line.getToken({ resource }));
  expect(Object.keys(calls).toSorted()).toEqual(Object.keys({ ...toRead, ...calledByName }).toSorted());
  expect(Object.keys(toRead).length).toBeLessThan(12);
  expect(calls).toMatchObject({
    'broker/records/permission.ts': { find: 1 },
    'broker/consent/lease.ts': { find: 1 },
    'broker/records/grant.ts': { forEndpoint: 1 },
    'broker/tokens/token-cache.ts': { get: 1 },
  });
  // Nothing waits: neither room goes the way of an answer that comes later.
  for (const file of ['ipc/server/session.ts', 'broker/token-requests.ts'])
    expect(Object.keys(calls[file] ?? {})).not.toContain('#answerLater');
});
