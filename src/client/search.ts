/**
 * Looks for the broker of a home at each place where it may listen.
 *
 * Invariant: if a broker of this home recorded the first place, only what listens there can be strange. Elsewhere another
 * home's broker may listen, which is passed over.
 */
import { detailsOf, KeyturnError, reasonOf, Unreachable } from '../base/errors.ts';
import type { SocketSearch } from '../ipc/wire/socket-path.ts';

/** Nobody answers: a broker that is started now finds a place to listen at. */
export function isUnanswered(error: unknown): boolean {
  const reason = reasonOf(error);
  return reason === 'broker_unreachable' || (reason === 'socket_unsafe' && error instanceof Unreachable);
}

/** The first place where `open` succeeds. Throws the refusal of the place that has the most to say. */
export async function firstThatAnswers<T>(
  { places, isRecorded }: SocketSearch,
  open: (place: string) => Promise<T>,
): Promise<T> {
  const refusals: KeyturnError[] = [];
  for (const [index, place] of places.entries()) {
    try {
      return await open(place);
    } catch (error) {
      if (!(error instanceof KeyturnError)) throw error;
      const isPassing = ['broker_unreachable', 'socket_unsafe'].includes(error.reason);
      if (!isPassing && isRecorded && index === 0) throw error;
      if (isPassing || !isRecorded) refusals.push(error);
    }
  }
  const strange = refusals.find(({ reason }) => !['broker_unreachable', 'socket_unsafe'].includes(reason));
  throw strange ?? unanswered(refusals);
}

/** An unsafe place is worth telling; where another one is free, it keeps no broker from starting. */
function unanswered(refusals: readonly KeyturnError[]): Error {
  const unsafe = refusals.find(({ reason }) => reason === 'socket_unsafe');
  const absent = refusals.find(({ reason }) => reason === 'broker_unreachable');
  if (unsafe && absent) return new Unreachable(unsafe.reason, unsafe.message, detailsOf(unsafe));
  return unsafe ?? absent ?? new Unreachable('broker_unreachable', 'no broker listens for this home');
}
