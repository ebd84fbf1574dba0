/**
 * The forwards that are open: each a socket of its own, for apps of one other machine or one sandbox.
 *
 * Invariants: a forward lives as long as the connection that opened it, and no longer than it was opened for. Its
 * socket knows no key but those that were paired through the same label and host key. Nothing of it is kept but those
 * pairings and their permissions.
 */
import { createHash, randomBytes } from 'node:crypto';
import type { Broker } from '../../broker/broker.ts';
import { isSameOrigin, type ForwardOrigin } from '../../broker/records/app.ts';
import { wholeSeconds } from '../../base/clock.ts';
import { KeyturnError, quoted, shellWord } from '../../base/errors.ts';
import type { ParamsOf, ResultOf } from '../../ipc/protocol/methods.ts';
import type { BrokerServer, Caller } from '../../ipc/server/server.ts';
import { forwardSocketId } from '../../ipc/wire/forwarded.ts';
import { requireSocketLength } from '../../ipc/wire/socket-path.ts';
import type { Sockets } from '../sockets.ts';
import { farDispatch } from './far-access.ts';

export interface ForwardsParts {
  readonly broker: Pick<Broker, 'canonical' | 'parts' | 'withdrawAllOf'>;
  readonly homeId: string;
  /** The path for a socket of this name in the user's folder. Throws `socket_unsafe`. */
  readonly socketFor: (name: string) => string;
  /** The home's own socket. */
  readonly sockets: Pick<Sockets, 'dispatch' | 'serve'>;
  readonly changed: () => void;
}

/** Milliseconds. A timer of Node's takes no more than 24 days. */
const longestSleep = 3_600_000;

/** Why a forward is over. The connection that opened it gets it. */
type End = 'expired' | 'ended';

interface OpenForward {
  readonly id: string;
  readonly origin: ForwardOrigin;
  readonly endpoints: readonly string[];
  readonly socket: string;
  readonly mark: string | undefined;
  /** Milliseconds since 1970. */
  readonly until: number;
  readonly server: BrokerServer;
  readonly opener: Caller;
  readonly over: AbortController;
}

export type ForwardAnswer = ResultOf<'forward.list'>['forwards'][number];

export class Forwards {
  readonly #parts: ForwardsParts;
  /** By label; undefined while its socket is being opened. */
  readonly #open = new Map<string, OpenForward | undefined>();

  constructor(parts: ForwardsParts) {
    this.#parts = parts;
  }

