/**
 * Shows the question that a request waits for, once it waits.
 *
 * Invariant: what shows questions is loaded only where there is time for it: a token that comes at once needs no words.
 */
import type { Connection } from '../../client/connection.ts';
import { forwardedSocket } from '../../ipc/wire/forwarded.ts';
import type { TokenGetParams } from '../../ipc/wire/token-messages.ts';
import { say } from '../terminal/output.ts';

/** Milliseconds. */
const watchDelay = 100;

/** Undefined for a request that doesn't wait for you. */
export function watchLater(connection: Connection, params: TokenGetParams): NodeJS.Timeout | undefined {
  const { resource, scope, account, challenge, interaction } = params;
  if (interaction !== 'allow') return undefined;
  return setTimeout(() => {
    if (forwardedSocket(process.env)) {
      say('keyturn: the request waits on the machine where the broker runs.');
      return;
    }
    // A failure to show the question must not lose the token.
    void import('./watch.ts')
      .then(({ watchQuestions }) =>
        watchQuestions(connection, { resource, account, scope: challenge ? undefined : scope }),
      )
      .catch(() => undefined);
  }, watchDelay);
}
