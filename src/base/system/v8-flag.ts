/**
 * A flag of V8 that stands for a moment.
 *
 * Invariant: afterwards V8's own value stands again, because V8 rejects compiled code that was cached under other flags.
 */
import { setFlagsFromString } from 'node:v8';

/** False in Electron, whose V8 may not take a flag that late. */
export const takesFlags = process.versions['electron'] === undefined;

/** Calls `run` while `flag` stands. `byDefault`: the same flag with V8's own value, which `node --v8-options` shows. */
export function withFlag<T>(flag: string, byDefault: string, run: () => T): T {
  setFlagsFromString(flag);
  try {
    return run();
  } finally {
    setFlagsFromString(byDefault);
  }
}
