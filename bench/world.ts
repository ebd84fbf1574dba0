/** What most rows share: the servers, and a home whose broker holds valid tokens of theirs. */
import { once } from 'node:events';
import path from 'node:path';
import process from 'node:process';
import { z } from 'zod';
import { Home } from './home.ts';
import { type OidcAgent, startOidcAgent } from './oidc-agent.ts';
import { ended, fileHere, floorFile, started } from './process.ts';

export interface World {
  readonly home: Home;
  /** PEM text. */
  readonly ca: string;
  /** A server of this issuer (servers.ts). */
  readonly resource: (life: number, delay: number, name: string) => string;
  /** The server with tools, which `bench` may use. */
  readonly tools: string;
  /** A resource whose tokens live an hour, which `bench` may use. */
  readonly lasting: string;
  /** Refreshes that the servers have answered. */
  readonly refreshes: () => Promise<number>;
  /** The socket of a bare Node server that answers each line with one as long as a token's. */
  readonly floor: string;
  /** Undefined where this machine lacks it. */
  readonly oidcAgent: OidcAgent | undefined;
  readonly pids: readonly number[];
  readonly close: () => Promise<void>;
}

const Servers = z.object({ origin: z.string(), tools: z.string(), ca: z.string() });

export async function openWorld(): Promise<World> {
  const ends: (() => unknown)[] = [];
  const close = async (): Promise<void> => {
    for (const end of ends.toReversed()) await end();
  };
  try {
    return { ...(await opened(ends)), close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** `ends`: takes what ends each part, in the order of their starts. */
async function opened(ends: (() => unknown)[]): Promise<Omit<World, 'close'>> {
  const servers = await started(process.execPath, [fileHere('servers.ts')], process.env);
  ends.push(async () => ended(servers.child));
  const { origin, tools, ca } = Servers.parse(JSON.parse(servers.line));
  const home = new Home(ca);
  ends.push(async () => home[Symbol.asyncDispose]());
  const resource = (life: number, delay: number, name: string): string =>
    `${origin}/${life}/${delay}/${name}`;
  const lasting = resource(3600, 0, 'lasting');
  await home.prepare([lasting, tools]);
  const connection = await home.connection();
  const size = JSON.stringify(await connection.getToken({ resource: lasting })).length;
  connection.close();
  const floor = path.join(home.folder, 'floor.sock');
  const { child: bare } = await started(process.execPath, [floorFile, floor, String(size)], process.env);
  ends.push(async () => ended(bare));
  const oidcAgent = await startOidcAgent(home.folder, { origin, ca });
  ends.push(async () => oidcAgent?.end());
  const refreshes = async (): Promise<number> => {
    servers.child.stdin?.write('?');
    const [count] = (await once(servers.child.stdout ?? process.stdin, 'data')) as [Buffer];
    return Number(count.toString());
  };
  const pids = [home.pid, bare.pid ?? 0, ...(oidcAgent ? [oidcAgent.pid] : [])];
  return { home, ca, resource, tools, lasting, refreshes, floor, oidcAgent, pids };
}
