/**
 * The CLI's way to the broker: as the owner; starts one where none runs.
 *
 * Invariant: what starts a process is loaded only where there is something to start.
 */
import { connectAsOwner } from '../client/connect.ts';
import type { Connection } from '../client/connection.ts';
import { reasonOf } from '../errors.ts';
import { offeringSession } from './desktop-session.ts';

export async function connect(): Promise<Connection> {
  try {
    return offeringSession(await connectAsOwner());
  } catch (error) {
    if (!isAbsent(error)) throw error;
  }
  const { startBroker } = await import('./auto-start.ts');
  return offeringSession(await startBroker());
}

/** A running broker, or undefined: for commands that are about the broker itself. */
export async function connectIfRunning(): Promise<Connection | undefined> {
  try {
    return await connectAsOwner();
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
}

/** No socket, nobody listening, or no owner key yet: nothing that a start would not mend. */
export function isAbsent(error: unknown): boolean {
  return ['broker_unreachable', 'unpaired'].includes(reasonOf(error));
}
