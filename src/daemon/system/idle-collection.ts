/**
 * Gives the memory of past work back while the broker is idle. V8 collects when it needs space, and the C library keeps
 * what was freed, so that a busy minute's memory stays for as long as nothing else needs it.
 *
 * Invariant: it collects only after a whole period with hardly any work, and only if the heap has grown by half since
 * the last time, so that hardly anybody meets the pause.
 */
import process from 'node:process';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

interface IdleCollectionParts {
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

/** Undefined in Electron, whose V8 may not take a flag that late. `trim`: of `loadTrim`. */
export function processParts(trim?: Trim): IdleCollectionParts | undefined {
  if (process.versions['electron'] !== undefined) return undefined;
  return {
    used: () => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1000;
    },
    held: () => getHeapStatistics().total_heap_size,
    // The regular kind keeps the pages it has emptied.
    collect: () => {
      collector()({ type: 'major', execution: 'sync', flavor: 'last-resort' });
      trim?.(0);
    },
  };
}

type Trim = (pad: number) => number;

/** glibc's call that returns freed memory to the system. Undefined where the C library has none. */
export async function loadTrim(): Promise<Trim | undefined> {
  if (process.platform !== 'linux') return undefined;
  try {
    const { default: koffi } = await import('koffi');
    return koffi.load(null).func('int malloc_trim(size_t pad)');
  } catch {
    return undefined;
  }
}

/**
 * V8's collector, which a new context has while the flag is set. The flag isn't among those that Node starts with, and is
 * taken back at once: V8 rejects compiled code that was cached under other flags.
 */
function collector(): NonNullable<typeof globalThis.gc> {
  setFlagsFromString('--expose-gc');
  try {
    return runInNewContext('gc');
  } finally {
    setFlagsFromString('--no-expose-gc');
  }
}

/** What to call once a period. */
export function idleCollection({ used, held, collect }: IdleCollectionParts): () => void {
  let before = used();
  /** What the heap was when there was least garbage in it. */
  let least = held();
  return () => {
    if (used() - before <= idleWork && held() >= 1.5 * least) {
      collect();
      least = held();
    }
    before = used();
  };
}
