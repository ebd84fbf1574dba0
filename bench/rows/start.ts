/** From the start of the broker's process to its first token, which is in the sealed file, among few grants and among many. */
import { rmSync } from 'node:fs';
import path from 'node:path';
import { connect } from '../../src/client/index.ts';
import { copyHome } from '../broker-home.ts';
import { isSmoke } from '../form.ts';
import { addGrants } from '../many-grants.ts';
import { inTurn, type Measurement } from '../row.ts';
import { floorConnection } from '../socket-peers.ts';

const floorFile = path.join(import.meta.dirname, '..', 'floor.mjs');

export const start: Measurement = {
  name: 'start',
  async measure({ world }) {
    const { resourceWithoutRefresh, sealedHomeAt } = await world();
    const resource = await resourceWithoutRefresh();
    const home = await sealedHomeAt(resource);
    try {
      const [few, many, turns] = isSmoke ? [2, 5, 1] : [10, 10_000, 11];
      const homes = { few: home.env['KEYTURN_HOME'] ?? '', many: path.join(home.folder, 'many') };
      await addGrants(home.env, few - 1);
      copyHome(homes.few, homes.many);
      await addGrants({ ...home.env, KEYTURN_HOME: homes.many }, many - few);
      const ours = async (folder: string): Promise<number> => {
        home.env['KEYTURN_HOME'] = folder;
        const from = performance.now();
        await home.startBroker();
        const connection = await connect({ name: 'bench', env: home.env });
        await connection.getToken({ resource });
        const time = performance.now() - from;
        connection.close();
        await home.endLast();
        return time;
      };
      const floor = async (): Promise<number> => {
        const socket = path.join(home.folder, 'floor.sock');
        rmSync(socket, { force: true });
        const from = performance.now();
        await home.start(floorFile, socket, '1500');
        const connection = await floorConnection(socket, resource);
        await connection.ask();
        const time = performance.now() - from;
        connection.close();
        await home.endLast();
        return time;
      };
      const figures = await inTurn(turns, {
        ours: async () => ours(homes.few),
        floor,
        [`${many} grants`]: async () => ours(homes.many),
      });
      return {
        name: 'start',
        what: `broker's start to its first token from the sealed file, among ${few} grants`,
        unit: 'ms',
        ...figures,
        goals: [
          { of: 'floor', atMost: 1.6 },
          { of: `${many} grants`, atLeast: 0.67 },
        ],
      };
    } finally {
      await home.close();
    }
  },
};
