/**
 * The programs that came to a proxy, each with a connection to the broker of its own.
 *
 * Invariant: a program is one process with one file, as the kernel tells it. It asks for tokens under the identity that
 * the broker gave for that proxy and that file, and a program that runs another file by now is another program. Where
 * the kernel doesn't tell, all of them are one.
 */
import type { Socket } from 'node:net';
import { KeyturnError, reasonOf } from '../base/errors.ts';
import { optimizingParserLater } from '../base/system/http-parser.ts';
import { makeAgent } from '../base/system/https-agent.ts';
import { rowOfPeer } from '../base/system/tcp-owner.ts';
import { openConnection } from '../client/connection.ts';
import type { Connection } from '../client/connection.ts';
import { createFetch } from '../client/fetch.ts';
import { holderOf, isStillRunning } from '../ipc/peer/socket-holder.ts';
import type { RunningProcess } from '../ipc/peer/socket-holder.ts';
import type { After } from '../ipc/wire/timer.ts';
import type { Admission, ProxyEntry } from './messages.ts';
import { MessageAddresses } from './message-addresses.ts';
import { sendVia } from './upstream.ts';
import type { Dispatcher } from 'undici';

export interface ProgramParts {
  /** Asks the broker who a program is. Throws the broker's refusal. */
  readonly admit: (entry: ProxyEntry, process: RunningProcess | undefined) => Promise<Admission>;
  readonly after: After;
}

/** Milliseconds that a request waits for the person. Clients give up after a minute; the question stays longer. */
const patience = 50_000;

/** What a program has open at the server, and how often its permission has ended. */
class OpenAnswers {
  readonly #open = new Set<AbortController>();
  #cuts = 0;

  get cuts(): number {
    return this.#cuts;
  }

  add(answering: AbortController): void {
    this.#open.add(answering);
  }

  remove(answering: AbortController): void {
    this.#open.delete(answering);
  }

  cut(): void {
    this.#cuts += 1;
    for (const answering of this.#open) answering.abort(ended());
  }
}

/** A program that the broker knows. */
export class Program {
  readonly clientId: string;
  readonly resource: string;
  readonly fetch: typeof globalThis.fetch;
  /** Of the older transport. */
  readonly messages = new MessageAddresses();
  /** The same fetch, which takes the token to this URL of the server's origin too. */
  readonly fetchAlsoAt: (url: string) => typeof globalThis.fetch;
  readonly #connection: Connection;
  readonly #open: OpenAnswers;

  constructor(
    { identity, resource }: Admission,
    connection: Connection,
    open: OpenAnswers,
    fetchAlsoAt: (url?: string) => typeof globalThis.fetch,
  ) {
    this.clientId = identity.clientId;
    this.resource = resource;
    this.fetch = fetchAlsoAt();
    this.fetchAlsoAt = fetchAlsoAt;
    this.#connection = connection;
    this.#open = open;
  }

  /** A request that is at the server from now on, until its answer has passed. It ends with the permission. */
  add(answering: AbortController): void {
    this.#open.add(answering);
  }

  remove(answering: AbortController): void {
    this.#open.remove(answering);
  }

  /** Ends what is at the server. A request that still waits for a token is the broker's to refuse. */
  cut(): void {
    this.#open.cut();
  }

  close(): void {
    this.cut();
    this.#connection.close();
  }
}

interface Admitted {
  readonly process: RunningProcess | undefined;
  readonly program: Promise<Program>;
}

export class Programs {
  readonly #parts: ProgramParts;
  readonly #admitted = new Map<string, Admitted>();
  /** The process at the other end of each TCP connection. */
  readonly #seen = new WeakMap<Socket, Promise<RunningProcess | undefined>>();
  readonly #agents = new Map<string, Dispatcher>();
  readonly #handOver = optimizingParserLater();

  constructor(parts: ProgramParts) {
    this.#parts = parts;
  }

  /** Looks who is at the other end, once for each connection. `at` refuses another one that came in its place. */
  async look(socket: Socket): Promise<void> {
    await this.#lookAt(socket);
  }

  /** The program at the other end. Throws `not_permitted` where it changed, and what the broker refuses. */
  async at(entry: ProxyEntry, socket: Socket): Promise<Program> {
    const process = await this.#lookAt(socket);
    if (process && !isStillRunning(process)) throw changed();
    const key = keyOf(entry, process);
    const known = this.#admitted.get(key);
    if (known) return known.program;
    const program = this.#admit(entry, process);
    this.#admitted.set(key, { process, program });
    program.catch(() => this.#admitted.delete(key));
    return program;
  }

  /** A refusal that a program met: one that was unpaired is admitted anew at its next request. */
  async met({ clientId }: Program, error: unknown): Promise<void> {
    if (reasonOf(error) === 'unpaired') await this.forget(clientId);
  }

  /** The permission of this client ended, and so does what its programs have open. */
  async cut(clientId: string): Promise<void> {
    // One that is still being admitted keeps none of the others.
    await Promise.all(
      [...this.#admitted.values()].map(async ({ program }) => {
        const found = await program.catch(() => undefined);
        if (found?.clientId === clientId) found.cut();
      }),
    );
  }

