/**
 * When V8 optimizes the HTTP parser of undici, one large WebAssembly function. By itself it does so after the first
 * few answers, and takes 0.15 s of CPU time and 4 MB for it: more than that, a process that sends under a hundred
 * requests never gains.
 *
 * Invariant: only the moment changes. A process that parses a lot still gets the optimized function.
 */
import { setFlagsFromString } from 'node:v8';

/**
 * In V8's unit, roughly the bytes of code that ran: that of about 100 requests. V8's own is 13 million.
 */
const laterThanByDefault = '--wasm-tiering-budget=1000000000';

/** Before undici is used. Leaves Electron alone, whose V8 may not take a flag that late. */
export function optimizeParserLater(): void {
  if (process.versions['electron'] === undefined) setFlagsFromString(laterThanByDefault);
}
