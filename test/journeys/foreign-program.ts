/**
 * A program that speaks the socket's protocol without our library, so that it may choose any name.
 *
 * Invariant: it asks as docs/reference/wire-protocol.md has it, and keeps its key in memory.
 */
import { Channel } from '../../src/client/channel.ts';
import { locate } from '../../src/client/connect.ts';
import type { PairOptions } from '../../src/client/pair.ts';
import { KeyturnError } from '../../src/base/errors.ts';
import { connectTo } from '../../src/ipc/wire/socket.ts';
import {
  type Identity,
  isIdentity,
  isPairCode,
  protocolVersion,
} from '../../src/ipc/wire/handshake-messages.ts';
import { keepSecret } from '../support/secrets.ts';

/** As the library's `pair`. */
export async function pairByHand({ name, env, onCode }: PairOptions): Promise<Identity> {
  const [place = ''] = locate(env === undefined ? {} : { env }).socket().places;
  const { socket, socketId } = await connectTo(place);
  const channel = new Channel(socket);
  channel.listen((method, params) => {
    if (method === 'pair.code' && isPairCode(params)) onCode(params.code);
  });
  try {
    const identity = await channel.start('pair', { versions: [protocolVersion], name, socketId }).answer;
    if (!isIdentity(identity)) throw new Error('the answer to a pairing is malformed');
    keepSecret('client key', identity.key);
    return identity;
  } finally {
    channel.fail(new KeyturnError('interrupted', 'the pairing is over'));
  }
}
