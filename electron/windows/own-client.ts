/**
 * A sign-in that a window starts, with or without a client that you registered by hand.
 *
 * Invariant: the client and its exceptions need no press of their own: `signIn.start` passed the guard.
 */
import { type AskOwnClient, signInWith } from '../../src/daemon/own-client.ts';
import type { InProcessOwner } from '../../src/daemon/methods/dispatch.ts';
import { methods, type ParamsOf } from '../../src/ipc/protocol/methods.ts';
import type { channels } from '../bridge/channels.ts';

type Params = (typeof channels)['signIn.start']['params']['_zod']['output'];

/** `start` asks the broker for the sign-in itself. */
export async function startSignIn(
  { call }: Pick<InProcessOwner, 'call'>,
  { clientId, clientSecret, ...request }: Params,
  start: (request: ParamsOf<'signIn.start'>) => Promise<unknown>,
): Promise<unknown> {
  if (clientId === undefined) return start(request);
  const ask: AskOwnClient = async (method, params) => {
    const answer = methods[method].result.parse(await call(method, params));
    // The schema looked up by the method parses to its answer; the compiler can't follow the lookup.
    return answer as Awaited<ReturnType<typeof ask<typeof method>>>;
  };
  return signInWith({ ask }, request, { clientId, clientSecret }, () => start(request));
}
