/**
 * An entry of a client's configuration: an app with its own name and key, which one of our commands runs as.
 *
 * Invariant: a named entry uses its own key and nothing else; without a key it gets no token. It waits for the user
 * for seconds, and the broker keeps its questions for the next start.
 */
import { KeyturnError, quoted, type Reason, reasonOf } from '../../base/errors.ts';
import { connectStarting } from '../../client/connect.ts';
import type { Connection } from '../../client/connection.ts';
import { forwardedSocket } from '../../ipc/wire/forwarded.ts';
import { appCapability } from '../../ipc/wire/capabilities.ts';
import { connect, connectIfRunning, requireBroker, throughRestart } from '../broker/connection.ts';
import { type AppRequest, kinds } from './asked.ts';
import type { ConnectedEntry } from './pairing.ts';

/** Starts a broker where none runs, at later requests of an entry too. Throws `unpaired` where the entry has no key. */
export async function connectAs(name: string | undefined): Promise<Connection> {
  if (name === undefined) return connect();
  return connectStarting({ name }, async () => {
    const { startBroker } = await import('../broker/auto-start.ts');
    (await startBroker()).close();
  });
}

/** What a user can fix by an answer or a sign-in. */
const askable: readonly Reason[] = ['unpaired', 'consent_required', 'account_required', 'login_required'];

/** The question is open, or the sign-in. */
export const pending: readonly Reason[] = ['consent_pending', 'login_pending'];

/** What the broker answers when the time is over. */
export const late: readonly Reason[] = [...pending, 'authorization_server_unreachable'];

export interface Entry extends ConnectedEntry {
  readonly scope?: string | undefined;
}

interface Start {
  /** Milliseconds. */
  readonly wait?: number;
  /** What the user does after the answer. */
  readonly again?: string;
  /** Throws `authorization_not_required` where the server wants no token. */
  readonly refusesOpen?: boolean;
  /** Told where the user answers, once the waiting begins. */
  readonly waits?: (where: string) => void;
}

/** Milliseconds that a client waits for the answer to `initialize`, with room to spare: most wait for 30 s or more. */
const defaultWait = 20_000;

/**
 * The entry's connection, once it may have tokens, or the API key, for its server. Throws the refusal; where the
 * user has not answered within `wait`, an error that says what to do.
 */
export async function startEntry(
  entry: Entry,
  {
    wait = defaultWait,
    again = 'restart this server in your client',
    waits,
    refusesOpen = false,
  }: Start = {},
): Promise<Connection> {
  const { name, resource, scope, account } = entry;
  const params = { resource, kinds, scope, account };
  let first = await ready({ as: name, params });
  if ('refusal' in first && first.refusal.reason === 'unpaired') {
    const { isPaired } = await import('./pairing.ts');
    // Another process of the entry may have paired it meanwhile.
    if (isPaired(name)) first = await ready({ as: name, params });
  }
  if ('connection' in first) return first.connection;
  const { refusal } = first;
  if (!askable.includes(refusal.reason)) throw refusal;
  await refuseRemembered(entry, refusal);
  // Nobody is asked without a broker; an entry without a key has not started one yet.
  await requireBroker();
  const tell = async (shown?: string): Promise<void> => waits?.(await whereToAnswer(entry, shown));
  const over = AbortSignal.timeout(wait);
  const end = performance.now() + wait;
  let code: string | undefined;
  try {
    if (refusal.reason === 'unpaired') {
      const { pairEntry } = await import('./pairing.ts');
      const show = (shown: string): void => {
        code = shown;
        void tell(shown);
      };
      await pairEntry(entry, show, over);
      return await allowed({ as: name, params }, { end, refusesOpen });
    }
    return await allowed({ as: name, params }, { end, refusesOpen, tell });
  } catch (error) {
    if (error === over.reason) throw await unanswered(entry, refusal, { again, code });
    const isOpen = error instanceof KeyturnError && pending.includes(error.reason);
    throw isOpen ? await unanswered(entry, error, { again }) : error;
  }
}

interface Waiting {
  /** Of `performance.now`. */
  readonly end: number;
  readonly refusesOpen: boolean;
  readonly tell?: () => Promise<void>;
}

