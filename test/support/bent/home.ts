/**
 * A home whose servers are a bent world's, and a program that uses it as conformance suites do: it calls the MCP server,
 * and asks `keyturn token` if it is refused. It knows only what the server and the command told it.
 */
import { onTestFinished } from 'vitest';
import { type BentWorld, type BentWorldOptions, openBentWorld } from './world.ts';
import { type HomeOptions, newHome, type Run, TestHome } from '../home.ts';
import { allow, startBroker } from '../homes/owner-acts.ts';

export interface BentHomeOptions extends BentWorldOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly vault?: 'keychain';
  /** Words before every command. */
  readonly launcher?: readonly string[];
  /** In place of a home that ends with the test. It has its own environment, browser and vault. */
  readonly shared?: SharedHome;
}

export async function homeInBentWorld(options: BentHomeOptions = {}) {
  const world = await openBentWorld(options);
  if (options.shared) options.shared.worlds.push(world);
  else onTestFinished(() => world.close());
  const home = options.shared?.home ?? newHome(homeOptions(world, options));
  const { authorizationServer, protectedServer } = world;
  return { home, world, authorizationServer, protectedServer, url: protectedServer.url };
}

export type BentHome = Awaited<ReturnType<typeof homeInBentWorld>>;

/** For `beforeAll`; `close` it in `afterAll`. */
export async function openSharedHome(options: Omit<BentHomeOptions, 'shared'> = {}) {
  const world = await openBentWorld(options);
  const home = new TestHome(homeOptions(world, options));
  const worlds = [world];
  await startBroker(home);
  return {
    home,
    /** The one that the home was opened with: its authority and its browser. */
    world,
    /** Kept until the end: a later world on the port of an earlier one would find what Keyturn keeps of that one. */
    worlds,
    async close() {
      const ends = await Promise.allSettled([home.close(), ...worlds.map((one) => one.close())]);
      const failed = ends.find((end) => end.status === 'rejected');
      if (failed) throw failed.reason;
    },
  };
}

/** One home and one broker, which runs already, for several tests, each with servers of its own. */
export type SharedHome = Awaited<ReturnType<typeof openSharedHome>>;

function homeOptions({ env: worldEnv }: BentWorld, options: BentHomeOptions): HomeOptions {
  const { env, vault, launcher, plain = false } = options;
  return {
    ...(launcher === undefined ? {} : { launcher }),
    ...(vault === undefined ? {} : { vault }),
    env: { ...worldEnv, ...(plain ? { KEYTURN_ALLOW_INSECURE_LOOPBACK: '1' } : {}), ...env },
  };
}

/** A call that ended: the server's last status, and what each run of `keyturn token` did. */
export interface Called {
  readonly status: number;
  readonly runs: readonly Run[];
  /** The last run. */
  readonly run: Run;
}

/** A program gives up after so many refusals of one call: more than Keyturn itself allows. */
const maxTries = 6;

const noRun: Run = { code: 0, stdout: '', stderr: '' };

/** A local program with one token at a time, for one endpoint. */
export class LocalProgram {
  readonly #home: TestHome;
  readonly #world: BentWorld;
  readonly #url: string;
  #token: string | undefined;

  constructor({ home, world, url }: BentHome) {
    this.#home = home;
    this.#world = world;
    this.#url = url;
  }

  /** Calls the MCP server until it answers otherwise than 401 and 403, or `keyturn token` refuses. */
  async call(): Promise<Called> {
    const runs: Run[] = [];
    for (let tries = 0; tries < maxTries; tries += 1) {
      const { status, challenge } = await this.#request();
      const isRefused = status === 401 || status === 403;
      const end = { status, runs, run: runs.at(-1) ?? noRun };
      if (!isRefused) return end;
      const run = await this.#askKeyturn(status, challenge);
      runs.push(run);
      if (run.code !== 0) return { ...end, run };
      this.#token = run.stdout.trim();
    }
    const { status } = await this.#request();
    return { status, runs, run: runs.at(-1) ?? noRun };
  }

  async #request(): Promise<{ status: number; challenge: string | null }> {
    const response = await this.#world.fetch(this.#url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(this.#token === undefined ? {} : { authorization: `Bearer ${this.#token}` }),
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
    });
    await response.body?.cancel();
    return { status: response.status, challenge: response.headers.get('www-authenticate') };
  }

  /** As docs/reference/cli.md has it: the status, the header as it came, and a rejected token on standard input. */
  async #askKeyturn(status: number, challenge: string | null): Promise<Run> {
    const refused = status === 401 ? this.#token : undefined;
    const args = [
      'token',
      this.#url,
      '--status',
      String(status),
      ...(challenge === null ? [] : ['--challenge', challenge]),
      ...(refused === undefined ? [] : ['--rejected-token-stdin']),
    ];
    return this.#home.keyturn(args, refused === undefined ? {} : { stdin: refused });
  }
}

/** A home that may use its MCP server, and the program that does. */
export async function programInBentWorld(
  options: BentHomeOptions = {},
): Promise<BentHome & { readonly program: LocalProgram }> {
  const there = await homeInBentWorld(options);
  if (options.shared) await allow(there.home, 'cli', there.url);
  else await there.home.ok(['app', 'allow', 'cli', there.url]);
  return { ...there, program: new LocalProgram(there) };
}
