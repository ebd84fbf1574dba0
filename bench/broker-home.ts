/**
 * A home in a temporary folder, its broker and its commands.
 *
 * Invariant: everything runs from the build, and nothing of it is left after `close`.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { signInAt } from '../demo/user-agent.ts';
import { nodeFlags } from '../src/cli/broker/auto-start.ts';
import { connectAsOwner } from '../src/client/connect.ts';
import type { Connection } from '../src/client/connection.ts';
import { pair } from '../src/client/index.ts';
import { type BrowserHere, browserHere } from '../test/support/browsers/browser-here.ts';
import { compileCache } from '../test/support/processes/compiled.ts';
import { isSmoke } from './form.ts';

const root = path.join(import.meta.dirname, '..');
export const bin = path.join(root, 'dist', 'cli', 'bin.js');

const Pending = z.object({ interactions: z.array(z.object({ id: z.string() })) });

export class BrokerHome {
  readonly folder = mkdtempSync(path.join(tmpdir(), 'kb-'));
  readonly #caFile = path.join(this.folder, 'ca.pem');
  readonly env: Record<string, string> = {
    PATH: process.env['PATH'] ?? '',
    HOME: this.folder,
    KEYTURN_HOME: path.join(this.folder, 'home'),
    KEYTURN_VAULT: 'memory',
    NODE_EXTRA_CA_CERTS: this.#caFile,
    KEYTURN_BROWSER: `env KEYTURN_DEMO_CA=${this.#caFile} ${process.execPath} ${path.join(root, 'demo', 'user-agent.ts')}`,
  };
  readonly #children: ChildProcess[] = [];
  readonly #browser: BrowserHere | undefined;

  /**
   * `env`: further variables of every process, or others in place of the usual ones. `isPersonHere`: whoever signs in is in
   * this process, and not one of their own.
   */
  constructor(env: Readonly<Record<string, string>> = {}, { isPersonHere = isSmoke } = {}) {
    if (isPersonHere) {
      this.#browser = browserHere(path.join(this.folder, 'tabs'), async (url) =>
        signInAt(url, { account: 'alice', ca: readFileSync(this.#caFile, 'utf8') }),
      );
      this.env['KEYTURN_BROWSER'] = this.#browser.command();
    }
    Object.assign(this.env, isSmoke ? compileCache() : {}, env);
  }

  /** Process ids of what `start` started, in its order. */
  get pids(): readonly number[] {
    return this.#children.flatMap(({ pid }) => (pid === undefined ? [] : [pid]));
  }

  /** PEM text of the authority that every process started from here on trusts. */
  trust(ca: string): void {
    writeFileSync(this.#caFile, ca);
  }

  /** Starts a process of Node that goes on; answers its first line. */
  async start(...args: string[]): Promise<string> {
    return this.run(process.execPath, ...args);
  }

  /** As `start`, for any program. */
  async run(program: string, ...args: string[]): Promise<string> {
    const child = spawn(program, args, { env: this.env, stdio: ['ignore', 'pipe', 'inherit'] });
    this.#children.push(child);
    const ended = once(child, 'close').then(() => [undefined]);
    const [line] = (await Promise.race([once(child.stdout, 'data'), ended])) as [Buffer | undefined];
    if (line === undefined)
      throw new Error(`${path.basename(program)} ${args.join(' ')} ended before it said anything`);
    return line.toString();
  }

  /** Runs a command; answers what it printed. */
  async keyturn(...args: string[]): Promise<string> {
    const child = spawn(process.execPath, [bin, ...args], {
      env: this.env,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let text = '';
    child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
    await once(child, 'close');
    return text;
  }

  /** Starts the broker as a command does that finds none. */
  async startBroker(): Promise<void> {
    await this.start(...nodeFlags, bin, 'daemon', '--auto-started');
  }

  /** Ends what was started last, which is the broker, and starts another one. */
  async startAnew(): Promise<void> {
    await this.endLast();
    await this.startBroker();
  }

  /** Starts the broker, signs in, and pairs and allows the program `bench`. */
  async prepare(resource: string): Promise<void> {
    await this.startBroker();
    const pairing = pair({ name: 'bench', env: this.env, onCode: () => undefined });
    await this.#asOwner(async (owner) => {
      let cards: readonly { id: string }[] = [];
      while (cards.length === 0) {
        await sleep(50);
        cards = Pending.parse(await owner.request('interaction.list')).interactions;
      }
      await owner.request('interaction.answer', { id: cards[0]?.id, answer: 'yes' });
    });
    await pairing;
    await this.signIn(resource);
    await this.#asOwner(async (owner) =>
      owner.request('permission.set', { client: 'cli', resource, decision: 'allow' }),
    );
  }

  /** Signs in at a resource, and allows it to the program `bench`, which is paired. */
  async signIn(resource: string): Promise<void> {
    await this.#asOwner(async (owner) => {
      await owner.request('login.start', { resource, method: 'browser' });
    });
    await this.allow([resource]);
  }

  /** Allows resources that somebody is signed in at to the program `bench`. */
  async allow(resources: readonly string[]): Promise<void> {
    await this.#asOwner(async (owner) => {
      for (const resource of resources)
        await owner.request('permission.set', { client: 'bench', resource, decision: 'allow' });
    });
  }

  /** In this process: each command would be a further one. */
  async #asOwner(work: (owner: Connection) => Promise<unknown>): Promise<void> {
    const owner = await connectAsOwner({ env: this.env });
    try {
      await work(owner);
    } finally {
      owner.close();
    }
  }

  /** Takes over all that another home keeps. No broker may run in either. */
  takeFrom(other: BrokerHome): void {
    copyHome(other.env['KEYTURN_HOME'] ?? '', this.env['KEYTURN_HOME'] ?? '');
  }

  /** Ends what was started last, and waits for its end. */
  async endLast(): Promise<void> {
    const child = this.#children.pop();
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'close');
    child.kill();
    await ended;
  }

  async close(): Promise<void> {
    while (this.#children.length > 0) await this.endLast();
    await this.#browser?.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** A folder named by KEYTURN_HOME, with the modes of its folders: a broker refuses a folder that others may read. */
export function copyHome(from: string, to: string): void {
  execFileSync('cp', ['-a', `${from}/.`, to]);
}
