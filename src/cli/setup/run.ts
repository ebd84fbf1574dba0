/**
 * What `keyturn setup` does: shows what would change, asks, changes it; or restores it.
 *
 * Invariant: nothing is changed before the user approved it, at the terminal or by --yes. Nothing printed is a secret.
 */
import { detailsOf, exitCodes, KeyturnError, shellWord } from '../../base/errors.ts';
import { homePaths } from '../../base/paths.ts';
import { bridgeFetch } from '../../bridge/network.ts';
import { connectIfRunning, requireBroker } from '../broker/connection.ts';
import { ask } from '../broker/request.ts';
import { clientsHere } from '../apps/configured-entry.ts';
import type { Together } from '../apps/prompts.ts';
import { print, printJson, refuse, say } from '../terminal/output.ts';
import { confirmed, isAtTerminal } from '../terminal/standard-input.ts';
import { applySetup } from '../../setup/apply.ts';
import type { AppliedChange } from '../../setup/apply.ts';
import { backupsIn } from '../../setup/backup.ts';
import { appliedLines, hasWork, surveyJson, surveyLines } from './report.ts';
import { leaveOpenServers } from '../../setup/open-servers.ts';
import { survey, type SurveyedConfig, switchesIn } from '../../setup/survey.ts';
import { undoneLine, undoSetup } from '../../setup/undo.ts';

/** As `keyturn doctor` answers where it found something. */
const foundSomething = 9;

interface CheckChoice {
  readonly json: boolean;
  readonly project: boolean;
}

interface SetupChoice extends CheckChoice {
  readonly yes: boolean;
  /** Each entry that was switched gets its access at once. */
  readonly connects: boolean;
}

/** Shows what is left to do, and answers the exit code. */
export async function checkSetup({ json, project }: CheckChoice): Promise<number> {
  const files = await surveyed(project, false);
  if (json) printJson(surveyJson(files));
  else for (const line of surveyLines(files, true)) print(line);
  if (!json && !hasWork(files)) say('keyturn: there is nothing to switch.');
  return hasWork(files) ? foundSomething : exitCodes.ok;
}

/** Answers the exit code: with `connects` that of the first entry that got no access. */
export async function runSetup({ yes, json, project, connects }: SetupChoice): Promise<number> {
  const files = await surveyed(project, true);
  const hasSwitches = files.some((file) => switchesIn(file).length > 0);
  if (!json) for (const line of surveyLines(files, true)) print(line);
  else if (!hasSwitches) printJson(surveyJson(files));
  if (!hasSwitches && !json) say('keyturn: there is nothing to switch.');
  if (!hasSwitches) return exitCodes.ok;
  await confirm('Change these files? ', yes);
  const results = await applySetup(files, { stateFolder: homePaths().state, ask }).catch((error: unknown) => {
    throw nothingChanged(error);
  });
  if (json) printJson(results);
  else for (const line of appliedLines(results)) print(line);
  const switched = results.filter(({ outcome }) => outcome === 'switched');
  if (switched.length === 0) return exitCodes.ok;
  // Without a terminal nobody would see the question: each entry asks at its first start.
  const { open, code } =
    connects && isAtTerminal()
      ? await connectAll(switched)
      : { open: await withoutAccess(switched), code: exitCodes.ok };
  await sayWhatFollows(open);
  return code;
}

/** What setup needs of the vault comes before the first file. A file that can't be written is no refusal. */
function nothingChanged(error: unknown): unknown {
  if (!(error instanceof KeyturnError)) return error;
  return new KeyturnError(error.reason, `${error.message} No file was changed.`, detailsOf(error));
}

