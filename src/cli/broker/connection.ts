/**
 * The CLI's way to the broker: as the owner; starts one where none runs, and asks again where one stops.
 *
 * Invariant: what starts a process is loaded only where there is something to start.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { connectAsOwner } from '../../client/connect.ts';
import type { Connection } from '../../client/connection.ts';
import { reasonOf } from '../../base/errors.ts';
import { offeringSession } from './desktop-session.ts';
import { isAbsent, NotStarted } from './no-broker.ts';

export async function connect(): Promise<Connection> {
  const running = await connectIfRunning();
  if (running) return offeringSession(running);
  const { startBroker } = await import('./auto-start.ts');
  return offeringSession(await startBroker());
}

/** A running broker, or undefined: for commands that are about the broker itself. */
export async function connectIfRunning(): Promise<Connection | undefined> {
  try {
    const connection = await connectAsOwner();
    if (process.stderr.isTTY) (await import('./versions.ts')).tellDifference(connection);
    return connection;
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
}

/** Milliseconds to wait for the next broker once one has said that it stops; as the client library does. */
const takeoverTimeout = 15_000;
const lookEvery = 100;

/** Milliseconds in all: a broker that dies of each request must not be started without end. */
const maxRepeating = 300_000;

/**
 * Runs `work`, and runs it again while the broker says that it stops: then it has done nothing. `isFirst`
 * is false where `work` ran before. Throws the first refusal where no broker came in time.
 */
export async function throughTakeover<T>(work: (isFirst: boolean) => Promise<T>): Promise<T> {
  return repeatedly(work, (error, isFirst) => {
    const reason = reasonOf(error);
    return reason === 'broker_stopping' || (!isFirst && reason === 'broker_unreachable');
  });
}

/**
 * As `throughTakeover`, and also where the broker died under it: for work that may be done twice. `work` calls `reached`
 * once it is connected: the wait for the broker after that one begins anew.
 */
export async function throughRestart<T>(work: (reached: () => void) => Promise<T>): Promise<T> {
  return repeatedly(
    (_isFirst, reached) => work(reached),
    (error) => {
      const reason = reasonOf(error);
      return (
        reason === 'broker_stopping' || (reason === 'broker_unreachable' && !(error instanceof NotStarted))
      );
    },
  );
}

async function repeatedly<T>(
  work: (isFirst: boolean, reached: () => void) => Promise<T>,
  isPassing: (error: unknown, isFirst: boolean) => boolean,
): Promise<T> {
  const end = Date.now() + maxRepeating;
  let refusal: unknown;
  let deadline = 0;
  const reached = (): void => void (deadline = 0);
  for (;;) {
    const isFirst = refusal === undefined;
    try {
      return await work(isFirst, reached);
    } catch (error) {
      if (!isPassing(error, isFirst)) throw error;
      refusal ??= error;
      deadline ||= Date.now() + takeoverTimeout;
    }
    if (Date.now() >= Math.min(deadline, end)) throw refusal;
    await sleep(lookEvery);
  }
}
