/** Resident memory of a broker after much use, and of one that has many grants, each beside the same broker at rest with few. */
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from '../../src/client/index.ts';
import { idlePeriod } from '../../src/daemon/system/idle-collection.ts';
import { isSmoke } from '../form.ts';
import { addGrants } from '../many-grants.ts';
import { residentOf } from '../process-memory.ts';
import { askForEach, briefLife } from '../refresh-home.ts';
import { inTurn, type Measurement } from '../row.ts';
import { many } from './crowd.ts';
import { settling } from './memory.ts';

export const memoryUsed: Measurement = {
  name: 'memory-used',
  async measure({ refreshHome: open }) {
    const [grants, rounds, requests] = isSmoke ? [4, 1, 64] : [1000, 10, 1_000_000];
    const settled = async (pid: number | undefined): Promise<number> => {
      // The first look may find the last of the work, the second finds an idle broker.
      await sleep(isSmoke ? 0 : 2 * idlePeriod + settling);
      return residentOf(pid);
    };
    const refreshHome = await open(grants, briefLife);
    try {
      const { home, resources, lasting, connection } = refreshHome;
      // Anew: what was signed in and allowed by this one is use too.
      if (!isSmoke) await home.startAnew();
      const pid = home.pids.at(-1);
      const rest = await settled(pid);
      const connections = await many(64, connection);
      const ask = async (count: number): Promise<unknown> =>
        Promise.all(
          connections.map(async (each) => {
            for (let left = count / connections.length; left > 0; left -= 1)
              await each.getToken({ resource: lasting });
          }),
        );
      await askForEach(connections, resources);
      await ask(requests / 10);
      const tenth = await settled(pid);
      for (let round = 1; round < rounds; round += 1) {
        await sleep(briefLife * 1000);
        await askForEach(connections, resources);
      }
      await ask((requests * 9) / 10);
      for (const each of connections) each.close();
      const used = await settled(pid);
      return {
        name: 'memory-used',
        what: `memory after ${requests} requests over ${connections.length} connections and ${grants * rounds} refreshes of ${grants} grants; a tenth: after so much of it`,
        unit: 'MB',
        ours: used,
        peers: { 'at rest': rest, 'a tenth': tenth },
        ratios: { 'at rest': used / rest, 'a tenth': used / tenth },
        goals: [{ of: 'at rest', atMost: 1.1 }],
      };
    } finally {
      await refreshHome.close();
    }
  },
};

export const memoryOfGrants: Measurement = {
  name: 'memory-10000',
  async measure({ world }) {
    const { resourceWithoutRefresh, sealedHomeAt } = await world();
    const resource = await resourceWithoutRefresh();
    const [count, turns] = isSmoke ? [5, 1] : [10_000, 5];
    const [few, full] = [await sealedHomeAt(resource), await sealedHomeAt(resource)];
    try {
      await addGrants(full.env, count);
      const resident = async (home: typeof few): Promise<number> => {
        await home.startBroker();
        // The vault is read when somebody first asks.
        const connection = await connect({ name: 'bench', env: home.env });
        await connection.getToken({ resource });
        connection.close();
        await sleep(isSmoke ? 0 : settling);
        const megabytes = residentOf(home.pids.at(-1));
        await home.endLast();
        return megabytes;
      };
      const figures = await inTurn(turns, {
        ours: async () => resident(full),
        'one grant': async () => resident(few),
      });
      return {
        name: 'memory-10000',
        what: `memory of a broker at rest with ${count} grants, after its first token`,
        unit: 'MB',
        ...figures,
        goals: [{ of: 'one grant', atMost: 1.6 }],
      };
    } finally {
      await few.close();
      await full.close();
    }
  },
};
