/**
 * What most measurements share: a home whose broker holds a valid token, the floor, and ssh-agent. Started once a run.
 */
import path from 'node:path';
import { type Connection, connect } from '../src/client/index.ts';
import { startWorld } from '../test/support/world/servers.ts';
import { BrokerHome } from './broker-home.ts';
import { floorProgram } from './floor-program.ts';
import { type Asking, floorConnection, sshAgentConnection, startSshAgent } from './socket-peers.ts';

export interface BenchWorld {
  readonly home: BrokerHome;
  readonly resource: string;
  /** Of the broker, the floor and the peer. */
  readonly pids: readonly number[];
  readonly ours: () => Promise<Connection>;
  readonly floor: () => Promise<Asking>;
  /** Undefined where ssh-agent is missing. */
  readonly peer: (() => Promise<Asking>) | undefined;
  readonly close: () => Promise<void>;
}

export async function openWorld(): Promise<BenchWorld> {
  const home = new BrokerHome();
  const servers = await startWorld({ accessTokenLifetime: 3600 });
  const { resource } = servers.protectedServer;
  home.trust(servers.ca);
  await home.prepare(resource);
  const ours = async (): Promise<Connection> => connect({ name: 'bench', env: home.env });
  const first = await ours();
  const size = JSON.stringify(await first.getToken({ resource })).length;
  first.close();
  const socket = path.join(home.folder, 'floor.sock');
  await home.start(floorProgram(home.folder), socket, String(size));
  const agent = await startSshAgent(home.folder);
  return {
    home,
    resource,
    pids: [...home.pids, ...(agent ? [agent.pid] : [])],
    ours,
    floor: async () => floorConnection(socket, resource),
    peer: agent && (async () => sshAgentConnection(agent.socket)),
    async close() {
      agent?.end();
      await home.close();
      await servers.close();
    },
  };
}
