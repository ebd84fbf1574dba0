/**
 * Pairing: asks the user, through the broker, to let an app in, and keeps its key.
 *
 * Invariant: a key counts only once a hello has succeeded with it, so that is done at once; a key
 * with which it failed is removed. A key file that exists is never replaced.
 */
import { rmSync } from 'node:fs';
import { untilAborted } from '../base/abort.ts';
import { KeyturnError } from '../base/errors.ts';
import { connectTo } from '../ipc/wire/socket.ts';
import { type Identity, isIdentity, isPairCode, protocolVersion } from '../ipc/wire/handshake-messages.ts';
import { Channel } from './channel.ts';
import { locate, type HomeLocation } from './connect.ts';
import { checkHandshake } from './connection.ts';
import { firstThatAnswers } from './search.ts';
import { appKeyFile, refuseExisting, writeAppKeyFile } from './app-key-file.ts';

export interface PairOptions extends HomeLocation {
  /** Up to 64 letters, digits, dots, dashes and underscores; also the key file's name. */
  readonly name: string;
  /** Show these six digits to the user: the broker's card shows the same. What it throws ends the pairing. */
  readonly onCode: (code: string) => void;
  /** Aborting withdraws the card, if there is no ticket, and rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  /**
   * SHA-256 of 32 random bytes of the program's own, base64url. The card stays for ten minutes when this process ends,
   * and the answer for ten more: pair again with the same ticket.
   */
  readonly ticket?: string;
}

/**
 * Waits for the user's answer, up to two minutes, with a ticket up to ten. Returns the identity, which now also lies in
 * `<config>/apps/<name>.key`. Throws `conflict`, `pairing_denied`, `rate_limited`,
 * `broker_unreachable`, `socket_unsafe`.
 */
export async function pair(options: PairOptions): Promise<Identity> {
  const { paths, socket, socketId } = locate(options);
  const file = appKeyFile(paths, options.name);
  refuseExisting(file);
  options.signal?.throwIfAborted();
  const search = socket();
  const { identity, place } = await firstThatAnswers(search, async (at) => ({
    identity: await ask(at, socketId, options),
    place: at,
  }));
  writeAppKeyFile(file, identity);
  try {
    await checkHandshake({ identity, socket: () => ({ ...search, places: [place] }), socketId });
  } catch (error) {
    rmSync(file, { force: true });
    throw error;
  }
  return identity;
}

async function ask(socketPath: string, named: string | undefined, options: PairOptions): Promise<Identity> {
  const { socket, socketId } = await connectTo(socketPath);
  const channel = new Channel(socket);
  channel.listen((method, params) => {
    if (method === 'pair.code' && isPairCode(params)) options.onCode(params.code);
  });
  try {
    const { name, ticket } = options;
    const params = { versions: [protocolVersion], name, socketId: named ?? socketId, ticket };
    const { answer } = channel.start('pair', params);
    const result = await (options.signal ? untilAborted(answer, options.signal) : answer);
    if (isIdentity(result)) return { appId: result.appId, key: result.key, brokerId: result.brokerId };
    throw new KeyturnError('handshake_failed', "the broker's answer to the pairing is malformed");
  } finally {
    // Without a ticket, closing withdraws the card.
    channel.fail(new KeyturnError('interrupted', 'the pairing is over'));
  }
}
