/**
 * When V8 optimizes the HTTP parser of undici, one large WebAssembly function. By itself it does so after the first
 * few answers, and takes 0.15 s of CPU time and 4 MB for it: more than that, a process that sends under a hundred
 * requests never gains.
 *
 * Invariant: only the moment changes. A process that parses a lot still gets the optimized function.
 */
import { setFlagsFromString } from 'node:v8';

/** V8's unit is roughly the bytes of code that ran. */
const afterAboutHundredRequests = '--wasm-tiering-budget=1000000000';

/** V8's own value, which `node --v8-options` shows. */
const byDefault = '--wasm-tiering-budget=13000000';

/**
 * Hands over a connection for undici, which makes the parser with the first one and at once. The flag counts for a parser
 * that is made meanwhile; for longer it can't stand, since V8 takes no compiled code from a cache that was written with other flags.
 * Leaves Electron alone, whose V8 may not take a flag that late.
 */
export function handOver(give: () => void): void {
  if (process.versions['electron'] !== undefined) return give();
  setFlagsFromString(afterAboutHundredRequests);
  try {
    give();
  } finally {
    setFlagsFromString(byDefault);
  }
}
