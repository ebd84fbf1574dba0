/**
 * A home of Keyturn for a test, and the built command to use it, as real processes.
 *
 * Invariant: all is in one temporary folder: HOME and the working folder too, which must be empty in the end. The broker
 * is ended by its pid and looked for afterwards.
 */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { builtBin } from './built.ts';
import { forgetItems, homeIdIn } from './homes/keychain-items.ts';
import { filesBelow, learnKeys, scan } from './secret-scan.ts';
import { keepSecret } from './secrets.ts';
import { openWorld, type TestWorld, type WorldOptions } from './world.ts';
import { ofTest } from './lasting.ts';
import { isAlive, pids, processFacts, signalIfAlive } from './processes/process-table.ts';

export { isAlive, processFacts } from './processes/process-table.ts';

/** What a command did. */
export interface Run {
  /** Negative for a signal, which no exit code is. */
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** What a command printed, and which one it was. */
export interface Printed extends Run {
  readonly args: readonly string[];
}

/** A command that runs. */
export interface Running {
  readonly pid: number;
  readonly ended: Promise<Run>;
  /** Resolves when its stderr holds `text`; rejects when it ends before. */
  says(text: string): Promise<void>;
  /** The same for its stdout; answers all that it holds then. */
  prints(text: string): Promise<string>;
  /** One line on its standard input, where that stays open. */
  types(line: string): void;
  signal(name: NodeJS.Signals): void;
  /** What it has printed. */
  sofar(): Run;
}

/** What the home remembers of a command that runs; `output` grows. */
interface RunningCommand {
  readonly args: readonly string[];
  readonly output: { readonly stdout: string; readonly stderr: string };
  readonly ended: Promise<unknown>;
}

export interface RunOptions {
  readonly stdin?: string;
  /** Standard input doesn't end, as at a terminal. */
  readonly stdinStaysOpen?: boolean;
  /** Where it runs; an empty folder of the home's unless given. */
  readonly folder?: string;
  /** Added to the home's environment; undefined takes a variable away. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

export interface HomeOptions {
  readonly world?: TestWorld;
  readonly vault?: 'memory' | 'keychain';
  /** The user at the browser: flags of demo/user-agent.ts, e.g. `--deny`. */
  readonly person?: string;
  /** A command instead of that user; a function if it has to know the world. */
  readonly browser?: string | ((world: TestWorld) => string);
  /** Further variables, and undefined for those to leave out. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** The command to run instead of the built one: a path to bin.js. */
  readonly bin?: string;
  /** The last part of the home's path. */
  readonly folderName?: string;
  /** Words before every command, e.g. test/support/processes/plain-user.ts. */
  readonly launcher?: readonly string[];
}

/** Milliseconds between two looks at something that only polling shows: at first, and at most. */
const firstPause = 20;
const longestPause = 200;

/** Milliseconds after which a condition isn't going to come true, though it takes many processes on a busy machine. */
const patience = 200_000;

/** Waits until `look` answers something other than undefined and false. */
export async function until<T>(what: string, look: () => T | Promise<T>): Promise<NonNullable<T>> {
  let pause = firstPause;
  for (const deadline = Date.now() + patience; Date.now() < deadline; await sleep(pause)) {
    const found = await look();
    if (found !== undefined && found !== null && found !== false) return found;
    pause = Math.min(pause * 1.2, longestPause);
  }
  throw new Error(`waited ${patience} ms in vain: ${what}`);
}

export class TestHome {
  /** KEYTURN_HOME. Short, so that the socket lies in it. */
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
  /** Everything the commands printed, in the order of their ends; `close` looks for secrets in it. */
  readonly printed: Printed[] = [];
  readonly #base: string;
  readonly #command: readonly string[];
  readonly #running = new Map<ChildProcessWithoutNullStreams, RunningCommand>();
  readonly #pids = new Set<number>();

