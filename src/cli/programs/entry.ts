/**
 * As whom a command asks for tokens: as the command line itself, or as a program with a name and a key of its own.
 *
 * Invariant: a named entry uses its own key and nothing else. Where its key is missing it gets no token.
 */
import { connect as connectAsProgram } from '../../client/connect.ts';
import type { Connection } from '../../client/connection.ts';
import { reasonOf } from '../../base/errors.ts';
import { connect } from '../broker/connection.ts';

/** Starts a broker where none runs. Throws `unpaired` where the entry has no key. */
export async function connectAs(name: string | undefined): Promise<Connection> {
  if (name === undefined) return connect();
  try {
    return await connectAsProgram({ name });
  } catch (error) {
    if (reasonOf(error) !== 'broker_unreachable') throw error;
  }
  const { startBroker } = await import('../broker/auto-start.ts');
  (await startBroker()).close();
  return connectAsProgram({ name });
}
