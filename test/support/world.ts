/**
 * The servers of a test: started with its authority in a file, ended with nothing left behind.
 *
 * Invariant: what these helpers do to a world is done at its authorization server, as an
 * administrator or a bad network would do it; the code under test is never touched.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type LoopbackAnswer, signInAt, type UserAgentOptions } from '../../demo/user-agent.ts';
import { browserHere } from './browsers/browser-here.ts';
import type { TokenVerdict } from './world/authorization-server.ts';
import { type World, type WorldOptions, startWorld } from './world/servers.ts';

export interface TestWorld extends World {
  /** The authority as a file, for NODE_EXTRA_CA_CERTS. */
  readonly caFile: string;
  /** A headless person: follows an authorization URL to the loopback address. */
  signIn(url: string | URL, person?: Partial<UserAgentOptions>): Promise<LoopbackAnswer>;
  /** A person who does that wherever a broker opens a browser; `flags`: those of demo/user-agent.ts, e.g. `--deny`. */
  browser(flags?: string): string;
  /** The next `count` token requests get this answer instead of a token; 503 unless told otherwise. */
  failTokenRequests(count: number, verdict?: TokenVerdict): void;
  /** Token requests wait from now on, until `release`. */
  holdTokenRequests(): HeldRequests;
  /** Ends all access tokens that were issued, as if they had expired. Opaque tokens only. */
  expireAccessTokens(): void;
  /** Ends all grants: access tokens and refresh tokens are worth nothing from now on. */
  endGrants(): void;
}

export interface HeldRequests {
  /** Resolves when a request waits. */
  readonly arrived: Promise<void>;
  release(): void;
}

/**
 * Access tokens outlast every test: one that should end is ended by `expireAccessTokens`, not by the
 * clock. In seconds.
 */
const testLifetime = 3600;

export async function openWorld(options: WorldOptions = {}): Promise<TestWorld> {
  const world = await startWorld({ accessTokenLifetime: testLifetime, ...options });
  const folder = await mkdtemp(path.join(tmpdir(), 'keyturn-world-'));
  const caFile = path.join(folder, 'ca.pem');
  await writeFile(caFile, world.ca);
  const server = world.authorizationServer;
  const signIn: TestWorld['signIn'] = (url, person = {}) =>
    signInAt(url, { account: 'alice', ca: world.ca, ...person });
  const browser = browserHere(path.join(folder, 'tabs'), signIn);
  return {
    ...world,
    caFile,
    signIn,
    browser: (flags) => browser.command(flags),
    failTokenRequests(count, verdict = { status: 503 }) {
      let left = count;
      server.setTokenGate(() => (left-- > 0 ? verdict : 'pass'));
    },
    holdTokenRequests() {
      const arrived = Promise.withResolvers<void>();
      const released = Promise.withResolvers<TokenVerdict>();
      server.setTokenGate(async () => {
        arrived.resolve();
        return released.promise;
      });
      return { arrived: arrived.promise, release: () => released.resolve('pass') };
    },
    expireAccessTokens: () => void server.forget('AccessToken'),
    endGrants: () => void server.forget('Grant'),
    async close() {
      await world.close();
      await browser.close();
      await rm(folder, { recursive: true });
    },
  };
}
