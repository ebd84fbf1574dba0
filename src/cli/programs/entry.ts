/**
 * An entry of a client's configuration: a program with a name and a key of its own, which a command of ours runs as.
 *
 * Invariant: a named entry uses its own key and nothing else; without a key it gets no token. It waits for the person
 * for seconds, and the questions outlive it (standing-question.ts).
 */
import { KeyturnError, quoted, reasonOf, shellOption, shellWord } from '../../base/errors.ts';
import type { Reason } from '../../base/errors.ts';
import { connectStarting } from '../../client/connect.ts';
import type { Connection } from '../../client/connection.ts';
import { forwardedSocket } from '../../ipc/wire/forwarded.ts';
import { deskCapability } from '../../ipc/wire/capabilities.ts';
import { connect, connectIfRunning, requireBroker, throughRestart } from '../broker/connection.ts';
import { type Asked, kinds } from '../asking/asked.ts';

/** Starts a broker where none runs, at later requests of an entry too. Throws `unpaired` where the entry has no key. */
export async function connectAs(name: string | undefined): Promise<Connection> {
  if (name === undefined) return connect();
  return connectStarting({ name }, async () => {
    const { startBroker } = await import('../broker/auto-start.ts');
    (await startBroker()).close();
  });
}

/** What a person can mend by an answer or a sign-in. */
const askable: readonly Reason[] = ['unpaired', 'consent_required', 'account_required', 'login_required'];

export interface Entry {
  readonly name: string;
  /** Of the protected server. */
  readonly resource: string;
  readonly scope?: string | undefined;
  readonly account?: string | undefined;
}

interface Start {
  /** Of this program, which the process that asks runs. */
  readonly command?: readonly string[];
  /** Milliseconds. */
  readonly wait?: number;
  /** What the person does after the answer. */
  readonly again?: string;
  /** Throws `authorization_not_required` where the server wants no token. */
  readonly refusesOpen?: boolean;
  /** Told when the waiting begins. */
  readonly waits?: () => void;
}

/** Milliseconds that a client waits for the answer to `initialize`, with room to spare: most wait for 30 s or more. */
const defaultWait = 20_000;

/**
 * The entry's connection, once it may have tokens, or the API key, for its server. Throws the refusal; where the
 * person has not answered within `wait`, an error that says what to do.
 */
export async function startEntry(
  entry: Entry,
  {
    command = ['bridge', '--connect'],
    wait = defaultWait,
    again = 'restart this server in your client',
    waits,
    refusesOpen = false,
  }: Start = {},
): Promise<Connection> {
  const { name, resource, scope, account } = entry;
  const asked: Asked = {
    as: name,
    params: {
      resource,
      kinds,
      interaction: 'never',
      scope,
      account,
    },
  };
  let first = await ready(asked);
  // Another process of the entry may have paired it meanwhile.
  if ('refusal' in first && (await isPairedNow(entry, first.refusal))) first = await ready(asked);
  if ('connection' in first) return first.connection;
  if (!askable.includes(first.refusal.reason)) throw first.refusal;
  await refuseRemembered(entry, first.refusal);
  // Nobody is asked without a broker; an entry without a key has not started one yet.
  await requireBroker();
  waits?.();
  const signal = AbortSignal.timeout(wait);
  const { untilAnswered } = await import('../asking/standing-question.ts');
  let isLate = false;
  for (let isOver = false; !isOver;) {
    isOver = true;
    try {
      await untilAnswered(asked, command, signal);
    } catch (error) {
      isLate = error === signal.reason;
      // The server wants no token: what the bridge sends it needs none.
      if (reasonOf(error) === 'authorization_not_required') {
        if (refusesOpen) throw error;
        return connectAs(name);
      }
      isOver = isLate;
      if (!isLate && reasonOf(error) !== 'broker_unreachable') throw error;
      // The broker ended under its question: the next one asks it.
      if (!isLate) await requireBroker();
    }
  }
  const second = await ready(asked);
  if ('connection' in second) return second.connection;
  if (isLate) throw await unanswered(entry, second.refusal, again);
  throw askable.includes(second.refusal.reason) ? overAgain(second.refusal, again) : second.refusal;
}