/** Asks the user, until `end` (of `performance.now`). The broker goes on alone from the first moment. */
async function allowed({ as, params }: AppRequest, { end, refusesOpen, tell }: Waiting): Promise<Connection> {
  const connection = await connectAs(as);
  const ask = async (timeout: number): Promise<unknown> =>
    connection.getCredential({ ...params, interaction: 'allow', detached: true, timeout });
  const left = (): number => Math.max(0, Math.floor((end - performance.now()) / 1000));
  /** Why the token isn't there after `timeout` seconds. */
  const lateAfter = async (timeout: number): Promise<Reason | undefined> => {
    try {
      await ask(timeout);
      return undefined;
    } catch (error) {
      if (!late.includes(reasonOf(error))) throw error;
      return reasonOf(error);
    }
  };
  try {
    // A client may end this process at any moment: then the question must not end with it.
    let why = await lateAfter(0);
    // A page opens later than a card: where its server is slow, by seconds.
    for (let pause = 1; why !== undefined && !pending.includes(why) && pause <= left(); pause *= 2)
      why = await lateAfter(pause);
    if (why !== undefined) {
      if (pending.includes(why)) await tell?.();
      await ask(left());
    }
    return connection;
  } catch (error) {
    // The server wants no token: what the bridge sends it needs none.
    if (!refusesOpen && reasonOf(error) === 'authorization_not_required') return connection;
    connection.close();
    throw error;
  }
}

type Outcome = { readonly connection: Connection } | { readonly refusal: KeyturnError };

/** Asks without a question. The token or key is the broker's to keep: who needs it asks again. */
async function ready({ as, params }: AppRequest): Promise<Outcome> {
  return throughRestart(async (reached): Promise<Outcome> => {
    let connection: Connection | undefined;
    try {
      connection = await connectAs(as);
      reached();
      await connection.getCredential({ ...params, interaction: 'never' });
      return { connection };
    } catch (error) {
      if (connection && reasonOf(error) === 'authorization_not_required') return { connection };
      connection?.close();
      if (error instanceof KeyturnError && askable.includes(error.reason)) return { refusal: error };
      throw error;
    }
  });
}

async function refuseRemembered(entry: Entry, { reason }: KeyturnError): Promise<void> {
  const { name } = entry;
  if (reason !== 'unpaired') return;
  const { isPaired, refusedBefore, wasRefused } = await import('./pairing.ts');
  if (wasRefused(name)) throw refusedBefore(entry);
  if (!isPaired(name)) return;
  throw new KeyturnError('unpaired', `The broker does not know the app key of ${quoted(name)}.`, {
    hint: `It was made for another home, or taken back. Remove apps/${name}.key in the config folder, and start again.`,
  });
}

/** `refusal`: of the broker; before the pairing of an entry that has no key. */
async function unanswered(
  entry: Entry,
  { reason, message }: KeyturnError,
  { again, code }: { readonly again: string; readonly code?: string | undefined },
): Promise<KeyturnError> {
  const question =
    reason === 'unpaired' ? `Pairing of ${quoted(entry.name)} hasn’t been approved yet.` : message;
  return new KeyturnError(reason === 'login_pending' ? reason : 'consent_pending', question, {
    hint: `${await whereToAnswer(entry, code)} Then ${again}.`,
  });
}

async function whereToAnswer(entry: Entry, code: string | undefined): Promise<string> {
  const isElsewhere = forwardedSocket(process.env) !== undefined;
  const isKeyturnApp = !isElsewhere && (await isKeyturnAppRunning());
  const { connectCommand } = await import('./pairing.ts');
  const compare = code === undefined ? '' : `, if it shows the code ${code}`;
  return isElsewhere
    ? `Answer on the machine where the broker runs${compare}.`
    : isKeyturnApp
      ? `Answer the card in Keyturn’s window${compare}.`
      : `Run in a terminal: ${connectCommand(entry)}   Or answer what \`keyturn request list\` shows${compare}.`;
}

async function isKeyturnAppRunning(): Promise<boolean> {
  const connection = await connectIfRunning().catch(() => undefined);
  connection?.close();
  return connection?.capabilities.includes(appCapability) ?? false;
}
