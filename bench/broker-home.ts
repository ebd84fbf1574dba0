/**
 * A home in a temporary folder, its broker and its commands.
 *
 * Invariant: everything runs from the build, and nothing of it is left after `close`.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { nodeFlags } from '../src/cli/broker/auto-start.ts';
import { pair } from '../src/client/index.ts';

const root = path.join(import.meta.dirname, '..');
export const bin = path.join(root, 'dist', 'cli', 'bin.js');

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
    const [line] = (await once(child.stdout, 'data')) as [Buffer];
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

  /** Starts the broker, signs in, and pairs and allows the program `bench`. */
  async prepare(resource: string): Promise<void> {
    await this.startBroker();
    await this.keyturn('login', resource);
    const pairing = pair({ name: 'bench', env: this.env, onCode: () => undefined });
    let cards: { id: string }[] = [];
    while (cards.length === 0) {
      await sleep(50);
      cards = JSON.parse(await this.keyturn('pending', '--json')) as { id: string }[];
    }
    await this.keyturn('answer', cards[0]?.id ?? '', 'yes');
    await pairing;
    await this.keyturn('allow', 'bench', resource);
    await this.keyturn('allow', 'cli', resource);
  }

  async close(): Promise<void> {
    // Where no broker runs the command says so, which is nothing to show.
    const stop = spawn(process.execPath, [bin, 'daemon', '--stop'], { env: this.env, stdio: 'ignore' });
    await once(stop, 'close');
    for (const child of this.#children) child.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
