/**
 * `keyturn reset`: the end of a home. Sign-ins are revoked, the vault is emptied, the files go, and what is
 * left is named.
 *
 * Invariant: nothing is ended or removed before the user approved it, on the terminal or by --yes.
 */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { takeLock } from '../../daemon/home/single-instance.ts';
import { KeyturnError, quoted, type Reason, detailsOf } from '../../base/errors.ts';
import { homePaths, type HomePaths } from '../../base/paths.ts';
import { readPrivate } from '../../base/private/private-file.ts';
import type { ResultOf } from '../../ipc/protocol/methods.ts';
import type { Connection } from '../../client/connection.ts';
import { watchBroker } from '../broker/broker-end.ts';
import { call } from '../broker/request.ts';
import { defineCommand } from '../terminal/command.ts';
import { jsonOption, yesOption } from '../terminal/statement.ts';
import { connect, connectIfRunning } from '../broker/connection.ts';
import { isHome, removeHomeFiles, removeSocket } from '../broker/home-files.ts';
import { stopBroker } from '../broker/restart.ts';
import { print, printJson, refuse, say, sayIfSlow } from '../terminal/output.ts';
import { receiptLine } from '../words/receipt.ts';
import { requireYes } from '../terminal/standard-input.ts';

export const command = defineCommand(
  {
    name: 'reset',
    summary: 'Revoke every sign-in and remove everything',
    options: {
      yes: {
        ...yesOption,
        more: '; and if the vault is locked or broken, go on without it: then nothing is revoked at any authorization server',
      },
      json: jsonOption('what is left'),
    },
    about:
      'Remove this home: revoke every sign-in, empty the vault, stop the broker, and delete all files. Asks first, and prints what is left.',
    notes: ['If it was interrupted, run it again: it finishes the work.'],
    examples: ['keyturn audit export > keyturn-audit.jsonl', 'keyturn reset'],
  },
  async ({ options }) => {
    const paths = homePaths();
    const connection = await connected(paths, options.yes === true);
    const ended = connection ? await endHome(connection, paths, options.yes === true) : nothing;
    const entries = await entriesLeft();
    // What the broker could not remove, and all of it where the broker is the app.
    const left = { ...ended, entries, files: await removeFiles(paths, ended.unreadable) };
    if (options.json) printJson(left);
    else for (const line of linesAbout(left)) print(line);
  },
);

/** A broker refuses a home for these; `--yes` ends the home without one. */
const broken: readonly Reason[] = [
  'broker_unreachable',
  'file_unreadable',
  'handshake_failed',
  'socket_unsafe',
];

/** Undefined if there is nothing to ask: no home, or (`isSure`) a broken one, whose broker is ended. */
async function connected(paths: HomePaths, isSure: boolean): Promise<Connection | undefined> {
  try {
    return (await connectIfRunning()) ?? (isHome(paths) ? await connect() : undefined);
  } catch (error) {
    if (!(error instanceof KeyturnError) || !broken.includes(error.reason)) throw error;
    if (!isSure) {
      const hint = `${error.hint ?? ''} To end the home as it is: keyturn reset --yes`.trim();
      throw new KeyturnError(error.reason, error.message, { ...detailsOf(error), hint });
    }
    await stopBroker();
    refuse(error);
    say('keyturn: the files go without the broker. A keychain keeps its items, and no sign-in is ended.');
    const issuers = await issuersIn(paths);
    if (issuers.length > 0)
      say(
        `keyturn: end the sign-ins there, in your account: ${issuers.map((one) => quoted(one)).join(', ')}`,
      );
    return undefined;
  }
}

/** More than that nobody ends by hand. */
const maxIssuers = 50;

/** The issuers that the document of a broken home names, whatever else is in it. */
async function issuersIn({ state }: HomePaths): Promise<string[]> {
  const text = await readPrivate(path.join(state, 'document.json')).catch(() => undefined);
  const named = String(text).matchAll(/"issuer":\s*"(https?:[^"]{1,500})"/g);
  return [...new Set([...named].flatMap(([, issuer]) => issuer ?? []))].slice(0, maxIssuers);
}

