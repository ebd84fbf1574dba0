/** What a command prints that a test runs in its own process. */
import { vi } from 'vitest';

export interface Printed {
  stdout: string;
  stderr: string;
}

/** Collects what this process prints from now on, in place of its terminal, until `vi.restoreAllMocks`. */
export function collectOutput(): Printed {
  const printed: Printed = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr'] as const) {
    vi.spyOn(process[stream], 'write').mockImplementation((text, ...more) => {
      printed[stream] += String(text);
      for (const done of more) if (typeof done === 'function') done();
      return true;
    });
  }
  return printed;
}
