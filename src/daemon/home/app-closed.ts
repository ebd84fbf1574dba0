/**
 * A home of the Keyturn app whose app doesn't run: how a broker without a window refuses there.
 *
 * Invariant: such a broker serves what is allowed and takes access away. It gives nobody more than they have, because
 * nobody could be asked. approvals/widening-methods.ts says which requests give more. Questions are refused where they
 * are asked (broker/approval-requests/approval-requests.ts), so that none is open that a key could answer.
 */
import { KeyturnError } from '../../base/errors.ts';

/** Of every such refusal: the command line offers to open the app (cli/open-app.ts). */
export const appClosedRule = 'While the Keyturn app is not running, no app gets more access in this home';

export function appClosed(): KeyturnError {
  return new KeyturnError(
    'not_permitted',
    'The Keyturn app isn’t running, so new access can’t be approved.',
    {
      rule: appClosedRule,
      hint:
        'Start the app and do it there; its Settings can also let the command approve. ' +
        'Where there is no app, as over SSH: use another KEYTURN_HOME, or end this home with `keyturn reset`.',
    },
  );
}
