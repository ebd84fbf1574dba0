/**
 * Delays the moment at which V8 optimizes the HTTP parser of undici, one large WebAssembly function. By itself V8 does so
 * after the first few answers, which takes 0.15 s of CPU time and 4 MB of memory. A process that sends fewer than a
 * hundred requests never gains that time back.
 *
 * Invariant: only the moment changes. A process that parses a lot still gets the optimized function. Only processes of
 * ours ask for it: in a server that uses our library, V8's flags are not ours to set.
 */
import { takesFlags, withFlag } from './v8-flag.ts';

/** Gives undici a connection by calling `give`. */
export type HandOver = (give: () => void) => void;

/** V8's unit is roughly the bytes of code that ran. */
const afterAboutHundredRequests = '--wasm-tiering-budget=1000000000';

const byDefault = '--wasm-tiering-budget=13000000';

/** For all connections of a process: undici makes its parser when it gets the first one, and V8 reads the flag then. */
export function optimizingParserLater(): HandOver {
  let isFirst = takesFlags;
  return (give) => {
    if (!isFirst) return give();
    isFirst = false;
    withFlag(afterAboutHundredRequests, byDefault, give);
  };
}