/** Asks servers by the network of a broker that runs, else by that of this environment. */
async function surveyed(project: boolean, mayStart: boolean): Promise<readonly SurveyedConfig[]> {
  const files = await survey({ ...clientsHere(), withVersioned: project });
  const endpoints = files.flatMap(switchesIn).map(({ endpoint }) => endpoint);
  if (endpoints.length === 0) return files;
  // Only a broker knows whether plain http is allowed.
  if (mayStart && endpoints.some((endpoint) => endpoint.startsWith('http:'))) await requireBroker();
  const running = await connectIfRunning().catch(() => undefined);
  const network = running ?? { request: async () => ({}) };
  try {
    return await leaveOpenServers(files, async (endpoint) => ({
      fetch: await bridgeFetch(network, endpoint),
      now: () => performance.now(),
      wall: Date.now,
      allowInsecureLoopback: true,
    }));
  } finally {
    running?.close();
  }
}

/** `open`: the entries that got no access. One refusal is for all entries of its server. */
async function connectAll(
  switched: readonly AppliedChange[],
): Promise<{ readonly open: readonly AppliedChange[]; readonly code: number }> {
  const { connectEntry } = await import('../apps/entry-connect.ts');
  const open: AppliedChange[] = [];
  const codes: number[] = [];
  for (const [resource, entries = []] of Map.groupBy(switched, ({ endpoint }) => endpoint)) {
    const together: Together = { names: entries.map(({ as }) => as) };
    let isRefused = false;
    for (const entry of entries) {
      try {
        // Your own refusal is remembered for each entry. What else failed would fail for each.
        if (!isRefused || together.verdict === 'deny')
          await connectEntry({ name: entry.as, resource }, together);
        else open.push(entry);
      } catch (error) {
        if (!isRefused) codes.push(refuse(error));
        isRefused = true;
        open.push(entry);
      }
    }
  }
  return { open, code: codes[0] ?? exitCodes.ok };
}

async function withoutAccess(entries: readonly AppliedChange[]): Promise<readonly AppliedChange[]> {
  const { apps } = await ask('app.list', {});
  return entries.filter(
    ({ as, endpoint }) =>
      !apps.some(
        ({ name, permissions }) =>
          name === as &&
          permissions.some(({ resource, decision }) => resource === endpoint && decision === 'allow'),
      ),
  );
}

/** `open`: entries without access. */
async function sayWhatFollows(open: readonly AppliedChange[]): Promise<void> {
  if ((await ask('status', {})).vault === 'memory')
    say('keyturn: the vault of this home is memory, so keyturn setup undo works until the broker ends.');
  if (open.length === 0) say('keyturn: restart these clients.');
  else
    say(
      'keyturn: restart these clients. An entry without access asks for it at its first start; to give it before that:',
    );
  for (const { endpoint, as } of open) say(`  keyturn connect ${shellWord(endpoint)} --as ${shellWord(as)}`);
  say('keyturn: `keyturn setup undo` restores everything.');
}

async function confirm(question: string, isSure: boolean): Promise<void> {
  if (isSure) return;
  if (!isAtTerminal()) {
    throw new KeyturnError(
      'invalid_request',
      'setup asks before it changes files, and this is no terminal.',
      {
        hint: 'To go on without a question add --yes; to look only: keyturn setup check',
      },
    );
  }
  if (!(await confirmed(question))) throw new KeyturnError('interrupted', 'No file was changed.');
}

/** Answers the exit code. */
export async function undoAll(isSure: boolean, json: boolean): Promise<number> {
  const stateFolder = homePaths().state;
  const { length } = await backupsIn(stateFolder);
  if (length === 0) say('keyturn: there is nothing to restore.');
  else await confirm(`Restore what ${length === 1 ? 'setup' : `${length} runs of setup`} changed? `, isSure);
  const { files, kept, keys } = await undoSetup({ stateFolder, ask });
  if (json) printJson(files);
  else for (const undone of files) print(undoneLine(undone));
  for (const key of keys)
    say(
      `keyturn: the API key for ${key} stays in the vault, and may be in the file again: keyturn api-key remove ${shellWord(key)}`,
    );
  for (const backup of kept)
    say(
      `keyturn: not every entry went back, so the backup stays. Run the command again later. To give up the rest: rm ${shellWord(backup)}`,
    );
  return kept.length > 0 ? foundSomething : exitCodes.ok;
}