  constructor(options: HomeOptions = {}) {
    this.#base = mkdtempSync(path.join(tmpdir(), 'kt-'));
    this.folder = path.join(this.#base, options.folderName ?? 'home');
    this.#command = [...(options.launcher ?? []), process.execPath, options.bin ?? builtBin];
    for (const name of ['user', 'work', 'bin']) mkdirSync(path.join(this.#base, name), { mode: 0o700 });
    const words = this.#command.map((word) => `'${word}'`).join(' ');
    writeFileSync(path.join(this.#base, 'bin', 'keyturn'), `#!/bin/sh\nexec ${words} "$@"\n`, {
      mode: 0o700,
    });
    this.env = clean({
      PATH: process.env['PATH'],
      // Where Node keeps what it compiled (scripts/test.mjs): with it a process starts in about half the time.
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
      HOME: path.join(this.#base, 'user'),
      KEYTURN_HOME: this.folder,
      KEYTURN_VAULT: options.vault ?? 'memory',
      ...(options.vault === 'keychain' ? sessionBus() : {}),
      ...(options.world ? worldVariables(options.world, options) : {}),
      ...options.env,
    });
    this.env['PATH'] = `${path.join(this.#base, 'bin')}:${this.env['PATH']}`;
  }

  /** Of a home that a broker made. */
  get homeId(): string {
    const homeId = homeIdIn(path.join(this.paths.config, 'owner.key'));
    if (homeId === undefined) throw new Error('the home has no owner.key');
    return homeId;
  }

  get paths() {
    const at = (...names: string[]): string => path.join(this.folder, ...names);
    return { config: at('config'), state: at('state'), run: at('run') };
  }

  /** Runs a command to its end. */
  async keyturn(args: readonly string[], options: RunOptions = {}): Promise<Run> {
    return this.start(args, options).ended;
  }

  /** Runs a command that must succeed; answers its stdout. */
  async ok(args: readonly string[], options: RunOptions = {}): Promise<string> {
    const { code, stdout, stderr } = await this.keyturn(args, options);
    if (code !== 0) throw new Error(`keyturn ${args.join(' ')} exited ${code}:\n${stderr}`);
    return stdout;
  }

  /** The JSON that a command prints. The test names the shape it goes on to check. */
  async json<T>(...args: string[]): Promise<T> {
    return JSON.parse(await this.ok([...args, '--json'])) as T;
  }

  start(args: readonly string[], options: RunOptions = {}): Running {
    return this.#start([...this.#command, ...args], args, options);
  }

  /** Lines of a shell, in which `keyturn` is the command; they end at the first one that fails. The search for secrets goes by the last `keyturn` in them. */
  startLines(lines: string, options: RunOptions = {}): Running {
    const [, args = ''] = [...lines.matchAll(/(?:^|[ /]|"\$)keyturn(?:\.py)?"? (.*)$/gm)].at(-1) ?? [];
    // A single command takes the shell's place, so that a signal reaches it.
    const script = /^(?:\w+=\S* )*keyturn [^|;&\n]*\n$/.test(lines) ? `exec env ${lines}` : lines;
    return this.#start(['sh', '-euc', script], args.split(' '), options);
  }

  /** `args`: what the search for secrets takes the command for. */
  #start(command: readonly string[], args: readonly string[], options: RunOptions): Running {
    const { stdin = '', env = {}, stdinStaysOpen = false, folder = path.join(this.#base, 'work') } = options;
    const [program = process.execPath, ...words] = command;
    const child = spawn(program, words, { cwd: folder, env: clean({ ...this.env, ...env }), stdio: 'pipe' });
    // `oauth-client`, `unlock` and `api-key` read a client secret, a passphrase or an API key there.
    if (args[0] === 'oauth-client') keepSecret('client secret', stdin.trim());
    if (args[0] === 'unlock') keepSecret('passphrase', stdin.trim());
    if (args[0] === 'api-key') keepSecret('API key', stdin.trim());
    // A command that doesn't read its input may be gone before it is written.
    child.stdin.on('error', () => undefined).write(stdin);
    if (!stdinStaysOpen) child.stdin.end();
    const output = { stdout: '', stderr: '' };
    const heard = new Set<() => void>();
    for (const name of ['stdout', 'stderr'] as const) {
      child[name].setEncoding('utf8').on('data', (text: string) => {
        output[name] += text;
        for (const listener of heard) listener();
      });
    }
    const ended = once(child, 'close').then(([code]: unknown[]) => {
      this.#running.delete(child);
      const run = { code: typeof code === 'number' ? code : -1, ...output };
      this.printed.push({ args, ...run });
      return run;
    });
    this.#running.set(child, { args, output, ended });
    /** Resolves when the stream holds the text, with all that it holds then. */
    const heardOn = async (name: 'stdout' | 'stderr', text: string): Promise<string> => {
      const { promise, resolve } = Promise.withResolvers<void>();
      const listener = (): void => {
        if (output[name].includes(text)) resolve();
      };
      heard.add(listener);
      listener();
      const early = ended.then((run) => {
        if (run[name].includes(text)) return;
        throw new Error(
          `keyturn ${args.join(' ')} ended with ${run.code} without saying "${text}":\n${run.stderr}`,
        );
      });
      await Promise.race([promise, early]).finally(() => heard.delete(listener));
      return output[name];
    };
    return {
      pid: child.pid ?? 0,
      ended,
      says: async (text) => void (await heardOn('stderr', text)),
      prints: (text) => heardOn('stdout', text),
      types: (line) => void child.stdin.write(`${line}\n`),
      signal: (name) => void child.kill(name),
      sofar: () => ({ code: 0, ...output }),
    };
  }

  /** The running broker's pid; undefined where none runs. Remembered, so that `close` looks for it. */
  async brokerPid(): Promise<number | undefined> {
    const { code, stdout } = await this.keyturn(['status', '--json']);
    if (code !== 0) return undefined;
    const { pid } = JSON.parse(stdout) as { pid: number };
    this.#pids.add(pid);
    return pid;
  }

  /** For a test that failed: the commands that still run, those that failed, and the end of the broker's log. */
  get story(): string {
    const failed = this.printed.filter(({ code }) => code !== 0);
    return [
      ...failed.map(({ args, code, stderr }) => `exit ${code}: keyturn ${args.join(' ')}\n${stderr}`),
      ...[...this.#running.values()].map(
        ({ args, output }) => `still runs: keyturn ${args.join(' ')}\n${output.stderr}`,
      ),
      `broker.log:\n${lastLines(path.join(this.paths.state, 'broker.log'))}`,
    ].join('\n');
  }

  /** Ends what runs, checks that nothing is left and no secret lies where none may, and removes the folder. */
  async close(): Promise<void> {
    try {
      await this.#endProcesses();
      const strays = ['user', 'work'].flatMap((name) => filesBelow(path.join(this.#base, name)));
      if (strays.length > 0) throw new Error(`left outside KEYTURN_HOME: ${strays.join(', ')}`);
      learnKeys(this.paths.config);
      scan({ folder: this.#base, printed: this.printed });
    } finally {
      await forgetItems(path.join(this.paths.config, 'owner.key'), this.env);
      rmSync(this.#base, { recursive: true, force: true });
    }
  }

  async #endProcesses(): Promise<void> {
    // First the commands, to their ends: one that waits would start a broker in place of one that goes.
    const commands = [...this.#running].filter(([{ spawnargs }]) => !isBroker(spawnargs));
    for (const [child] of commands) child.kill('SIGTERM');
    await Promise.all(commands.map(([, { ended }]) => ended));
    for (const child of this.#running.keys()) child.kill('SIGTERM');
    for (const pid of this.brokers()) this.#pids.add(pid);
    for (const pid of this.#pids) signalIfAlive(pid, 'SIGTERM');
    try {
      await until('the broker ends', () => [...this.#pids].every((pid) => !isAlive(pid)));
      await until('every process of this home ends', () => this.brokers().length === 0);
    } catch (error) {
      for (const pid of [...this.#pids, ...this.brokers()]) signalIfAlive(pid, 'SIGKILL');
      throw error;
    }
  }

  /**
   * The pids of all processes that run a broker for this home, as the kernel lists them. One that holds the
   * home's lock is shielded: only root can read its environment, so it is also found by that lock.
   */
  brokers(): number[] {
    const holder = lockHolder(path.join(this.paths.state, 'broker.lock'));
    return pids().filter((pid) => {
      const { argv, environ } = processFacts(pid);
      const isOurs = pid === holder || environ.some((variable) => variable.includes(`${this.#base}/`));
      return isBroker(argv) && isOurs && isAlive(pid);
    });
  }
}

/** The newest lines of a log; empty where there is none. */
const isBroker = (argv: readonly string[]): boolean => argv.includes('broker') && argv.includes('run');

function lastLines(file: string): string {
  if (!existsSync(file)) return '';
  return readFileSync(file, 'utf8').split('\n').slice(-20).join('\n');
}

/** The process that holds a lock on this file (flock), as the kernel lists it. */
function lockHolder(file: string): number | undefined {
  const inode = statSync(file, { throwIfNoEntry: false })?.ino;
  const held = readFileSync('/proc/locks', 'utf8').matchAll(/FLOCK\s+\S+\s+\S+\s+(\d+)\s+\S+:(\d+)\s/g);
  return [...held].filter(([, , at]) => Number(at) === inode).map(([, pid]) => Number(pid))[0];
}

function worldVariables(world: TestWorld, { browser, person }: HomeOptions): Record<string, string> {
  return {
    NODE_EXTRA_CA_CERTS: world.caFile,
    KEYTURN_BROWSER: typeof browser === 'function' ? browser(world) : (browser ?? world.browser(person)),
  };
}

/** The keyring that scripts/with-keyring.sh made; never a user's own. */
function sessionBus(): Record<string, string> {
  const address = process.env['DBUS_SESSION_BUS_ADDRESS'];
  if (address && process.env['KEYTURN_TEST_KEYRING'] === '1') return { DBUS_SESSION_BUS_ADDRESS: address };
  throw new Error(
    'This test needs a throw-away keyring. Run: sh scripts/with-keyring.sh npx vitest run test/e2e',
  );
}

function clean(env: Readonly<Record<string, string | undefined>>): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined));
}

/** What most journeys begin with: a world, and a home that trusts it. Both end with the test. */
export async function homeInWorld(
  options: Omit<HomeOptions, 'world'> & { readonly issuing?: WorldOptions } = {},
): Promise<{ home: TestHome; world: TestWorld; resource: string }> {
  const world = await ofTest(openWorld(options.issuing));
  return { home: newHome({ ...options, world }), world, resource: world.protectedServer.resource };
}

/** A home that ends with the test. Where the test failed, its second error tells what the commands said. */
export function newHome(options: HomeOptions = {}): TestHome {
  const home = new TestHome(options);
  onTestFinished(async ({ task }) => {
    const story = task.result?.state === 'fail' ? home.story : undefined;
    await home.close();
    if (story !== undefined) throw new Error(story);
  });
  return home;
}