  /** Ends what this client's programs have open; each is admitted anew at its next request. */
  async forget(clientId: string): Promise<void> {
    await this.#closeIf((program) => program.clientId === clientId);
  }

  /** Ends those of proxies that are gone. */
  async keep(entries: readonly ProxyEntry[]): Promise<void> {
    const kept = entries.map((entry) => keyOf(entry, undefined));
    await this.#closeIf((_, key) => !kept.some((start) => key.startsWith(start)));
  }

  /** Forgets processes that have ended. */
  async sweep(): Promise<void> {
    await this.#closeIf((_, key) => {
      const process = this.#admitted.get(key)?.process;
      return process !== undefined && !isStillRunning(process);
    });
  }

  async #closeIf(isOver: (program: Program, key: string) => boolean): Promise<void> {
    await Promise.all(
      [...this.#admitted].map(async ([key, { program }]) => {
        const found = await program.catch(() => undefined);
        if (!found || !isOver(found, key)) return;
        if (this.#admitted.get(key)?.program === program) this.#admitted.delete(key);
        found.close();
      }),
    );
  }

  async #lookAt(socket: Socket): Promise<RunningProcess | undefined> {
    const known = this.#seen.get(socket) ?? look(socket);
    this.#seen.set(socket, known);
    return known;
  }

  async #admit(entry: ProxyEntry, process: RunningProcess | undefined): Promise<Program> {
    const admission = await this.#parts.admit(entry, process);
    const { identity, socket, resource, agent } = admission;
    const connection = await openConnection({ identity, socket, after: this.#parts.after });
    const name = JSON.stringify(agent);
    // Without an end: a call may take long, and a stream may be silent. The client's own patience counts.
    const endless = { headersTimeout: 0, bodyTimeout: 0 };
    const dispatcher = this.#agents.get(name) ?? makeAgent(agent, { ...endless, handOver: this.#handOver });
    this.#agents.set(name, dispatcher);
    const open = new OpenAnswers();
    const asking = this.#asking(connection, process, open);
    return new Program(admission, connection, open, (url) =>
      createFetch(asking, {
        resource,
        fetch: sendVia(dispatcher),
        interaction: 'allow',
        kinds: ['token', 'key'],
        alsoAt: () => url,
      }),
    );
  }

  /** The connection, with the process in each request for a token and an end of its waiting. */
  #asking(connection: Connection, process: RunningProcess | undefined, open: OpenAnswers): Connection {
    const { after } = this.#parts;
    const named = process && { pid: process.pid, startTicks: process.startTicks };
    return {
      get isOpen() {
        return connection.isOpen;
      },
      capabilities: connection.capabilities,
      request: (method, params, options) => connection.request(method, params, options),
      getToken: (params, options) =>
        current(open, async () =>
          within(after, connection.getToken({ ...params, ...(named && { process: named }) }, options)),
        ),
      getCredential: (params, options) =>
        current(open, async () =>
          within(after, connection.getCredential({ ...params, ...(named && { process: named }) }, options)),
        ),
      proveToken: (params, options) =>
        current(open, async () => within(after, connection.proveToken(params, options))),
      async rejectToken(params, options) {
        const { cuts } = open;
        const { token, ...verdict } = await connection.rejectToken(params, options);
        return token && cuts === open.cuts ? { ...verdict, token } : verdict;
      },
      onNotification: (listener) => connection.onNotification(listener),
      close: () => connection.close(),
    };
  }
}

/**
 * What `ask` gives, and once more if a permission ended meanwhile: this answer may be older than that end, and would
 * then open what nothing ends any more.
 */
async function current<T>(open: OpenAnswers, ask: () => Promise<T>): Promise<T> {
  for (;;) {
    const { cuts } = open;
    const given = await ask();
    if (cuts === open.cuts) return given;
  }
}

/** The broker goes on with what takes longer, and the next request finds the answer. */
async function within<T>(after: After, work: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const cancel = after(patience, () =>
    late.reject(
      new KeyturnError('consent_pending', 'a question to you waits in Keyturn', {
        hint: 'Answer it in Keyturn’s window (or see `keyturn pending`), then let the program ask again.',
        retryAfter: 5,
      }),
    ),
  );
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    cancel();
  }
}

async function look(socket: Socket): Promise<RunningProcess | undefined> {
  const row = rowOfPeer(socket);
  return row && holderOf(row.inode);
}

/** Begins alike for all programs of one proxy. */
function keyOf({ id }: ProxyEntry, process: RunningProcess | undefined): string {
  return `${id} ${process ? `${process.pid}:${process.startTicks}:${process.image}` : ''}`;
}

function ended(): KeyturnError {
  return new KeyturnError('not_permitted', 'the permission of this program ended', {
    hint: 'See `keyturn clients`; a new permission: keyturn allow CLIENT RESOURCE',
  });
}

function changed(): KeyturnError {
  return new KeyturnError('not_permitted', 'the program that connected has ended, or runs another file now', {
    rule: 'A permission is for one program',
    hint: 'Connect again.',
  });
}
