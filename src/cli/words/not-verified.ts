/** The note beside a list that is shown before its document was verified: by the first request that needs the vault. */
import type { ResultOf } from '../../ipc/protocol/methods.ts';
import { say } from '../terminal/output.ts';

/** Says nothing of a document that was refused: `unreadable` has its own words. */
export function sayIfNotVerified({ homeState, unreadable }: ResultOf<'status'>): void {
  if (homeState.state !== 'unchecked' || unreadable.length > 0) return;
  say(
    'keyturn: not verified: the vault was not needed since the start, and this list is only what the file says.',
  );
}
