/**
 * What `keyturn setup` does: shows what would change, asks, changes it; or restores it.
 *
 * Invariant: nothing is changed before the user approved it, at the terminal or by --yes. Nothing printed is a secret.
 */
import { detailsOf, exitCodes, KeyturnError, quoted, shellWord } from '../../base/errors.ts';
import { homePaths } from '../../base/paths.ts';
import { bridgeFetch } from '../../bridge/network.ts';
import { connectIfRunning, requireBroker } from '../broker/connection.ts';
import { ask, call } from '../broker/request.ts';
import { connectCommand } from '../apps/pairing.ts';
import { clientsHere, standingHere } from '../apps/configured-entry.ts';
import { print, printJson, say } from '../terminal/output.ts';
import { confirmed, isAtTerminal } from '../terminal/standard-input.ts';
import { type AppliedChange, applySetup } from '../../setup/apply.ts';
import { type BridgeEntry, connectAll, earlierWithoutAccess, withoutAccess } from './access.ts';
import { appliedLines, hasExposed, hasWork, surveyJson, surveyLines } from './report.ts';
import { recordedSettings } from '../doctor/home-checks.ts';
import { readExtraAuthorities } from '../../daemon/system/authorities.ts';
import { handedNetwork } from '../../daemon/system/handed-network.ts';
import { leaveOpenServers } from '../../setup/open-servers.ts';
import { leaveOtherApiKeys } from '../../setup/other-api-keys.ts';
import type { Switch } from '../../setup/plan.ts';
import { survey, type SurveyedConfig, switchesIn } from '../../setup/survey.ts';
import { openedBackups, undoneLine, undoSetup } from '../../setup/undo.ts';

/** As `keyturn doctor` answers where it found something. */
const foundSomething = 9;

interface CheckChoice {
  readonly json: boolean;
  readonly project: boolean;
}

interface SetupChoice extends CheckChoice {
  readonly yes: boolean;
  /** Each entry that starts the bridge gets its access at once. */
  readonly connects: boolean;
}

/** Shows what is left to do, and answers the exit code. */
export async function checkSetup({ json, project }: CheckChoice): Promise<number> {
  const files = await surveyed(project, false);
  if (json) printJson(surveyJson(files));
  else for (const line of surveyLines(files)) print(line);
  if (!json && !hasWork(files)) say('keyturn: there is nothing to switch.');
  sayClosed(await earlierWithoutAccess(files, false));
  return hasWork(files) ? foundSomething : exitCodes.ok;
}

/** Answers the exit code: that of the first entry that got no access, else whether something is left to do. */
export async function runSetup({ yes, json, project, connects }: SetupChoice): Promise<number> {
  const files = await surveyed(project, true);
  const hasSwitches = files.some((file) => switchesIn(file).length > 0);
  // Before you read the changes: without the vault none of them can be made.
  if (hasSwitches && (yes || isAtTerminal())) await unchanged(ask('backup.seal', {}));
  if (!json) for (const line of surveyLines(files)) print(line);
  else if (!hasSwitches) printJson(surveyJson(files));
  if (!hasSwitches && !json) say('keyturn: there is nothing to switch.');
  const results = hasSwitches ? await switchAll(files, { yes, json }) : [];
  if (!results) return foundSomething;
  const switched = results.filter(({ outcome }) => outcome === 'switched');
  // Without a terminal nobody would see the question: each entry asks at its first start.
  const isConnecting = connects && isAtTerminal();
  const earlier = await earlierWithoutAccess(files, isConnecting);
  const entries = [...switched, ...earlier.filter(({ isDenied }) => isConnecting && !isDenied)];
  const { open, code } = isConnecting
    ? await saidIfInterrupted(switched.length > 0, connectAll(entries))
    : { open: await withoutAccess(switched), code: exitCodes.ok };
  const closed = [...open, ...earlier.filter((entry) => !entries.includes(entry))];
  if (entries.length > 0) await sayWhatFollows(closed);
  else sayClosed(closed);
  if (code !== exitCodes.ok) return code;
  const isLeft = results.length > switched.length || hasExposed(files) || (isConnecting && closed.length > 0);
  return isLeft ? foundSomething : exitCodes.ok;
}

/** An interrupt ends the process (cli/broker/connection.ts). What was changed before stays. */
async function saidIfInterrupted<T>(hasSwitched: boolean, work: Promise<T>): Promise<T> {
  const onExit = (code: number): void => {
    if (code === exitCodes.interrupted && hasSwitched)
      say('keyturn: the files are switched already. To finish: keyturn setup');
  };
  process.once('exit', onExit);
  return work.finally(() => process.off('exit', onExit));
}

/** Undefined if you refused. */
async function switchAll(
  files: readonly SurveyedConfig[],
  { yes, json }: Pick<SetupChoice, 'yes' | 'json'>,
): Promise<readonly AppliedChange[] | undefined> {
  if (!(await confirm('Change these files? ', yes, json ? surveyLines(files) : []))) return undefined;
  const results = await unchanged(applySetup(files, { stateFolder: homePaths().state, ask }));
  if (json) printJson(results);
  else for (const line of appliedLines(results)) print(line);
  return results;
}

