/**
 * The child's side of the channel to the broker that started it.
 *
 * Invariant: a child never outlives its broker.
 */

/** The channel to a broker in Electron, whose `utilityProcess` has no `process.send`. */
interface ParentPort {
  on(event: 'message', listener: (event: { readonly data: unknown }) => void): void;
  postMessage(message: unknown): void;
}

// Electron sets it; the types of Node, which this is compiled against, don't know it.
const { parentPort } = process as { readonly parentPort?: ParentPort };

export function tellParent(message: object): void {
  if (parentPort) parentPort.postMessage(message);
  else process.send?.(message);
}

/** Calls `listener` with each message of the broker, and ends this process at a fault, and with the broker. */
export function hearParent(listener: (message: unknown) => void): void {
  if (parentPort) parentPort.on('message', ({ data }) => listener(data));
  else process.on('message', listener);
  // In a child of Electron's it would be a warning only, and the broker would wait for an answer.
  process.on('unhandledRejection', () => process.exit(1));
  // A normal exit would wait for work that hangs in the thread pool. Electron ends its own children.
  process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
  // Ctrl-C and a service manager signal the whole process group, while the broker may still need this child to store a
  // rotated token. So only the end of the channel ends the child.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
}
