/**
 * The proxies as apps, each with one connection to the broker, whatever connects to its address.
 *
 * Invariant: a request asks for tokens under the identity that the broker gave for its proxy.
 */
import { untilAborted } from '../base/abort.ts';
import { KeyturnError } from '../base/errors.ts';
import { makeAgent } from '../base/system/https-agent.ts';
import { openConnection, type Connection, type TokenConnection } from '../client/connection.ts';
import { createFetch } from '../client/fetch/fetch.ts';
import type { After } from '../ipc/wire/timer.ts';
import type { Admission, ProxyEntry } from './messages.ts';
import { MessageAddresses } from './message-addresses.ts';
import { sendVia } from './upstream.ts';
import type { Dispatcher } from 'undici';

export interface ProgramParts {
  /** Asks the broker for the app of a proxy. Throws the broker's refusal. */
  readonly admit: (entry: ProxyEntry) => Promise<Admission>;
  readonly after: After;
}

/** Milliseconds that a request waits for the user. Clients give up after a minute; the question stays longer. */
const patience = 50_000;

/** The requests of an app that are at the server, until their answers have passed. They end with its permission. */
class OpenAnswers extends Set<AbortController> {
  /** How often the permission has ended. */
  cuts = 0;

  /** A request that still waits for a token is the broker's to refuse. */
  cut(): void {
    this.cuts += 1;
    for (const answering of this) answering.abort(ended());
  }
}

/** A proxy's app, as the broker knows it. */
export interface Program {
  readonly appId: string;
  readonly resource: string;
  readonly fetch: typeof globalThis.fetch;
  /** The same fetch, which takes the token to this URL of the server's origin too. */
  readonly fetchAlsoAt: (url: string) => typeof globalThis.fetch;
  /** Of the older transport. */
  readonly messages: MessageAddresses;
  readonly open: OpenAnswers;
  /** Ends what it has open. */
  readonly close: () => void;
}

/** Connections to servers, and how many proxies' apps use them. */
interface SharedAgent {
  readonly dispatcher: Dispatcher;
  programs: number;
}

export class Programs {
  readonly #parts: ProgramParts;
  /** By the proxy's id. */
  readonly #admitted = new Map<string, Promise<Program>>();
  readonly #agents = new Map<string, SharedAgent>();

  constructor(parts: ProgramParts) {
    this.#parts = parts;
  }

  /** The proxy's app. Throws what the broker refuses. */
  async at(entry: ProxyEntry): Promise<Program> {
    const known = this.#admitted.get(entry.id);
    if (known) return known;
    const program = this.#admit(entry);
    this.#admitted.set(entry.id, program);
    program.catch(() => this.#admitted.delete(entry.id));
    return program;
  }

  /** The permission of this app ended, and so does what it has open. */
  async cut(appId: string): Promise<void> {
    // One that is still being admitted delays none of the others.
    await Promise.all(
      [...this.#admitted.values()].map(async (program) => {
        const found = await program.catch(() => undefined);
        if (found?.appId === appId) found.open.cut();
      }),
    );
  }

  /** Ends what this app has open; it is admitted again at its next request. */
  async forget(appId: string): Promise<void> {
    await this.#closeIf((program) => program.appId === appId);
  }

  /** Ends those of proxies that are gone. */
  async keep(entries: readonly ProxyEntry[]): Promise<void> {
    await this.#closeIf((_, proxy) => !entries.some(({ id }) => id === proxy));
  }

  async #closeIf(isOver: (program: Program, proxy: string) => boolean): Promise<void> {
    await Promise.all(
      [...this.#admitted].map(async ([proxy, program]) => {
        const found = await program.catch(() => undefined);
        if (!found || this.#admitted.get(proxy) !== program || !isOver(found, proxy)) return;
        this.#admitted.delete(proxy);
        found.close();
      }),
    );
  }

  async #admit(entry: ProxyEntry): Promise<Program> {
    const { identity, socket, resource, agent } = await this.#parts.admit(entry);
    const connection = await openConnection({ identity, socket, after: this.#parts.after });
    const name = JSON.stringify(agent);
    // Without an end: a call may take long, and a stream may be silent. The client's own patience counts.
    const endless = { headersTimeout: 0, bodyTimeout: 0 };
    const shared = this.#agents.get(name) ?? { dispatcher: makeAgent(agent, endless), programs: 0 };
    shared.programs += 1;
    this.#agents.set(name, shared);
    const open = new OpenAnswers();
    const asking = this.#asking(connection, open);
    const fetchAlsoAt = (url?: string): typeof globalThis.fetch =>
      createFetch(asking, {
        resource,
        fetch: sendVia(shared.dispatcher),
        interaction: 'allow',
        kinds: ['token', 'apiKey'],
        alsoAt: () => url,
      });
    const messages = new MessageAddresses();
    const { appId } = identity;
    const close = (): void => {
      open.cut();
      connection.close();
      shared.programs -= 1;
      if (shared.programs > 0) return;
      this.#agents.delete(name);
      void shared.dispatcher.close();
    };
    return { appId, resource, fetch: fetchAlsoAt(), fetchAlsoAt, messages, open, close };
  }

  /** The connection, with an end of the waiting for a token. */
  #asking(connection: Connection, open: OpenAnswers): TokenConnection {
    const { after } = this.#parts;
    return {
      getToken: (params, options) =>
        current(open, async () => within(after, connection.getToken(params, options))),
      getCredential: (params, options) =>
        current(open, async () => within(after, connection.getCredential(params, options))),
      proveToken: (params, options) =>
        current(open, async () => within(after, connection.proveToken(params, options))),
      rejectToken: (params, options) => connection.rejectToken(params, options),
    };
  }
}

/** Asks again as long as the permission ended meanwhile: the answer may be older than that end. */
async function current<T>(open: OpenAnswers, ask: () => Promise<T>): Promise<T> {
  for (;;) {
    const { cuts } = open;
    const given = await ask();
    if (cuts === open.cuts) return given;
  }
}

/** The broker goes on with what takes longer, and the next request finds the answer. */
async function within<T>(after: After, work: Promise<T>): Promise<T> {
  const late = new AbortController();
  const cancel = after(patience, () =>
    late.abort(
      new KeyturnError('consent_pending', 'a request waits for you in Keyturn', {
        hint: 'Answer it in Keyturn’s window (or see `keyturn request list`), then let the app ask again.',
        retryAfter: 5,
      }),
    ),
  );
  return untilAborted(work, late.signal).finally(cancel);
}

function ended(): KeyturnError {
  return new KeyturnError('not_permitted', 'the permission of this proxy ended', {
    hint: 'See `keyturn app list`; a new permission: keyturn app allow APP URL',
  });
}
