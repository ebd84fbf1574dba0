/**
 * Delays the moment at which V8 optimizes the HTTP parser of undici, one large WebAssembly function. By itself V8 does so
 * after the first few answers, which takes 0.15 s of CPU time and 4 MB of memory. A process that sends fewer than a
 * hundred requests never gains that time back.
 *
 * Invariant: only the moment changes. A process that parses a lot still gets the optimized function.
 */
import { setFlagsFromString } from 'node:v8';

/** V8's unit is roughly the bytes of code that ran. */
const afterAboutHundredRequests = '--wasm-tiering-budget=1000000000';

/** V8's own value, which `node --v8-options` shows. */
const byDefault = '--wasm-tiering-budget=13000000';

/**
 * `give` gives a connection to undici, which makes its parser when it gets the first one. V8 reads the flag at that
 * moment. Then the default counts again, because V8 rejects compiled code that was cached under other flags. Electron is
 * left alone: its V8 may not take a flag that late.
 */
export function optimizingParserLater(give: () => void): void {
  if (process.versions['electron'] !== undefined) return give();
  setFlagsFromString(afterAboutHundredRequests);
  try {
    give();
  } finally {
    setFlagsFromString(byDefault);
  }
}
