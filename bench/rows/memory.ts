/** Resident memory of a broker that has nothing to do, and of one with much behind it, beside a bare Node listener. */
import { randomUUID } from 'node:crypto';
import path from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { idlePeriod } from '../../src/daemon/system/idle-collection.ts';
import { Home } from '../home.ts';
import { ended, floorFile, memoryOf, started } from '../process.ts';
import { inTurn, isSmoke, type Measurement } from '../row.ts';
import type { World } from '../world.ts';

/** Milliseconds after which a start's leftovers are swept up or stay. */
const rest = isSmoke ? 100 : 2000;

const [signIns, tokens, atOnce] = isSmoke ? [5, 1, 2] : [1000, 100, 64];

export const memory: Measurement = {
  name: 'memory',
  async measure(world) {
    const opened = await world();
    const bare = async (): Promise<number> => {
      const socket = path.join(opened.home.folder, `${randomUUID()}.sock`);
      const { child } = await started(process.execPath, [floorFile, socket, '1500'], process.env);
      await sleep(rest);
      const megabytes = memoryOf(child.pid, 'resident');
      await ended(child);
      return megabytes;
    };
    const idle = async (): Promise<number> => {
      await using home = new Home('');
      await home.startBroker();
      await sleep(rest);
      return memoryOf(home.pid, 'resident');
    };
    const atRest = await inTurn(5, { ours: idle, 'bare Node': bare });
    await using home = new Home(opened.ca, 'sealed-file');
    await use(home, opened);
    const used = await inTurn(1, { ours: async () => memoryOf(home.pid, 'resident'), 'bare Node': bare });
    const after = `memory of a broker with ${signIns} sign-ins after ${signIns * tokens} tokens`;
    return [
      { what: 'memory of an idle broker', unit: 'MB', ...atRest, goals: { 'bare Node': 1.4 } },
      { what: after, unit: 'MB', ...used, goals: { 'bare Node': 1.8 } },
    ];
  },
};

/** Resolves when the broker is idle again. */
async function use(home: Home, { lasting, resource }: World): Promise<void> {
  const resources = Array.from({ length: signIns }, (_, n) => resource(3600, 0, `s${n}`));
  await home.prepare([lasting]);
  await home.endBroker();
  await home.copySignIn(resources);
  await home.startBroker();
  await home.allow(resources);
  const left = Array.from({ length: tokens }, () => resources).flat();
  const ask = async (): Promise<void> => {
    const connection = await home.connection();
    for (let next = left.pop(); next !== undefined; next = left.pop())
      await connection.getToken({ resource: next });
    connection.close();
  };
  await Promise.all(Array.from({ length: atOnce }, ask));
  // The broker collects when it finds itself idle: the first look may find the last of the work.
  await sleep(isSmoke ? 0 : 2 * idlePeriod + rest);
}
