/**
 * The apps that ask, told apart by process: whose connections are whose, and when a run is over.
 *
 * Invariant: connections belong to one run only if the kernel names the same process, begun at the
 * same moment, for the same app. Where it doesn't tell, each connection is a run of its own. A run
 * ends when its last connection closes. It is what was seen only while its process runs the very file (device
 * and inode) that it ran then: a path proves nothing.
 */
import { cliAppId } from '../../broker/records/app.ts';
import type {
  AppProcess,
  ProcessFacts,
  AppProcessView,
  ProcessState,
} from '../../broker/approval-requests/app-process.ts';
import { processOf, sameProcess, type PeerFacts } from '../../ipc/peer/peer.ts';
import { imageOf, programOf } from '../../ipc/peer/program.ts';
import type { Caller, PairRequest } from '../../ipc/server/server.ts';

/** What the socket tells of one connection. */
export type AppConnection = Pick<Caller, 'appId' | 'peer' | 'peerNow' | 'isOpen' | 'onClose'>;

/** The owner asks for tokens as the app `cli`, which needs a permission like any other. */
export const brokerAppId = (caller: Caller): string => (caller.role === 'owner' ? cliAppId : caller.appId);

export class AppProcesses {
  readonly #runs = new Map<string, Set<AppConnection>>();
  readonly #known = new WeakMap<AppConnection, AppProcess>();
  readonly #ended: (run: string) => void;
  #alone = 0;

  /** `ended` is called with each run that is over. */
  constructor(ended: (run: string) => void) {
    this.#ended = ended;
  }

  of(caller: AppConnection): AppProcess {
    const known = this.#known.get(caller);
    if (known) return known;
    const run = this.#join(caller);
    const appProcess = { run, currentFacts: () => this.#look(run, caller) };
    this.#known.set(caller, appProcess);
    return appProcess;
  }

  #join(caller: AppConnection): string {
    const run = `${caller.appId} ${runOf(caller.peer) ?? `connection ${(this.#alone += 1)}`}`;
    const members = this.#runs.get(run) ?? new Set();
    this.#runs.set(run, members.add(caller));
    caller.onClose(() => {
      members.delete(caller);
      if (members.size > 0) return;
      this.#runs.delete(run);
      this.#ended(run);
    });
    return run;
  }

  #look(run: string, caller: AppConnection): AppProcessView {
    const seen = readAgain(caller);
    return {
      run,
      ...factsOf(seen.peer),
      nowIs: () => {
        // A run may go on by another connection than the one that asked.
        const open = caller.isOpen ? caller : [...(this.#runs.get(run) ?? [])].find(({ isOpen }) => isOpen);
        return open ? standingOf(seen, readAgain(open)) : 'gone';
      },
    };
  }
}

/** The process that asks for pairing, which has one connection and no key yet. */
export function pairingProcess({ peerNow, isOpen }: Pick<PairRequest, 'peerNow' | 'isOpen'>): AppProcessView {
  const seen = readAgain({ peerNow });
  return {
    run: 'pairing',
    ...factsOf(seen.peer),
    nowIs: () => (isOpen() ? standingOf(seen, readAgain({ peerNow })) : 'gone'),
  };
}

/** A process, and the file that it runs, of one moment. */
interface ProcessLook {
  /** Undefined if the system refuses to say who it is: that is never the same as before. */
  readonly peer: PeerFacts | undefined;
  readonly image: string | undefined;
}

function standingOf(seen: ProcessLook, now: ProcessLook): ProcessState {
  const isSame = seen.peer && now.peer && sameProcess(seen.peer, now.peer) && seen.image === now.image;
  return isSame ? 'same' : 'changed';
}

/** Undefined if the kernel doesn't name the process and its start time: the system uses a pid again. */
function runOf(peer: PeerFacts): string | undefined {
  if (peer.kind === 'unverified' || peer.startTicks === undefined) return undefined;
  return processOf(peer);
}

function readAgain({ peerNow }: Pick<AppConnection, 'peerNow'>): ProcessLook {
  try {
    const peer = peerNow();
    return { peer, image: imageOf(peer) };
  } catch {
    return { peer: undefined, image: undefined };
  }
}

function factsOf(peer: PeerFacts | undefined): ProcessFacts {
  if (!peer || peer.kind === 'unverified') return { verified: false };
  return { verified: true, ...(peer.pid > 0 ? { pid: peer.pid } : {}), ...programOf(peer) };
}
