/**
 * A token or an API key for a command that serves an app, within the time that the app
 * gives it.
 *
 * Invariant: a question outlives the command: the broker keeps it open. An interrupt withdraws the question of the
 * command line, but not of an entry.
 */
import { untilAborted } from '../../base/abort.ts';
import { detailsOf, KeyturnError, quoted, reasonOf, shellWord } from '../../base/errors.ts';
import type { Connection } from '../../client/connection.ts';
import { isBound } from '../../ipc/wire/token-messages.ts';
import type { CredentialGetParams, ApiKeyResult, TokenResult } from '../../ipc/wire/token-messages.ts';
import { interruptible, throughRestart } from '../broker/connection.ts';
import { watchLater } from '../waiting/watch-later.ts';
import type { AppRequest } from './asked.ts';
import { connectAs, pending, startEntry } from './entry.ts';
import type { ConnectedEntry } from './pairing.ts';

export type Credential = TokenResult | ApiKeyResult;

interface Bounds {
  /** Milliseconds since this process began. */
  readonly within: number;
  /** What the user does after the answer, e.g. `run this again`. */
  readonly again: string;
  /** Told where the user answers for an entry, once the waiting begins. */
  readonly waits?: (where: string) => void;
}

/** Milliseconds that the broker's answer takes after the time it was given. */
const reserve = 500;

/** Milliseconds that an entry takes to say what its question waits for. */
const toTell = 1000;

/** Milliseconds to write the refusal. */
const lastWords = 200;

/** Undefined: the server wants no token. Throws the broker's refusal; `authorization_server_unreachable` where nothing answered in time. */
export async function credentialWithin(asked: AppRequest, bounds: Bounds): Promise<Credential | undefined> {
  const { within, again } = bounds;
  const left = Math.max(0, within - performance.now());
  const signal = AbortSignal.timeout(Math.ceil(left) + reserve);
  try {
    return requireUsableAlone(await untilAborted(asking(asked, bounds, left), signal));
  } catch (error) {
    if (error === signal.reason) {
      // What is still under way must not keep the process. It ends with its own exit code.
      setTimeout(() => process.exit(), lastWords).unref();
      // The servers, or a broker that starts, took the whole time.
      throw new KeyturnError(
        'authorization_server_unreachable',
        `There was no answer within ${within / 1000} s.`,
        { hint: 'Try again, or give a longer --timeout.' },
      );
    }
    if (reasonOf(error) === 'authorization_not_required') return undefined;
    // An entry has said it already.
    throw asked.as !== undefined || !pending.includes(reasonOf(error)) ? error : standing(error, again);
  }
}

async function asking(asked: AppRequest, { again, waits }: Bounds, left: number): Promise<Credential> {
  const { as: name, params } = asked;
  if (name === undefined) return credentialFor(asked, left);
  if (params.interaction === 'never')
    return credentialFor(asked, left).catch(async (error: unknown) => {
      throw await forEntry({ ...params, name }, error);
    });
  const { resource, scope, account } = params;
  const connection = await startEntry(
    { name, resource, scope, account },
    { wait: Math.max(0, Math.floor(left) - toTell), again, waits, refusesOpen: true },
  );
  try {
    return await connection.getCredential({ ...params, interaction: 'never' });
  } finally {
    connection.close();
  }
}

/** A command can pair the entry: the refusal speaks to the developer of an app. */
async function forEntry(entry: ConnectedEntry, error: unknown): Promise<unknown> {
  if (!(error instanceof KeyturnError) || error.reason !== 'unpaired') return error;
  const { connectCommand, isPaired } = await import('./pairing.ts');
  if (isPaired(entry.name)) return error;
  const hint = `Run in a terminal: ${connectCommand(entry)}`;
  return new KeyturnError(error.reason, error.message, { ...detailsOf(error), hint });
}

/** `left` in milliseconds. A broker that dies in the middle is started again, and asked the same. */
async function credentialFor({ as, params }: AppRequest, left: number): Promise<Credential> {
  const timed = { ...params, timeout: Math.floor(left / 1000) };
  return throughRestart(async (reached) => {
    const connection = await connectAs(as);
    reached();
    return interruptible(connection, () => credentialOn(connection, timed));
  });
}

/**
 * A newer token for an app that runs already, by a request that is `unattended`. Nothing is shown, and signals stay the
 * app's own: they must not end this process before it. `timeout` in milliseconds.
 */
export async function credentialInBackground(
  { as, params }: AppRequest,
  timeout: number,
): Promise<Credential> {
  return throughRestart(async (reached) => {
    const connection = await connectAs(as);
    reached();
    try {
      return requireUsableAlone(
        await connection.getCredential({ ...params, timeout: Math.floor(timeout / 1000) }),
      );
    } finally {
      connection.close();
    }
  });
}

async function credentialOn(connection: Connection, params: CredentialGetParams): Promise<Credential> {
  const watching = watchLater(connection, params);
  try {
    return await connection.getCredential(params);
  } catch (error) {
    const { explained } = await import('../broker/versions.ts');
    throw explained(error, connection);
  } finally {
    clearTimeout(watching);
  }
}

/** RFC 9449 §7: each request with a bound token needs a proof of its own, which no fixed text can have. */
function requireUsableAlone(credential: Credential): Credential {
  if ('kind' in credential || !isBound(credential)) return credential;
  const { resource } = credential;
  throw new KeyturnError(
    'token_invalid',
    `The token for ${quoted(resource)} is bound to a DPoP key, so it is worth nothing without that key.`,
    {
      rule: 'RFC 9449 §7: each request needs a proof of its own',
      hint: `Let the app reach the server through Keyturn: keyturn bridge, or keyturn proxy add ${shellWord(resource)}. For one request: keyturn token ${shellWord(resource)} --dpop METHOD`,
    },
  );
}

function standing(error: unknown, again: string): unknown {
  if (!(error instanceof KeyturnError)) return error;
  const { reason, message, rule, hint = '' } = error;
  return new KeyturnError(reason, message, {
    hint: `${hint} It stays open for ten minutes. Then ${again}.`.trim(),
    rule,
  });
}