type Outcome = { readonly connection: Connection } | { readonly refusal: KeyturnError };

/** Asks without a question. The token or key is the broker's to keep: who needs it asks again. */
async function ready({ as, params }: Asked): Promise<Outcome> {
  return throughRestart(async (reached): Promise<Outcome> => {
    let connection: Connection | undefined;
    try {
      connection = await connectAs(as);
      reached();
      await connection.getCredential(params);
      return { connection };
    } catch (error) {
      if (connection && reasonOf(error) === 'authorization_not_required') return { connection };
      connection?.close();
      if (error instanceof KeyturnError && askable.includes(error.reason)) return { refusal: error };
      throw error;
    }
  });
}

async function isPairedNow({ name }: Entry, { reason }: KeyturnError): Promise<boolean> {
  if (reason !== 'unpaired') return false;
  const { isPaired } = await import('../asking/pairing.ts');
  return isPaired(name);
}

async function refuseRemembered({ name }: Entry, { reason }: KeyturnError): Promise<void> {
  if (reason !== 'unpaired') return;
  const { isPaired, refusedBefore, wasRefused } = await import('../asking/pairing.ts');
  if (wasRefused(name)) throw refusedBefore(name);
  if (!isPaired(name)) return;
  throw new KeyturnError('unpaired', `The broker does not know the key of ${quoted(name)}.`, {
    hint: `It was made for another home, or taken back. Remove clients/${name}.key in the config folder, and start again.`,
  });
}

async function unanswered(
  { name, resource, account }: Entry,
  { reason, message }: KeyturnError,
  again: string,
): Promise<KeyturnError> {
  const isElsewhere = forwardedSocket(process.env) !== undefined;
  const isDesk = !isElsewhere && (await isAtDesk());
  const code = reason === 'unpaired' ? await codeOf({ name }) : undefined;
  const compare = code === undefined ? '' : `, if it shows the code ${code}`;
  const question =
    reason === 'unpaired'
      ? `Nobody has said yet that ${quoted(name)} may be paired.`
      : reason === 'login_required'
        ? `The sign-in for ${quoted(resource)} is not finished.`
        : reason === 'account_required'
          ? message
          : `Nobody has said yet that ${quoted(name)} may reach ${quoted(resource)}.`;
  const reached = `keyturn bridge --connect ${shellWord(resource)} --as ${shellWord(name)}`;
  const connectCommand =
    account === undefined
      ? reached
      : `keyturn bridge --connect ${shellWord(resource)} --as ${shellWord(name)} ${shellOption('account', account)}`;
  return new KeyturnError(reason === 'login_required' ? 'login_pending' : 'consent_pending', question, {
    hint: isElsewhere
      ? `Answer on the machine where the broker runs${compare}. Then ${again}.`
      : isDesk
        ? `Answer the card in Keyturn’s window${compare}. Then ${again}.`
        : `Run in a terminal: ${connectCommand}   Or answer what \`keyturn pending\` shows${compare}. Then ${again}.`,
  });
}

async function codeOf(entry: Pick<Entry, 'name'>): Promise<string | undefined> {
  const { AskingFiles } = await import('../asking/asking-files.ts');
  const { locate } = await import('../../client/connect.ts');
  return (await AskingFiles.ofPairing(locate().paths, entry.name).read()).code;
}

async function isAtDesk(): Promise<boolean> {
  const connection = await connectIfRunning().catch(() => undefined);
  connection?.close();
  return connection?.capabilities.includes(deskCapability) ?? false;
}

/** The process that asked has ended, and with it a yes for one token or one run. */
function overAgain({ reason, message, rule }: KeyturnError, again: string): KeyturnError {
  return new KeyturnError(reason, message, {
    hint:
      reason === 'unpaired'
        ? `The question ended without an answer. To be asked anew, ${again}.`
        : 'A yes for one token or for one run does not reach this program: allow it for a time, or until you end it.',
    rule,
  });
}
