/** A person's home as other programs leave it: commands run in environments of the test's own, without KEYTURN_HOME. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { lockHolder } from '../../../src/daemon/home/lock-holder.ts';
import { isAlive, until } from '../../support/home.ts';

const bin = path.join(import.meta.dirname, '..', '..', '..', 'dist', 'cli', 'bin.js');

type Environment = Readonly<Record<string, string>>;

export interface Run {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export class Desk {
  readonly folder = mkdtempSync(path.join(tmpdir(), 'kt-'));
  readonly home = path.join(this.folder, 'home');
  readonly run = path.join(this.folder, 'run');
  readonly state = path.join(this.home, '.local', 'state', 'keyturn');
  readonly config = path.join(this.home, '.config', 'keyturn');

  constructor() {
    for (const folder of [this.home, this.run]) mkdirSync(folder, { mode: 0o700 });
    writeFileSync(path.join(this.folder, 'passphrase'), 'a passphrase of this test', { mode: 0o600 });
  }

  /** In a terminal of the desktop. */
  async keyturn(...args: string[]): Promise<Run> {
    return this.keyturnIn({ XDG_RUNTIME_DIR: this.run }, ...args);
  }

  async keyturnIn(env: Environment, ...args: string[]): Promise<Run> {
    return this.#run(env, [process.execPath, bin, ...args]);
  }

  /** By another program, e.g. one that makes a namespace. */
  async keyturnWithin(program: readonly string[], ...args: string[]): Promise<Run> {
    return this.#run({ XDG_RUNTIME_DIR: this.run }, [...program, process.execPath, bin, ...args]);
  }

  async #run(env: Environment, [program = '', ...args]: readonly string[]): Promise<Run> {
    const child = spawn(program, args, {
      cwd: this.home,
      env: {
        PATH: process.env['PATH'],
        HOME: this.home,
        KEYTURN_VAULT: 'sealed-file',
        KEYTURN_VAULT_KEY: `file:${path.join(this.folder, 'passphrase')}`,
        ...env,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const [stdout, stderr, [code]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'exit') as Promise<[number | null]>,
    ]);
    return { code, stdout, stderr };
  }

  /** The process that holds the lock of this home. */
  broker(): number | undefined {
    return lockHolder(this.state);
  }

  async close(): Promise<void> {
    const pid = this.broker();
    if (pid !== undefined) {
      process.kill(pid, 'SIGTERM');
      await until('the broker ends', () => !isAlive(pid));
    }
    rmSync(this.folder, { recursive: true, force: true });
  }
}

export function newDesk(): Desk {
  const desk = new Desk();
  onTestFinished(async () => desk.close());
  return desk;
}
