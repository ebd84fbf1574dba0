/**
 * The owner in the broker's own process: the user of the Keyturn app, for a host with a window.
 *
 * Invariant: needs no key, since who is in this process has the vault already; gets no token, since a
 * window has no use for one.
 */
import type { Broker } from '../broker/broker.ts';
import { KeyturnError } from '../base/errors.ts';
import { methods } from '../ipc/protocol/methods.ts';
import type { MethodName } from '../ipc/protocol/methods.ts';
import type { Caller, ServerDeps } from '../ipc/server/server.ts';
import { ownerId } from '../ipc/wire/handshake-messages.ts';
import { endsKeyRefusal, endsRefusal, widens } from './approvals/widening.ts';
import type { EndParams, PermissionParams } from './approvals/widening.ts';
import type { HomeCheck } from './home/home-check.ts';

/** The methods that an owner may call; those of local clients hand out tokens. */
export type OwnersMethod = {
  [M in MethodName]: (typeof methods)[M]['who'] extends 'client' ? never : M;
}[MethodName];

export interface InProcessOwner {
  /** Any of the owner's methods of docs/reference/wire-protocol.md. Params and answer are not yet typed. Throws KeyturnError. */
  call(method: OwnersMethod, params: unknown): Promise<unknown>;
  /** Whether such a permission gives more than the present one. Throws KeyturnError. */
  widens(params: PermissionParams): Promise<boolean>;
  /** Whether a refusal would end with such a permission. Throws KeyturnError. */
  endsRefusal(params: EndParams): Promise<boolean>;
  /** The same for the API key there. Throws KeyturnError. */
  endsKeyRefusal(params: EndParams): Promise<boolean>;
  /** Gives the home free for brokers without a window, or takes that back. No method of the wire does so. */
  release(isReleased: boolean): Promise<void>;
  /** Ends the subscription, and what waits for this owner. */
  close(): void;
}

export interface OwnerParts {
  readonly broker: Broker;
  readonly dispatch: ServerDeps['dispatch'];
  readonly homeCheck: Pick<HomeCheck, 'verify' | 'release'>;
}

/** `heard` gets the names of the notifications. */
export function inProcessOwner(
  { broker, dispatch, homeCheck }: OwnerParts,
  heard: (method: string) => void,
): InProcessOwner {
  const over = new AbortController();
  const peer = { kind: 'unverified' } as const;
  const caller: Caller = {
    clientId: ownerId,
    role: 'owner',
    peer,
    peerNow: () => peer,
    signal: over.signal,
    get isOpen() {
      return !over.signal.aborted;
    },
    notify: (method) => heard(method),
    onClose: (callback) => over.signal.addEventListener('abort', callback, { once: true }),
  };
  // Can't fail: it only notes the caller.
  void dispatch(caller, 'subscribe', {});
  return {
    call: async (method, params) => {
      // The type says so too; a name from a window is only as good as the table it was looked up in.
      if ((methods[method].who as 'any' | 'owner' | 'client') === 'client') throw noTokensHere(method);
      return dispatch(caller, method, params);
    },
    widens: async (params) => {
      await homeCheck.verify();
      return widens(broker, params);
    },
    endsRefusal: async (params) => {
      await homeCheck.verify();
      return endsRefusal(broker, params);
    },
    endsKeyRefusal: async (params) => {
      await homeCheck.verify();
      return endsKeyRefusal(broker, params);
    },
    release: (isReleased) => homeCheck.release(isReleased),
    close: () => over.abort(closed()),
  };
}

function noTokensHere(method: string): KeyturnError {
  return new KeyturnError('not_permitted', `${method} is for other apps, not for the Keyturn app.`, {
    rule: 'no token ever reaches a window',
    hint: 'Use `keyturn token`.',
  });
}

function closed(): KeyturnError {
  return new KeyturnError('interrupted', 'The app is quitting.', { hint: 'Start it again.' });
}
