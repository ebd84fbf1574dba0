/**
 * The CLI's way to the broker: as the owner; starts one where none runs, and asks again where one stops.
 *
 * Invariant: what starts a process is loaded only where there is something to start.
 */
import { connectAsOwner } from '../../client/connect.ts';
import type { Connection } from '../../client/connection.ts';
import { retry, timeouts } from '../../client/takeover.ts';
import { exitCodes, reasonOf } from '../../base/errors.ts';
import { forwardedSocket } from '../../ipc/wire/forwarded.ts';
import { offeringSession } from './desktop-session.ts';
import { isAbsent, NotStarted } from './no-broker.ts';

export async function connect(): Promise<Connection> {
  const running = await connectIfRunning();
  if (running) return offeringSession(running);
  const { startBroker } = await import('./auto-start.ts');
  return offeringSession(await startBroker());
}

/** Starts a broker where none runs. One at the other end of a forward is its own machine's to start. */
export async function requireBroker(): Promise<void> {
  if (forwardedSocket(process.env) === undefined) (await connect()).close();
}

/** A running broker, or undefined: for commands about the broker itself. One whose socket is gone listens again. */
export async function connectIfRunning(): Promise<Connection | undefined> {
  try {
    const connection = await connectAsOwner();
    if (process.stderr.isTTY) (await import('./versions.ts')).tellDifference(connection);
    return connection;
  } catch (error) {
    if (isAbsent(error)) return (await import('./lost-socket.ts')).connectToHolder(error);
    throw error;
  }
}

/** Milliseconds in all: a broker that dies of each request must not be started without end. */
const maxRepeating = 300_000;

/**
 * Runs `work`, and runs it again while the broker says that it stops: then it has done nothing. `work` calls `reached`
 * once it is connected. `isFirst` is false where `work` ran before. Throws the first refusal where no broker came in time.
 */
export async function throughTakeover<T>(
  work: (isFirst: boolean, reached: () => void) => Promise<T>,
): Promise<T> {
  let isReached = false;
  return retry(
    async ({ isFirst }) => {
      isReached = false;
      return work(isFirst, () => void (isReached = true));
    },
    {
      max: maxRepeating,
      waitAfter(error, isFirst) {
        const reason = reasonOf(error);
        // A broker that died under it may have done it, or died while its card waited.
        const isNowhere = !isFirst && !isReached && reason === 'broker_unreachable';
        return reason === 'broker_stopping' || isNowhere ? timeouts.nextBroker : undefined;
      },
    },
  );
}

/**
 * As `throughTakeover`, and also where the broker died under it: for work that may be done twice. `work` calls
 * `reached` once it is connected.
 */
export async function throughRestart<T>(work: (reached: () => void) => Promise<T>): Promise<T> {
  return retry(async ({ reached }) => work(reached), {
    max: maxRepeating,
    waitAfter(error) {
      const isPassing = ['broker_stopping', 'broker_unreachable'].includes(reasonOf(error));
      // Nobody here can start a broker at the other end of a forward.
      const isOurs = !(error instanceof NotStarted) && forwardedSocket(process.env) === undefined;
      return isPassing && isOurs ? timeouts.nextBroker : undefined;
    },
  });
}

/**
 * Does `work` on the connection and closes it. An interrupt closes it too, which withdraws the question (docs/reference/wire-protocol.md),
 * and ends the command with 130.
 */
export async function interruptible<T>(connection: Connection, work: () => Promise<T>): Promise<T> {
  const interrupted = (): void => {
    connection.close();
    process.exit(exitCodes.interrupted);
  };
  process.once('SIGINT', interrupted);
  process.once('SIGTERM', interrupted);
  try {
    return await work();
  } finally {
    connection.close();
    process.off('SIGINT', interrupted);
    process.off('SIGTERM', interrupted);
  }
}
