/**
 * What `keyturn doctor` can find, in the order of importance.
 *
 * Invariant: a kind's `title` holds nothing of this machine, so that a report may be shown to anybody. What does, is in
 * `what` and `fix` of a finding, for the user here.
 */
import { KeyturnError } from '../../base/errors.ts';
import { systemCode } from '../../base/system-error.ts';

/** `problem`: something doesn't work, or isn't safe. `warning`: it may fail later. `note`: good to know. */
export type Level = 'problem' | 'warning' | 'note';

interface Kind {
  readonly level: Level;
  readonly title: string;
}

const problem = (title: string): Kind => ({ level: 'problem', title });
const warning = (title: string): Kind => ({ level: 'warning', title });
const note = (title: string): Kind => ({ level: 'note', title });

export const kinds = {
  'home.unknown': problem('The environment names no folder for the home.'),
  'folder.unsafe': problem('A folder of the home is open to others, of another kind, or not yours.'),
  'socket.unsafe': problem('The socket or its folder is open to others, of another kind, or not yours.'),
  'file.unsafe': problem('A file of the home is open to others, of another kind, or not yours.'),
  'home.damaged': problem('A file of the home can not be read as what it is.'),
  'disk.readOnly': problem('A folder of the home can not be written.'),
  'disk.full': problem('The disk of the home is full.'),
  'broker.unproven': problem('What answers on the socket did not prove to be the broker, or refuses.'),
  'broker.silent': problem('A broker holds the home and does not answer.'),
  'forward.unusable': problem('KEYTURN_SOCKET names no socket of a forward on which somebody listens.'),
  'home.mismatch': problem('The files and the vault of this home do not belong together.'),
  'vault.trouble': problem('The vault can not be used.'),
  'keychain.absent': problem('There is no keychain in this session.'),
  'keychain.module': problem('The module for the keychain is not installed.'),
  'keychain.volatile': problem('The keychain forgets at the next logout what it is given.'),
  'records.unreadable': problem('Records of the broker can not be read.'),
  'audit.failing': problem('The audit log can not be written.'),
  'log.failing': problem('The log can not be written.'),
  'authorities.invalid': problem('The file of further certificate authorities can not be used.'),
  'browser.missing': problem('The browser command is not there.'),
  'clock.behind': problem('The clock of this machine is behind.'),
  'clock.server': problem('The clock of an authorization server is far from ours.'),
  'entry.gone': problem('An entry of a client starts a Keyturn that is gone.'),
  'oauthClient.rejected': problem(
    'An authorization server no longer accepts the client that is registered there.',
  ),
  'proxy.closed': problem('A proxy serves nobody.'),
  'signIn.ended': problem('A sign-in that apps use has ended.'),
  'versions.differ': problem('Broker and command are of different versions.'),
  'vault.typed': warning('The vault was opened by hand, not by the place that vaultKey names.'),
  'key.unusable': warning('The app key of a paired app can’t be used.'),
  'runtime.unusable': warning('XDG_RUNTIME_DIR names no folder of this user alone.'),
  'disk.low': warning('The disk of the home has little room.'),
  'disk.volatile': warning('The home lies in memory, and is lost when this machine restarts.'),
  'settings.waiting': warning('Settings were changed outside of Keyturn and wait for an answer.'),
  'proxy.ignored': warning('This terminal names a proxy that the broker does not use.'),
  'authorities.ignored': warning('This terminal names certificate authorities that the broker does not use.'),
  'authorities.expired': warning('The certificates of the further authorities are out of date.'),
  'permission.ending': warning('A permission ends within three days.'),
  'process.unshielded': warning('The broker could not shield its process completely.'),
  'oauthClient.replaced': note('An OAuth client is not used any more.'),
  'access.paused': note('All access is paused.'),
  'vault.locked': note('The vault is locked.'),
  'keychain.locked': note('The keychain is locked.'),
  'keychain.asleep': note('The keychain does not run yet. Its first use starts it.'),
  'authorities.partlyExpired': note('Some certificates of the further authorities are out of date.'),
  'app.closed': note('Only the Keyturn app grants new access here, and it isn’t running.'),
  'exceptions.set': note('Some servers have exceptions.'),
  'forward.used': note('KEYTURN_SOCKET names a forward: the broker runs elsewhere.'),
  'desktop.other': note('The broker opens pages at another desktop session than this one.'),
  'desktop.absent': note('There is no desktop session in which a browser could open.'),
  'entry.found': note('Entries of clients start Keyturn.'),
  'broker.absent': note('No broker runs.'),
} as const satisfies Record<string, Kind>;

export type FindingKind = keyof typeof kinds;

export interface Finding {
  readonly kind: FindingKind;
  /** What was found, with the names of this machine. */
  readonly what: string;
  /** The command, or what else to do. */
  readonly fix: string;
}

/** One, as a list: checks put theirs together. */
export const found = (kind: FindingKind, what: string, fix: string): Finding[] => [{ kind, what, fix }];

/** The same, only if it is so. */
export const foundIf = (isSo: boolean, kind: FindingKind, what: string, fix: string): Finding[] =>
  isSo ? found(kind, what, fix) : [];

export const levelOf = ({ kind }: Finding): Level => kinds[kind].level;

const order = Object.keys(kinds);

/** The most important first; equal ones as they were found. */
export function byImportance(findings: readonly Finding[]): Finding[] {
  return findings.toSorted((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind));
}

/** What a check that already exists refuses, as a finding. Only its own words are repeated. */
export function findingOf(kind: FindingKind, error: unknown): Finding {
  if (!(error instanceof KeyturnError))
    return { kind, what: `${kinds[kind].title} (${systemCode(error)})`, fix: 'Look at it by hand.' };
  const { message, hint = 'The message says what to look at.' } = error;
  return { kind, what: message, fix: hint };
}

/** Runs a check; its refusal is the finding. */
export async function refusalOf(kind: FindingKind, check: () => unknown): Promise<Finding[]> {
  try {
    await check();
    return [];
  } catch (error) {
    return [findingOf(kind, error)];
  }
}
