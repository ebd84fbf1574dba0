/** The methods of the wire, as the owner or an app calls them, without a socket. Answers pass through JSON. */
import { AppProcesses } from '../../src/daemon/apps/app-processes.ts';
import { dispatcher } from '../../src/daemon/methods/dispatch.ts';
import { socketAccess } from '../../src/daemon/apps/sign-in-access.ts';
import type { Services } from '../../src/daemon/methods/services.ts';
import type { Caller } from '../../src/ipc/server/server.ts';
import type { Rig } from '../broker/rig.ts';

type Call = (method: string, params?: unknown) => Promise<unknown>;

/** `approve`: a user sits at this host. */
export const asOwner = (rig: Pick<Rig, 'broker'>, person: Pick<Services, 'approve'> = {}): Call =>
  callAs(rig, { appId: 'owner', role: 'owner' }, person);

export const asClient = (rig: Rig, appId = 'editor'): Call => callAs(rig, { appId, role: 'app' });

function callAs(
  { broker }: Pick<Rig, 'broker'>,
  who: Pick<Caller, 'appId' | 'role'>,
  person: Pick<Services, 'approve'> = {},
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
    const answer: unknown = await dispatcher(servicesOf(broker, person))(caller, method, params);
    return JSON.parse(JSON.stringify(answer));
  };
}

/** A host for the methods that need no more than the broker. */
function servicesOf(broker: Services['broker'], person: Pick<Services, 'approve'>): Services {
  const missing = (): never => {
    throw new Error('this host has a broker and nothing else');
  };
  const known: Partial<Services> = {
    approve: undefined,
    ...person,
    broker,
    homeCheck: {
      refuseMismatch: () => undefined,
      requireFirstUseAnswered: () => undefined,
      requireMayWiden: () => Promise.resolve(),
    },
    shutdown: { run: (request) => request() },
    noteFailure: () => undefined,
    document: {
      verify: () => broker.parts.document.verify(),
      isJudged: false,
      isOwed: false,
      isUnverified: false,
    },
    processes: new AppProcesses(() => undefined),
    signIns: socketAccess(() => broker.parts.isKeyturnApp),
    changed: () => undefined,
    // Nothing is locked here: everybody is served.
    vaultLock: { admit: () => undefined, lock: missing, unlock: missing, changePassphrase: missing },
  };
  return new Proxy(known, {
    get: (_target, name): unknown => (Object.hasOwn(known, name) ? Reflect.get(known, name) : missing()),
  }) as Services;
}