/** What setup needs of the vault comes before the first file. A file that can't be written is no refusal. */
async function unchanged<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof KeyturnError)) throw error;
    const { reason, message } = error;
    const [first = '', ...more] = message.split('\n');
    const sentence = `${first}${/[.!?]"?$/.test(first) ? '' : '.'} No file was changed.`;
    throw new KeyturnError(reason, [sentence, ...more].join('\n'), detailsOf(error));
  }
}

/** Asks servers by the network of a broker that runs, else by that of the recorded settings. */
async function surveyed(project: boolean, mayStart: boolean): Promise<readonly SurveyedConfig[]> {
  const files = await survey({ ...clientsHere(), withVersioned: project });
  const switches = files.flatMap(switchesIn);
  if (switches.length === 0) return files;
  // Only a broker knows its API keys, and whether plain http is allowed. Where none runs, the next one takes what is recorded.
  const recorded = recordedSettings(homePaths(), process.env).settings;
  const isNeeded = ({ endpoint, key }: Switch): boolean =>
    key !== undefined || (recorded.insecureLoopback && endpoint.startsWith('http:'));
  if (mayStart && switches.some(isNeeded)) await requireBroker();
  const running = await connectIfRunning().catch(() => undefined);
  const { extraAuthorities: file } = recorded;
  const pem = (): string => (file === undefined ? '' : readExtraAuthorities(file).pem);
  const network = running ?? { request: async () => handedNetwork({ ...recorded, authorities: pem() }) };
  // It counts only for a new home, where it is what is recorded.
  const env = { ...process.env, NODE_EXTRA_CA_CERTS: undefined };
  const allowInsecureLoopback = running !== undefined || recorded.insecureLoopback;
  try {
    const closed = await leaveOpenServers(files, async (endpoint) => ({
      fetch: await bridgeFetch(network, endpoint, env),
      now: () => performance.now(),
      wall: Date.now,
      allowInsecureLoopback,
    }));
    return await leaveOtherApiKeys(
      closed,
      running && (async (method, params) => call(running, method, params)),
    );
  } finally {
    running?.close();
  }
}

async function sayWhatFollows(closed: readonly BridgeEntry[]): Promise<void> {
  if ((await ask('status', {})).vault === 'memory')
    say('keyturn: the vault of this home is memory, so keyturn setup undo works until the broker ends.');
  say('keyturn: restart these clients.');
  sayClosed(closed);
  say('keyturn: `keyturn setup undo` restores everything.');
}

/** `closed`: entries without access. */
function sayClosed(closed: readonly BridgeEntry[]): void {
  if (closed.length > 0)
    say(
      'keyturn: an entry without access asks for it when it starts, unless you denied it or signed out there. To give it now:',
    );
  for (const { endpoint: resource, as: name, account } of closed)
    say(`  ${connectCommand({ name, resource, account })}`);
}

/** `lines`: what the question is about, unless that is shown already. */
async function confirm(question: string, isSure: boolean, lines: readonly string[]): Promise<boolean> {
  if (isSure) return true;
  if (!isAtTerminal()) {
    throw new KeyturnError(
      'invalid_request',
      'setup asks before it changes files, and this is no terminal.',
      { hint: 'To go on without a question add --yes; to look only: keyturn setup check' },
    );
  }
  for (const line of lines) say(line);
  const isYes = await confirmed(question);
  if (!isYes) say('keyturn: no file was changed.');
  return isYes;
}

/** Answers the exit code. */
export async function undoAll(isSure: boolean, json: boolean): Promise<number> {
  const backups = await openedBackups({ stateFolder: homePaths().state, ask });
  const lines = backups
    .flatMap((backup) => backup.files)
    .map(({ file, entries }) => `${file}: ${entries.map(({ way }) => way.at(-1)).join(', ')}`);
  if (lines.length === 0) say('keyturn: there is nothing to restore.');
  else if (!(await confirm('Restore these? ', isSure, lines))) return foundSomething;
  const { files, kept, keys } = await undoSetup(backups);
  if (json) printJson(files);
  else for (const undone of files) print(undoneLine(undone));
  for (const key of keys)
    say(
      `keyturn: the API key for ${key} stays in the vault, and the file may have the one from before setup again: keyturn api-key remove ${shellWord(key)}`,
    );
  for (const { entry, file } of await standingHere())
    say(`keyturn: the entry ${quoted(entry)} in ${file} still starts Keyturn. Change it there.`);
  for (const backup of kept)
    say(
      `keyturn: not every entry went back, so the backup stays. Repair a file that can't be read, then run the command again. To give up the rest: rm ${shellWord(backup)}`,
    );
  return kept.length > 0 ? foundSomething : exitCodes.ok;
}
