/** Resident memory of a broker that was just started and has nothing to do, beside a Node server that listens. */
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { BrokerHome } from '../broker-home.ts';
import { isSmoke } from '../form.ts';
import { residentOf } from '../process-memory.ts';
import { inTurn, type Measurement } from '../row.ts';

const floorFile = path.join(import.meta.dirname, '..', 'floor.mjs');

/** Milliseconds after which a start's leftovers are swept up or stay. */
export const settling = 2000;

export const memory: Measurement = {
  name: 'memory',
  async measure() {
    const resident = async (start: (home: BrokerHome) => Promise<unknown>): Promise<number> => {
      const home = new BrokerHome();
      try {
        home.trust('');
        await start(home);
        await sleep(isSmoke ? 0 : settling);
        return residentOf(home.pids[0]);
      } finally {
        await home.close();
      }
    };
    const figures = await inTurn(isSmoke ? 1 : 5, {
      ours: async () => resident(async (home) => home.startBroker()),
      floor: async () =>
        resident(async (home) => home.start(floorFile, path.join(home.folder, 'floor.sock'), '1500')),
    });
    return {
      name: 'memory',
      what: 'memory of a broker at rest',
      unit: 'MB',
      ...figures,
      goals: [{ of: 'floor', atMost: 1.4 }],
    };
  },
};