type ResetAnswer = ResultOf<'home.reset'>;
type ResetReport = ResetAnswer & {
  readonly files: readonly string[];
  readonly entries: readonly ClientEntry[];
};

/** An entry of a client's configuration that starts the bridge. */
interface ClientEntry {
  readonly entry: string;
  readonly file: string;
}

async function entriesLeft(): Promise<ClientEntry[]> {
  const { standingHere } = await import('../apps/configured-entry.ts');
  return (await standingHere()).map(({ entry, file }) => ({ entry, file }));
}

const nothing: ResetAnswer = { revoked: [], oauthClients: [], unreadable: [] };

/** The broker's part. Resolves once its process is gone. */
async function endHome(connection: Connection, paths: HomePaths, isSure: boolean): Promise<ResetAnswer> {
  try {
    const status = await call(connection, 'status', {});
    if (!isSure)
      await requireYes({
        asker: 'reset',
        hint: 'To reset without a question: keyturn reset --yes',
        question: async () => questionAbout(paths, status),
        nothing: 'Nothing was reset',
      });
    const brokerEnded = watchBroker(paths.state);
    const ended = await sayIfSlow(
      'keyturn: revoking the sign-ins at their authorization servers; one that does not answer takes half a minute…',
      call(connection, 'home.reset', { withoutVault: isSure }),
    );
    const isGone = await sayIfSlow('keyturn: waiting for the broker to stop…', brokerEnded());
    if (isGone) return ended;
    throw new KeyturnError('broker_running', `The broker (pid ${status.pid}) does not stop.`, {
      hint: 'Every sign-in is revoked and the vault is empty. End that process, then: keyturn reset --yes',
    });
  } finally {
    connection.close();
  }
}

async function questionAbout(
  paths: HomePaths,
  { signIns, apps, vault }: ResultOf<'status'>,
): Promise<string> {
  const { length: count } = await entriesLeft();
  const first =
    count === 0
      ? ''
      : `Entries of clients that start Keyturn: ${count}. Only before this, keyturn setup undo restores what they were.\n`;
  return (
    `${first}This revokes your sign-ins (${signIns}), removes the apps (${apps}), empties the vault (${vault}),\n` +
    `and removes Keyturn's files in ${paths.state} and ${paths.config}.\n` +
    'None of this can be undone. '
  );
}

/** Throws `broker_running` where somebody has started another broker meanwhile. */
async function removeFiles(paths: HomePaths, kept: readonly string[]): Promise<string[]> {
  if (!existsSync(paths.state)) return removeHomeFiles(paths, kept);
  const unlock = once(await takeLock(paths.state));
  try {
    await removeSocket(paths);
    return removeHomeFiles(paths, kept, unlock);
  } finally {
    unlock();
  }
}

function once(act: () => void): () => void {
  let isDone = false;
  return () => {
    if (!isDone) act();
    isDone = true;
  };
}

function linesAbout({
  revoked,
  oauthClients: registrations,
  unreadable,
  vaultLeft,
  files,
  entries,
}: ResetReport): string[] {
  const others = files.filter((file) => !unreadable.includes(file));
  return [
    ...revoked.map(receiptLine),
    ...registrations.map(({ issuer, clientId }) => `the client ${clientId} stays registered at ${issuer}`),
    ...unreadable.map(
      (file) => `kept, since it can't be read: ${file} (move it away before you start again)`,
    ),
    ...(vaultLeft === undefined ? [] : [`left in the vault: ${vaultLeft}`]),
    ...others.map((file) => `kept, since it is not Keyturn's: ${file}`),
    ...entries.map(({ entry, file }) => `still starts Keyturn: the entry ${quoted(entry)} in ${file}`),
  ];
}
