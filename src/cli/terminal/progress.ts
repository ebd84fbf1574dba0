/** Tells a user at a terminal what a slow command waits for. */
import { say } from './output.ts';

/** Milliseconds: what is done sooner needs no explanation. */
const slowAfter = 1000;

/** Says `line` when `work` isn't done by then. */
export async function sayIfSlow<T>(line: string, work: Promise<T>): Promise<T> {
  const timer = setTimeout(() => say(line), slowAfter);
  try {
    return await work;
  } finally {
    clearTimeout(timer);
  }
}
