/**
 * What most measurements share: a home whose broker holds a valid token, the floors, and the agents that this machine has.
 * Started once a run.
 */
import path from 'node:path';
import { type Connection, connect } from '../src/client/index.ts';
import { throwAwayCertificates } from '../src/serve/certificate.ts';
import { startWorld, type World } from '../test/support/world/servers.ts';
import { BrokerHome } from './broker-home.ts';
import { compiled } from './compiled.ts';
import { isSmoke } from './form.ts';
import { sealedHome } from './many-grants.ts';
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
  /** Of a further server, which gives no refresh tokens, so that the access token is what the vault keeps. */
  readonly resourceWithoutRefresh: () => Promise<string>;
  /** A home with a sealed file, where somebody is signed in at this resource, and which no broker runs in. */
  readonly sealedHomeAt: (resource: string) => Promise<BrokerHome>;
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
  // Here the person is a process in either form.
  const home = new BrokerHome({}, { isPersonHere: false });
  const common = { accessTokenLifetime: 3600, certificates: await throwAwayCertificates() };
  const [servers, others] = [await startWorld(common), await startWorld(common)];
  const { resource } = servers.protectedServer;
  const further: World[] = [];
  /** By their resources. */
  const patterns = new Map<string, BrokerHome>();
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
    async resourceWithoutRefresh() {
      const [shared] = isSmoke ? further : [];
      if (shared) return shared.protectedServer.resource;
      const started = await startWorld({ ...common, refreshTokens: 'never' });
      further.push(started);
      return started.protectedServer.resource;
    },
    async sealedHomeAt(at) {
      if (!isSmoke) return preparedHome(servers.ca, at);
      const pattern = patterns.get(at) ?? (await preparedHome(servers.ca, at));
      patterns.set(at, pattern);
      const copy = await sealedHome();
      copy.trust(servers.ca);
      copy.takeFrom(pattern);
      return copy;
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
      for (const each of [home, ...patterns.values()]) await each.close();
      await Promise.all([servers, others, ...further].map(async (each) => each.close()));
    },
  };
}

async function preparedHome(ca: string, resource: string): Promise<BrokerHome> {
  const home = await sealedHome();
  try {
    home.trust(ca);
    await home.prepare(resource);
    await home.endLast();
    return home;
  } catch (error) {
    await home.close();
    throw error;
  }
}
