/**
 * Clients by others, as their users run them: processes that start `keyturn bridge` as their server.
 *
 * Invariant: what they print, and what anybody can read of their processes, is kept for the search for secrets. They
 * write to their own folder alone.
 */
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { builtBin } from '../built.ts';
import { isAlive, processFacts, type TestHome, until } from '../home.ts';
import { treeOf } from './process-table.ts';
import { filesBelow } from '../secret-scan.ts';
import { type Finding, secretsIn } from '../secrets.ts';

const clients = path.join(import.meta.dirname, '..', '..', 'clients');

export type ProgramName = 'sdk-1' | 'sdk-2' | 'ai-sdk' | 'langchain';

/** The command of a package of test/clients. */
const commands = { inspector: 'mcp-inspector', mcporter: 'mcporter' } as const;

/** What a user writes in place of a server's URL. */
export interface Entry {
  readonly command: string;
  readonly args: readonly string[];
}

/** One call of `calls`. */
export interface Outcome {
  readonly key: string;
  readonly text?: string;
  readonly error?: string;
}

interface Reply {
  readonly ready?: readonly string[];
  readonly id?: number;
  readonly value?: unknown;
  readonly error?: string;
}

export class ForeignClients {
  readonly #home: TestHome;
  readonly #resource: string;
  readonly #folder = mkdtempSync(path.join(tmpdir(), 'keyturn-clients-'));
  readonly #texts: { readonly place: string; text: string }[] = [];
  readonly #findings: Finding[] = [];
  readonly #searched = new Set<number>();
  readonly #running = new Set<ChildProcess>();
  readonly #entries = new Map<string, Entry>();

  constructor(home: TestHome, resource: string) {
    this.#home = home;
    this.#resource = resource;
    for (const name of ['bin', 'home']) mkdirSync(path.join(this.#folder, name));
    const command = path.join(this.#folder, 'bin', 'keyturn');
    writeFileSync(command, `#!/bin/sh\nexec '${process.execPath}' '${builtBin}' "$@"\n`);
    chmodSync(command, 0o700);
  }

  /** From now on this client has the entry that its user found somewhere. */
  configure(name: string, entry: Entry): void {
    this.#entries.set(name, entry);
  }

  /** A client's configuration, with the one entry that its user would write. */
  #configuration(name: string): string {
    const file = path.join(this.#folder, `${name}.json`);
    const usual = { command: 'keyturn', args: ['bridge', this.#resource, '--as', name] };
    const entry = { ...(this.#entries.get(name) ?? usual), env: this.#env };
    writeFileSync(file, JSON.stringify({ mcpServers: { workshop: entry } }));
    return file;
  }

  get #env(): NodeJS.ProcessEnv {
    const { PATH, ...rest } = this.#home.env;
    return {
      ...rest,
      PATH: `${path.join(this.#folder, 'bin')}:${path.dirname(process.execPath)}:${PATH}`,
      HOME: path.join(this.#folder, 'home'),
    };
  }

  /** Starts a program of test/clients/programs; resolves when its client is connected. */
  async start(name: ProgramName) {
    const program = path.join(clients, 'programs', `${name}.mjs`);
    const child = fork(program, [this.#configuration(name)], { env: this.#env, silent: true });
    this.#keep(name, child);
    const waiting = new Map<number, PromiseWithResolvers<unknown>>();
    const ready = Promise.withResolvers<readonly string[]>();
    child.on('message', ({ ready: operations, id, value, error }: Reply) => {
      if (operations) return ready.resolve(operations);
      const reply = id === undefined ? undefined : waiting.get(id);
      if (error === undefined) reply?.resolve(value);
      else reply?.reject(new Error(error));
    });
    child.once('exit', () => {
      const gone = new Error(`${name} has ended: ${this.#said(name)}`);
      ready.reject(gone);
      for (const { reject } of waiting.values()) reject(gone);
    });
    const operations = await ready.promise;
    const { pid = 0 } = child;
    let ids = 0;
    /** One operation of test/clients/programs/operations.mjs. The test names the shape it goes on to check. */
    const ask = async <T>(operation: string, ...args: readonly unknown[]): Promise<T> => {
      const reply = Promise.withResolvers<unknown>();
      ids += 1;
      waiting.set(ids, reply);
      child.send({ id: ids, operation, args });
      return (await reply.promise) as T;
    };
    /** Ends as its user ends it; resolves when it and its bridge are gone. */
    const close = async (): Promise<void> => {
      // A broker that the bridge started stays.
      const below = treeOf(pid).filter((each) => processFacts(each).argv.includes('bridge'));
      await ask('close');
      child.disconnect();
      if (child.exitCode === null) await once(child, 'exit');
      await until('its bridge ends', () => below.every((each) => !isAlive(each)));
    };
    return { pid, operations, ask, close };
  }

  /** Runs a client that is a command, to its end; its arguments may name the configuration as `CONFIGURATION`. */
  async run(name: keyof typeof commands, ...args: readonly string[]): Promise<string> {
    const bin = path.join(clients, 'node_modules', '.bin', commands[name]);
    const file = this.#configuration(name);
    const words = args.map((word) => (word === 'CONFIGURATION' ? file : word));
    const child = spawn(process.execPath, [bin, ...words], {
      env: this.#env,
      cwd: path.join(this.#folder, 'home'),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const output = this.#keep(name, child);
    child.stdout.once('data', () => this.search());
    const [code] = (await once(child, 'close')) as [number | null];
    if (code !== 0) throw new Error(`${name} ${words.join(' ')} exited ${code}:\n${this.#said(name)}`);
    return output.text;
  }

  /** Looks for secrets in arguments and environments of all clients that run, and of the processes below them. */
  search(): void {
    for (const { pid = 0 } of this.#running) {
      for (const each of treeOf(pid)) {
        const { argv, environ } = processFacts(each);
        this.#searched.add(each);
        this.#findings.push(...secretsIn(`process ${argv.join(' ')}`, [...argv, ...environ].join('\0')));
      }
    }
  }

  /** Every secret that was seen: by `search`, in what was printed, and in the clients' own files. */
  found(): { readonly processes: number; readonly findings: readonly Finding[] } {
    const files = filesBelow(this.#folder).map((file) => ({ place: file, text: readFileSync(file) }));
    const elsewhere = [...this.#texts, ...files].flatMap(({ place, text }) => secretsIn(place, text));
    return { processes: this.#searched.size, findings: [...this.#findings, ...elsewhere] };
  }

  async close(): Promise<void> {
    for (const child of this.#running) child.kill();
    await Promise.all(
      [...this.#running].map(async (child) => child.exitCode === null && once(child, 'close')),
    );
    rmSync(this.#folder, { recursive: true });
  }

  #keep(name: string, child: ChildProcess): { readonly text: string } {
    const stdout = { place: `stdout of ${name}`, text: '' };
    const stderr = { place: `stderr of ${name}`, text: '' };
    this.#texts.push(stdout, stderr);
    child.stdout?.on('data', (piece: Buffer) => (stdout.text += piece.toString()));
    child.stderr?.on('data', (piece: Buffer) => (stderr.text += piece.toString()));
    this.#running.add(child);
    child.once('close', () => this.#running.delete(child));
    return stdout;
  }

  #said(name: string): string {
    return this.#texts
      .filter(({ place }) => place.endsWith(` of ${name}`))
      .map(({ text }) => text)
      .join('\n');
  }
}

export type ForeignClient = Awaited<ReturnType<ForeignClients['start']>>;
