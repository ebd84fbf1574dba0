/**
 * The process of the proxies, as the broker sees it: started when there is a proxy, ended when there is none, and
 * started again where it ended by itself. If it ends again and again, the next change of the list starts it.
 *
 * Invariant: there is at most one. What an ended one said last is not heard.
 */
import type { Child, SpawnChild } from '../../base/system/child.ts';
import { doubled } from '../../base/backoff.ts';
import type { Clock } from '../../base/clock.ts';
import { errorBody } from '../../ipc/wire/json-rpc.ts';
import { reportSchema } from '../../proxy/messages.ts';
import type { Admission, PortState, ProxyEntry, ProxyOrder } from '../../proxy/messages.ts';
import type { WriteLog } from '../system/log.ts';

/** Milliseconds until it is started again: the first time, and at most. */
const firstPause = 500;
const longestPause = 60_000;

/** Ends in a row, within about a minute: its program may be gone. */
const maxEnds = 8;

/** Milliseconds for the process to start and to open a port, on a busy machine. */
const openingTime = 30_000;

export interface ProxyProcessParts {
  readonly spawn: SpawnChild;
  readonly env: NodeJS.ProcessEnv;
  readonly clock: Pick<Clock, 'sleep'>;
  readonly log: WriteLog;
  /** As which app the address asks. Throws what refuses it. */
  readonly admit: (entry: string) => Promise<Admission>;
  readonly changed: () => void;
}

export class ProxyProcess {
  readonly #parts: ProxyProcessParts;
  readonly #over = new AbortController();
  #entries: readonly ProxyEntry[] = [];
  #child: Child | undefined;
  #states = new Map<string, PortState>();
  /** Who waits for the first word about a port. */
  readonly #settling = new Map<string, (() => void)[]>();
  #isPausing = false;
  /** Ends in a row, without a port that opened in between. */
  #ends = 0;

  constructor(parts: ProxyProcessParts) {
    this.#parts = parts;
  }

  stateOf(id: string): PortState | 'starting' | 'ended' {
    return this.#states.get(id) ?? (this.#ends < maxEnds || this.#child ? 'starting' : 'ended');
  }

  /** Resolves once it is known whether the port could be opened, or after some seconds. */
  async settled(id: string): Promise<void> {
    if (this.#states.has(id)) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#settling.set(id, [...(this.#settling.get(id) ?? []), resolve]);
    const over = new AbortController();
    const late = this.#parts.clock.sleep(openingTime, over.signal).catch(() => undefined);
    await Promise.race([promise, late]);
    over.abort();
  }

  /** The whole list of what is to be served. */
  serve(entries: readonly ProxyEntry[]): void {
    for (const id of this.#states.keys()) {
      if (!this.#isServed(id, entries)) this.#states.delete(id);
    }
    this.#entries = entries.map(({ id, port, path }) => ({ id, port, path }));
    if (entries.length === 0) this.#drop();
    else this.#start();
  }

  #isServed(id: string, entries: readonly ProxyEntry[]): boolean {
    const before = this.#entries.find((entry) => entry.id === id);
    return entries.some((entry) => entry.id === id && entry.path === before?.path);
  }

  /** Ends what an app has open. */
  cut(appId: string): void {
    this.#post({ op: 'cut', appId });
  }

  /** Ends what an app has open, and how it connects: its next request is a newcomer's. */
  forget(appId: string): void {
    this.#post({ op: 'forget', appId });
  }

  /** For good. */
  stop(): void {
    this.#over.abort();
    this.#drop();
  }

  #start(): void {
    if (this.#over.signal.aborted || this.#isPausing) return;
    this.#child ??= this.#spawn();
    this.#post({ op: 'serve', entries: [...this.#entries] });
  }

  #spawn(): Child {
    const { spawn, env } = this.#parts;
    const child = spawn(env);
    child.onMessage((message) => {
      if (child === this.#child) this.#hear(message);
    });
    child.onExit(() => {
      if (child === this.#child) void this.#restart();
    });
    return child;
  }

  async #restart(): Promise<void> {
    const { clock, log } = this.#parts;
    this.#drop();
    this.#ends += 1;
    if (this.#ends >= maxEnds) {
      log('the process of the proxies ended too often; it is not started again', 'error');
      for (const resolve of [...this.#settling.values()].flat()) resolve();
      this.#settling.clear();
      this.#parts.changed();
      return;
    }
    const pause = doubled(this.#ends, firstPause, longestPause);
    log(`the process of the proxies ended; it is started again in ${pause} ms`, 'warn');
    this.#isPausing = true;
    await clock.sleep(pause, this.#over.signal).catch(() => undefined);
    this.#isPausing = false;
    if (this.#entries.length > 0) this.#start();
  }

  #hear(message: unknown): void {
    const parsed = reportSchema.safeParse(message);
    if (!parsed.success) {
      this.#parts.log('the process of the proxies said something that is no report', 'error');
      void this.#restart();
      return;
    }
    const report = parsed.data;
    if (report.op === 'admit') {
      void this.#admit(report.id, report.entry);
      return;
    }
    if (report.state === 'open') this.#ends = 0;
    for (const resolve of this.#settling.get(report.entry) ?? []) resolve();
    this.#settling.delete(report.entry);
    if (this.#states.get(report.entry) === report.state) return;
    this.#states.set(report.entry, report.state);
    this.#noteState(report.entry, report.state);
    this.#parts.changed();
  }

  #noteState(id: string, state: PortState): void {
    const port = this.#entries.find((entry) => entry.id === id)?.port;
    if (port === undefined || state === 'open') return;
    const why = state === 'portTaken' ? 'another program has it' : 'the system refused it';
    this.#parts.log(`a proxy's port ${port} could not be opened: ${why}`, 'warn');
  }

  async #admit(id: number, entry: string): Promise<void> {
    try {
      this.#post({ op: 'admitted', id, admission: await this.#parts.admit(entry) });
    } catch (error) {
      this.#post({ op: 'refused', id, error: errorBody(error) });
    }
  }

  #post(order: ProxyOrder): void {
    this.#child?.post(order);
  }

  #drop(): void {
    const child = this.#child;
    this.#child = undefined;
    this.#states = new Map();
    child?.kill();
  }
}
