/**
 * The end of a forward, where KEYTURN_SOCKET names one: whether its socket is there and somebody listens.
 *
 * Invariant: nothing is sent. What the broker needs (keychain, browser) is not looked for here, since it runs elsewhere.
 */
import { quoted, reasonOf } from '../../base/errors.ts';
import { connectTo } from '../../ipc/wire/socket.ts';
import type { ForwardedSocket } from '../../ipc/wire/forwarded.ts';
import { type Finding, findingOf } from './finding.ts';

export async function checkForward({ label, socket }: ForwardedSocket): Promise<Finding[]> {
  try {
    (await connectTo(socket)).socket.destroy();
  } catch (error) {
    if (reasonOf(error) !== 'broker_unreachable') return [findingOf('forward.unusable', error)];
    return [
      {
        kind: 'forward.unusable',
        what: `Nobody listens at ${quoted(socket)}, which KEYTURN_SOCKET names.`,
        mend: 'Show the folder of the socket to this sandbox; or, where the forward has ended, open it again on the machine where the broker runs: keyturn forward open',
      },
    ];
  }
  return [
    {
      kind: 'forward.used',
      what: `KEYTURN_SOCKET names the forward ${quoted(label)}: broker, keychain and browser are where it was opened.`,
      mend: 'Nothing to do here. To look at the broker, run keyturn doctor there.',
    },
  ];
}