  /** Throws `invalid_resource`, `insecure_url`, `conflict`. */
  refuse({ label, path, resources }: Pick<ParamsOf<'forward.open'>, 'label' | 'path' | 'resources'>): void {
    for (const resource of resources) this.#parts.broker.canonical(resource);
    this.#endLate();
    if (!this.#open.has(label)) return;
    const another = path === undefined ? 'with --as' : 'by another file name: --socket DIR/NAME.sock';
    throw new KeyturnError('conflict', `A forward called ${quoted(label)} is open already.`, {
      hint: `End it with: keyturn forward close ${shellWord(label)}   Or give this one another name ${another}.`,
    });
  }

  /** Throws as `refuse`, and `broker_running`, `socket_unsafe`. */
  async open(opener: Caller, params: ParamsOf<'forward.open'>): Promise<ForwardAnswer> {
    this.refuse(params);
    const { label } = params;
    this.#open.set(label, undefined);
    try {
      const forward = await this.#listen(opener, params);
      this.#open.set(label, forward);
      await this.#record('opened', forward);
      this.#endLater(forward);
      return answerOf(forward);
    } catch (error) {
      await this.#open.get(label)?.server.close();
      this.#open.delete(label);
      throw error;
    }
  }

  list(): ForwardAnswer[] {
    this.#endLate();
    return this.#all().map(answerOf);
  }

  /** `named`: a label or an id. Throws `not_found`. */
  async end(named: string): Promise<void> {
    const forward = this.#all().find(({ id, origin }) => id === named || origin.label === named);
    if (!forward) {
      throw new KeyturnError('not_found', `No forward called ${quoted(named)} is open.`, {
        hint: '`keyturn forward list` shows those that are.',
      });
    }
    await this.#end(forward, 'ended');
  }

  closeConnectionsOf(appId: string): void {
    for (const { server } of this.#all()) server.closeConnectionsOf(appId);
  }

  /** Listens again where the file of a socket was lost. What can't be had is tried again at the next look. */
  async look(): Promise<void> {
    const lost = this.#all().filter(({ server }) => server.isLost());
    await Promise.allSettled(lost.map(async ({ server }) => server.listenAgain(server.path)));
  }

  /** For the end of the broker. */
  async stop(): Promise<void> {
    await Promise.all(this.#all().map(async (forward) => this.#end(forward, 'ended')));
  }

  async #listen(opener: Caller, params: ParamsOf<'forward.open'>): Promise<OpenForward> {
    const { broker, socketFor, sockets } = this.#parts;
    const { label, hostKey, resources, lifetime } = params;
    const { clock } = broker.parts;
    const canonical = (resource: string): string => broker.canonical(resource);
    const endpoints = [...new Set(resources.map(canonical))];
    const until = clock.wall() + lifetime * 1000;
    const id = randomBytes(6).toString('hex');
    const origin = { label, hostKey };
    const over = new AbortController();
    const isOver = (): boolean => over.signal.aborted || clock.wall() >= until;
    if (params.path !== undefined) requireSocketLength(params.path);
    // The same for the same label: one that a killed broker left is taken over.
    const socket = params.path ?? socketFor(`forward-${digest(label).slice(0, 12)}.sock`);
    const server = await sockets.serve(origin, {
      path: socket,
      socketId: forwardSocketId(label),
      dispatch: farDispatch({ label, endpoints, canonical, isOver, given: new Set() }, (...request) =>
        sockets.dispatch(...request),
      ),
    });
    const mark = hostKey === undefined ? undefined : markOf(this.#parts.homeId, hostKey);
    return { id, origin, endpoints, socket, mark, until, server, opener, over };
  }

  #endLater(forward: OpenForward): void {
    // A rejection: it ended before.
    this.#untilLate(forward).catch(() => undefined);
    forward.opener.onClose(() => void this.#end(forward, 'ended'));
  }

  async #untilLate(forward: OpenForward): Promise<void> {
    const { clock } = this.#parts.broker.parts;
    for (let left = 1; left > 0; left = forward.until - clock.wall())
      await clock.sleep(Math.min(forward.until - clock.wall(), longestSleep), forward.over.signal);
    await this.#end(forward, 'expired');
  }

  /** Never fails: a socket that can't be closed ends with the broker, and answers nothing till then. */
  async #end(forward: OpenForward, why: End): Promise<void> {
    if (forward.over.signal.aborted) return;
    forward.over.abort();
    const { broker } = this.#parts;
    const apps = broker.parts.apps.all().filter((one) => isSameOrigin(one.forward, forward.origin));
    for (const { id } of apps) broker.withdrawAllOf(id);
    this.#open.delete(forward.origin.label);
    await forward.server.close().catch(() => undefined);
    if (forward.opener.isOpen) forward.opener.notify('forward.ended', { id: forward.id, why });
    await this.#record(why, forward).catch(() => undefined);
    this.#parts.changed();
  }

  /** A timer stands still while the machine sleeps. */
  #endLate(): void {
    const now = this.#parts.broker.parts.clock.wall();
    for (const forward of this.#all()) if (forward.until <= now) void this.#end(forward, 'expired');
  }

  #all(): OpenForward[] {
    return [...this.#open.values()].filter((forward) => forward !== undefined);
  }

  async #record(outcome: End | 'opened', { origin, endpoints }: OpenForward): Promise<void> {
    const { audit } = this.#parts.broker.parts;
    const from = origin.hostKey === undefined ? '' : ` (${origin.hostKey})`;
    const row = { event: 'forward', outcome: `${outcome}: ${origin.label}${from}` } as const;
    for (const endpoint of endpoints) await audit.record({ ...row, endpoint });
  }
}

/** Keeps apart forwards with the same label at one other machine: from two machines, or two host keys. It proves nothing. */
const markOf = (homeId: string, hostKey: string): string => digest(`${homeId}\n${hostKey}`).slice(0, 8);

const digest = (text: string): string => createHash('sha256').update(text).digest('hex');

function answerOf({ id, origin, endpoints, socket, mark, until, server }: OpenForward): ForwardAnswer {
  return {
    id,
    ...origin,
    socket,
    mark,
    resources: [...endpoints],
    until: wholeSeconds(until),
    connections: server.callers().length,
  };
}
