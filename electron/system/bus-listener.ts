/**
 * Listens on Linux for signals that mean a lock of the screen, which Electron doesn't report there: dbus-monitor
 * prints them, and this reads it.
 *
 * Invariant: it only listens, and tells of locks alone. A faked signal locks the vault and opens nothing.
 * Without a bus or dbus-monitor nothing is heard, and `ended` says why.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { busSocket } from '../../src/daemon/system/bus-questions.ts';

/** What is listened to, and how its signals are read. */
export interface LockSignals {
  readonly bus: 'session' | 'system';
  /** Match rules of the bus. Asked for at each start of a listener. */
  rules(env: NodeJS.ProcessEnv): Promise<readonly string[]>;
  /** Takes each printed line; true at the one that makes it a lock. */
  reader(): (line: string) => boolean;
}

/** The head of a signal as dbus-monitor prints it. Its arguments follow, a line or more each. */
export const signalHead = /^signal .* path=(?<path>\S+); interface=(?<interface>\S+); member=(?<member>\S+)$/;

/** How a bus is found: the variables that dbus-monitor reads. */
function busVariables(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const { PATH, DBUS_SESSION_BUS_ADDRESS, DBUS_SYSTEM_BUS_ADDRESS, XDG_RUNTIME_DIR } = env;
  return { PATH, DBUS_SESSION_BUS_ADDRESS, DBUS_SYSTEM_BUS_ADDRESS, XDG_RUNTIME_DIR };
}

/** The system bus listens here unless a variable says otherwise: D-Bus's specification names the first, Debian builds with the second. */
const systemSockets = ['/var/run/dbus/system_bus_socket', '/run/dbus/system_bus_socket'];

export const systemBusAddress = (env: NodeJS.ProcessEnv): string =>
  env['DBUS_SYSTEM_BUS_ADDRESS'] ?? `unix:path=${systemSockets.find(existsSync) ?? systemSockets[0]}`;

/** Sure only where the address names one socket, by its file. */
function isBusMissing(bus: LockSignals['bus'], env: NodeJS.ProcessEnv): boolean {
  const address = bus === 'system' ? systemBusAddress(env) : (env['DBUS_SESSION_BUS_ADDRESS'] ?? '');
  const socket = address.includes(';') ? undefined : busSocket(address);
  return socket !== undefined && !socket.startsWith('\0') && !existsSync(socket);
}

export interface BusListenerOptions {
  /** Of the desktop session: it says where the bus is. */
  readonly env: NodeJS.ProcessEnv;
  readonly signals: LockSignals;
  readonly onLocked: () => void;
  /** It is on the bus. */
  readonly onListening?: () => void;
}

/** Why nothing is heard: no dbus-monitor, no bus that answers (in time), or it listened and has ended. */
export type ListenerFailure = 'noProgram' | 'noBus' | 'ended';

export class BusListener {
  /** No such program, no bus, the bus is gone, somebody ended it, `giveUp`, or `close`. */
  readonly ended: Promise<ListenerFailure>;
  readonly #end: (why: ListenerFailure) => void;
  readonly #options: BusListenerOptions;
  #child: ChildProcess | undefined;
  #isListening = false;
  #isClosed = false;

  constructor(options: BusListenerOptions) {
    this.#options = options;
    const { promise, resolve } = Promise.withResolvers<ListenerFailure>();
    this.ended = promise;
    this.#end = resolve;
    void this.#run();
  }

  /** True while it listens. */
  get isListening(): boolean {
    return this.#isListening;
  }

  close(): void {
    this.#isClosed = true;
    // One that hangs may react to nothing else, and none has anything to finish.
    this.#child?.kill('SIGKILL');
  }

  /** It took too long to get on the bus, and counts as one without a bus. */
  giveUp(): void {
    this.#end('noBus');
    this.close();
  }

  async #run(): Promise<void> {
    const { env, signals, onLocked } = this.#options;
    // A machine without this bus is asked again and again: no process is started for that.
    if (isBusMissing(signals.bus, env)) return this.#end('noBus');
    const rules = await signals.rules(env);
    if (this.#isClosed) return this.#end('ended');
    const child = spawn('dbus-monitor', [`--${signals.bus}`, ...rules], {
      env: busVariables(env),
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    this.#child = child;
    child
      .on('error', () => this.#end('noProgram'))
      .on('close', () => {
        this.#end(this.#isListening ? 'ended' : 'noBus');
        this.#isListening = false;
      });
    const isLock = signals.reader();
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (!this.#isListening) this.#listens();
      if (isLock(line)) onLocked();
    });
  }

  /** Its first lines are the bus's own, once it listens. */
  #listens(): void {
    if (this.#isClosed) return;
    this.#isListening = true;
    this.#options.onListening?.();
  }
}
