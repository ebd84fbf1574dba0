/**
 * The socket of a forward, as apps at its other end name it.
 *
 * Invariant: both ends name it `forward:LABEL` in the handshake, however the socket got to where the app finds it.
 * So a hello for a forward is worth nothing on the home's own socket, and the other way round.
 */
import path from 'node:path';
import { KeyturnError, quoted } from '../../base/errors.ts';

/** As it can be in the name of a file and in a command. */
export const forwardLabelPattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,31}$/;

/**
 * Follows the label in the name of a socket on another machine: it differs for each machine that opened it and each
 * host key. So two machines don't take one socket from each other, and an app pairs again where it has to.
 */
const markPattern = /^[0-9a-f]{8}$/;

export interface ForwardedSocket {
  readonly label: string;
  /** `LABEL` or `LABEL@MARK`: apps keep their keys for each of them. */
  readonly name: string;
  /** An absolute path, which ends in `LABEL.sock` or `LABEL@MARK.sock`. */
  readonly socket: string;
  /** What is in a hello and in a pairing. */
  readonly socketId: string;
}

export const forwardSocketId = (label: string): string => `forward:${label}`;

/** The forward that KEYTURN_SOCKET names; undefined where it is not set. Throws `invalid_request`. */
export function forwardedSocket(
  env: Readonly<Record<string, string | undefined>>,
): ForwardedSocket | undefined {
  const socket = env['KEYTURN_SOCKET'];
  if (!socket) return undefined;
  const name = path.basename(socket, '.sock');
  const [label = '', mark = '00000000', ...more] = name.split('@');
  const isName = forwardLabelPattern.test(label) && markPattern.test(mark) && more.length === 0;
  if (path.isAbsolute(socket) && socket.endsWith('.sock') && isName)
    return { label, name, socket, socketId: forwardSocketId(label) };
  throw new KeyturnError(
    'invalid_request',
    `KEYTURN_SOCKET is ${quoted(socket)}, which is no forward’s socket.`,
    {
      rule: 'KEYTURN_SOCKET is the absolute path of a socket LABEL.sock or LABEL@MARK.sock that `keyturn forward open` made',
      hint: 'Set it as `keyturn forward open` prints it, or unset it to use the broker of this machine.',
    },
  );
}
