/**
 * Delays the moment at which V8 optimizes the HTTP parser of undici, one large WebAssembly function. By itself V8 does so
 * after the first few answers, which takes 0.15 s of CPU time and 4 MB. A process that sends fewer than a hundred requests
 * never gets them back.
 *
 * Invariant: only the moment changes. A process that parses a lot still gets the optimized function. Connections through
 * a proxy are undici's own, and change nothing.
 */
import { setFlagsFromString } from 'node:v8';

/** V8's unit is roughly the bytes of code that ran. */
const afterAboutHundredRequests = '--wasm-tiering-budget=1000000000';

/** V8's own value, which `node --v8-options` shows. */
const byDefault = '--wasm-tiering-budget=13000000';

/**
 * Hands a connection over to undici, which makes the parser during the first call. V8 reads the flag when the parser is
 * made. Afterwards the default counts again, because V8 takes no compiled code from a cache that was written under other
 * flags. Leaves Electron alone, whose V8 may not take a flag that late.
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
