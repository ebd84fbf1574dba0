/**
 * The methods of the wire, as the owner or a local client calls them, without a socket between.
 *
 * Invariant: what comes back has passed through JSON, so that it is what a socket would carry.
 */
import { Askers } from '../../src/daemon/clients/askers.ts';
import { dispatch } from '../../src/daemon/methods/methods.ts';
import { socketDoor } from '../../src/daemon/clients/starters.ts';
import type { Host } from '../../src/daemon/methods/host.ts';
import type { Caller } from '../../src/ipc/server/server.ts';
import type { Rig } from '../broker/rig.ts';

type Call = (method: string, params?: unknown) => Promise<unknown>;

/** `approve`: a person sits at this host. */
export const asOwner = (rig: Pick<Rig, 'broker'>, desk: Pick<Host, 'approve'> = {}): Call =>
  callAs(rig, { clientId: 'owner', role: 'owner' }, desk);

export const asClient = (rig: Rig, clientId = 'editor'): Call => callAs(rig, { clientId, role: 'client' });

function callAs(
  { broker }: Pick<Rig, 'broker'>,
  who: Pick<Caller, 'clientId' | 'role'>,
  desk: Pick<Host, 'approve'> = {},
): Call {
  const caller: Caller = {
    ...who,
    peer: { kind: 'unverified' },
    peerNow: () => ({ kind: 'unverified' }),
    signal: new AbortController().signal,
    isOpen: true,
    notify: () => undefined,
    onClose: () => undefined,
  };
  return async (method, params) => {
    const answer: unknown = await dispatch(hostOf(broker, desk), caller, method, params);
    return JSON.parse(JSON.stringify(answer));
  };
}

/** A host for the methods that need no more than the broker. */
function hostOf(broker: Host['broker'], desk: Pick<Host, 'approve'>): Host {
  const missing = (): never => {
    throw new Error('this host has a broker and nothing else');
  };
  return {
    ...desk,
    broker,
    get settings() {
      return missing();
    },
    refuseStrange: () => undefined,
    verifyRecords: () => broker.parts.registrations.verify(),
    askers: new Askers(() => undefined),
    signIns: socketDoor(() => broker.parts.isDesk),
    status: missing,
    changeSetting: missing,
    subscribe: missing,
    changed: () => undefined,
    closeConnectionsOf: missing,
    removeKeyOf: missing,
    register: missing,
    // Nothing is locked here: everybody is served.
    desk: { admit: () => undefined, lock: missing, unlock: missing, changePassphrase: missing },
    reset: missing,
    trail: { tail: missing, about: missing, verify: missing },
    stop: missing,
  };
}
