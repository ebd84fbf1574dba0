/**
 * Gives the memory of past work back while the broker is idle. V8 collects when it needs space, and so keeps what a busy
 * minute took for as long as nothing else needs it.
 *
 * Invariant: it collects only after a whole period with hardly any work, and only if the heap has grown by half since the last
 * time, so that hardly anybody meets the pause.
 */
import process from 'node:process';
import { getHeapStatistics } from 'node:v8';

export interface IdleCollectionParts {
  /** Milliseconds of processor time that the process has used. */
  readonly used: () => number;
  /** Bytes that V8 holds for its heap. */
  readonly held: () => number;
  /** A whole collection. It stops the process for about a tenth of a second. */
  readonly collect: () => void;
}

/** Milliseconds between two looks. */
export const idlePeriod = 10_000;

/** Milliseconds of work in one period, up to which the broker counts as idle: what timers take. */
const idleWork = 100;

/** Undefined where Node was started without `--expose-gc` (cli/broker/auto-start.ts). */
export function processParts(): IdleCollectionParts | undefined {
  const collect = globalThis.gc;
  if (!collect) return undefined;
  return {
    used: () => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1000;
    },
    held: () => getHeapStatistics().total_heap_size,
    // The regular kind keeps the pages it has emptied.
    collect: () => collect({ type: 'major', execution: 'sync', flavor: 'last-resort' }),
  };
}

export class IdleCollection {
  readonly #parts: IdleCollectionParts;
  #used: number;
  /** What the heap was when there was least garbage in it. */
  #least: number;

  constructor(parts: IdleCollectionParts) {
    this.#parts = parts;
    this.#used = parts.used();
    this.#least = parts.held();
  }

  /** Called once a period. */
  look(): void {
    const { used, held, collect } = this.#parts;
    const work = used() - this.#used;
    if (work <= idleWork && held() >= 1.5 * this.#least) {
      collect();
      this.#least = held();
    }
    this.#used = used();
  }
}
