/**
 * What most measurements share: a home whose broker holds a valid token, the floors, and the agents that this machine has.
 * Started once a run.
 */
import path from 'node:path';
import { type Connection, connect } from '../src/client/index.ts';
import { throwAwayCertificates } from '../src/serve/certificate.ts';
import { startWorld, type World, type WorldOptions } from '../test/support/world/servers.ts';
import { BrokerHome } from './broker-home.ts';
import { compiled } from './compiled.ts';
import { type OidcAgent, startOidcAgent } from './oidc-agent.ts';
import { type Asking, floorConnection, sshAgentConnection, startSshAgent } from './socket-peers.ts';

export interface BenchWorld {
  readonly home: BrokerHome;
  readonly resource: string;
  readonly authorizationServer: World['authorizationServer'];
  /** Of other servers, where nobody is signed in yet. */
  readonly otherResource: string;
  /** What processes outside of `home` must trust, as PEM text. */
  readonly ca: string;
  /** Further servers under the same authority; they end with this world. */
  readonly furtherServers: (options?: WorldOptions) => Promise<World>;
  /** Of the broker, the floors and the peers. */
  readonly pids: readonly number[];
  readonly ours: () => Promise<Connection>;
  readonly floor: () => Promise<Asking>;
  /** The floor in C. Undefined where there is no compiler. */
  readonly inC: (() => Promise<Asking>) | undefined;
  /** Undefined where ssh-agent is missing. */
  readonly sshAgent: (() => Promise<Asking>) | undefined;
  /** Undefined where it is missing. */
  readonly oidcAgent: OidcAgent | undefined;
  readonly close: () => Promise<void>;
}

export async function openWorld(): Promise<BenchWorld> {
  const home = new BrokerHome();
  const common = { accessTokenLifetime: 3600, certificates: await throwAwayCertificates() };
  const [servers, others] = [await startWorld(common), await startWorld(common)];
  const { resource } = servers.protectedServer;
  const further: World[] = [];
  home.trust(servers.ca);
  await home.prepare(resource);
  const ours = async (): Promise<Connection> => connect({ name: 'bench', env: home.env });
  const first = await ours();
  const size = String(JSON.stringify(await first.getToken({ resource })).length);
  first.close();
  const socket = path.join(home.folder, 'floor.sock');
  await home.start(path.join(import.meta.dirname, 'floor.mjs'), socket, size);
  const program = compiled(home.folder, 'floor');
  const socketInC = path.join(home.folder, 'c.sock');
  if (program !== undefined) await home.run(program, socketInC, size);
  const agent = await startSshAgent(home.folder);
  const oidcAgent = await startOidcAgent(home.folder);
  return {
    home,
    resource,
    authorizationServer: servers.authorizationServer,
    otherResource: others.protectedServer.resource,
    ca: servers.ca,
    async furtherServers(options = {}) {
      const started = await startWorld({ ...common, ...options });
      further.push(started);
      return started;
    },
    pids: [...home.pids, ...(agent ? [agent.pid] : []), ...(oidcAgent ? [oidcAgent.pid] : [])],
    ours,
    floor: async () => floorConnection(socket, resource),
    inC: program === undefined ? undefined : async () => floorConnection(socketInC, resource),
    sshAgent: agent && (async () => sshAgentConnection(agent.socket)),
    oidcAgent,
    async close() {
      agent?.end();
      await oidcAgent?.end();
      await home.close();
      await Promise.all([servers, others, ...further].map(async (each) => each.close()));
    },
  };
}
