/**
 * Shows the question that a request waits for, once it waits.
 *
 * Invariant: what shows questions is loaded only where there is time for it: a token that comes at once needs no words.
 */
import type { Connection } from '../../client/connection.ts';
import type { TokenGetParams } from '../../ipc/wire/token-messages.ts';

/** Milliseconds. */
const watchDelay = 100;

export function watchLater(connection: Connection, params: TokenGetParams): NodeJS.Timeout {
  const { resource, scope, challenge } = params;
  return setTimeout(() => {
    // A failure to show the question must not lose the token.
    void import('./watch.ts')
      .then(({ watchQuestions }) =>
        watchQuestions(connection, { resource, scope: challenge ? undefined : scope }),
      )
      .catch(() => undefined);
  }, watchDelay);
}
