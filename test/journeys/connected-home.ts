/**
 * A home as its person left it: its settings confirmed, and an app connected, perhaps with access. For a journey that
 * begins after that.
 *
 * Invariant: the broker's own code writes everything, and a person at a desk says yes to each question. That broker has
 * stopped before the app starts.
 */
import { homePaths } from '../../src/base/paths.ts';
import { connect, pair } from '../../src/client/index.ts';
import { type Daemon, startDaemon } from '../../src/daemon/daemon.ts';
import type { InProcessOwner } from '../../src/daemon/methods/dispatch.ts';
import { terminalLog } from '../../src/daemon/system/log.ts';
import { methods } from '../../src/ipc/protocol/methods.ts';
import { type TestHome, until } from '../support/home.ts';

type OwnOptions = Partial<Pick<Parameters<typeof startDaemon>[0], 'keyturnApp' | 'openBrowser' | 'log'>>;

/** A broker in the test's own process; it opens no page unless told how. */
export function brokerOf({ env }: TestHome, options: OwnOptions = {}): Promise<Daemon> {
  return startDaemon({
    env,
    paths: homePaths(env),
    autoStarted: false,
    openBrowser: () => Promise.resolve(),
    log: terminalLog(() => undefined),
    shield: () => Promise.resolve([]),
    ...options,
  });
}

/** What an app may reach, and how its person signs in there. */
export interface Access {
  readonly resource: string;
  readonly scope?: string | undefined;
  readonly signIn: (url: string) => Promise<unknown>;
}

/** Says yes to the question of this kind, once it is asked: until that is revoked. */
async function approve(owner: InProcessOwner, kind: 'settings' | 'pair' | 'allow'): Promise<void> {
  const { id } = await until(`a question of kind ${kind}`, async () => {
    const answer = await owner.call('request.list', {});
    const { requests: interactions } = methods['request.list'].result.parse(answer);
    return interactions.find((question) => question.kind === kind);
  });
  await owner.call('request.answer', { id, answer: 'yes' });
}

/** Connects apps in a new home: its settings are confirmed, and the apps are paired. */
export async function connectIn(home: TestHome, ...names: readonly string[]): Promise<void> {
  await signInFor(home, Object.fromEntries(names.map((name) => [name, undefined])));
}

/** Connects apps in a new home, allows each its access, and signs in there. Answers their tokens. */
export async function signInFor(
  home: TestHome,
  apps: Readonly<Record<string, Access | undefined>>,
): Promise<string[]> {
  let signIn: Access['signIn'] | undefined;
  const openBrowser = async (url: string): Promise<void> => void (await signIn?.(url));
  const daemon = await brokerOf(home, { keyturnApp: true, openBrowser });
  const tokens: string[] = [];
  try {
    let owner: InProcessOwner | undefined;
    for (const [name, access] of Object.entries(apps)) {
      if (owner === undefined) owner = await connectAt(daemon, home, name);
      else await pairAt(owner, home, name);
      if (access === undefined) continue;
      ({ signIn } = access);
      tokens.push(await allowedToken(owner, home, name, access));
    }
  } finally {
    await daemon.stop();
  }
  return tokens;
}

async function allowedToken(
  owner: InProcessOwner,
  { env }: TestHome,
  name: string,
  { resource, scope }: Access,
): Promise<string> {
  const program = await connect({ name, env });
  try {
    const asked = { resource, interaction: 'allow', ...(scope === undefined ? {} : { scope }) } as const;
    const [{ access_token: token }] = await Promise.all([program.getToken(asked), approve(owner, 'allow')]);
    return token;
  } finally {
    program.close();
  }
}

async function connectAt(daemon: Daemon, home: TestHome, name: string): Promise<InProcessOwner> {
  const owner = daemon.owner(() => undefined);
  await Promise.all([pairAt(owner, home, name), approve(owner, 'settings')]);
  return owner;
}

async function pairAt(owner: InProcessOwner, { env }: TestHome, name: string): Promise<void> {
  await Promise.all([pair({ name, env, onCode: () => undefined }), approve(owner, 'pair')]);
}
