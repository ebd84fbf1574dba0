/** What a request for a token in memory runs in src/broker: in which files a reader finds its decisions, and how often it looks something up. */
import inspector from 'node:inspector/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { worldAndSite } from './places.ts';
import { brokerRig, inWorld } from './rig.ts';

const places = worldAndSite();
const folder = path.join(import.meta.dirname, '..', '..', 'src', 'broker', '/');

/** How often each named function of src/broker ran, by file: V8's own count. */
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
      const file = url.startsWith('file:') ? fileURLToPath(url) : url;
      if (!file.startsWith(folder)) continue;
      const counts = functions.map(
        ({ functionName, ranges }) => [functionName, ranges[0]?.count ?? 0] as const,
      );
      const ran = counts.filter(([name, count]) => name !== '' && count > 0);
      if (ran.length > 0) calls[file.slice(folder.length)] = Object.fromEntries(ran);
    }
    return calls;
  } finally {
    session.disconnect();
  }
}

/** The files that decide come first. A new file on this way is a decision: the way has to stay short enough to be read in one sitting. */
const deciding = [
  'token-requests.ts',
  'consent/current-permissions.ts',
  'consent/lease.ts',
  'consent/grant-choice.ts',
  'grants/grant-vouching.ts',
  'records/permission.ts',
  'records/grant.ts',
  'tokens/token-cache.ts',
];

/** The entry to the room, the fields of the request, the name for the audit log, and whether a token was refused. */
const beside = ['broker.ts', 'questions/token-request.ts', 'records/local-client.ts', 'rejections.ts'];

it('a request for a valid token passes through these files, and looks up its permission and its grant once', async () => {
  const rig = await brokerRig(inWorld(places.world));
  await rig.allow();
  await rig.ask();
  // The first token binds the permission to its grant.
  await rig.ask();
  const calls = await callsOf(() => rig.ask());
  expect(Object.keys(calls).toSorted()).toEqual([...deciding, ...beside].toSorted());
  expect(calls).toMatchObject({
    'records/permission.ts': { find: 1 },
    'consent/lease.ts': { find: 1 },
    'records/grant.ts': { forEndpoint: 1 },
    'tokens/token-cache.ts': { get: 1 },
  });
});
