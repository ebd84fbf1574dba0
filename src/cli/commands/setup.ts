/**
 * `keyturn setup`: switches the entries of local clients over to the bridge, and back.
 *
 * Invariant: nothing is changed before the person said yes, at the terminal or by --yes. Nothing printed is a secret.
 */
import { homedir } from 'node:os';
import { exitCodes, KeyturnError, shellWord } from '../../base/errors.ts';
import { homePaths } from '../../base/paths.ts';
import { ask } from '../broker/request.ts';
import { absoluteCommand } from '../programs/configured-entry.ts';
import { applySetup } from '../setup/apply.ts';
import { backupsIn, openBackup, removeBackup } from '../setup/backup.ts';
import { appliedLines, hasWork, surveyJson, surveyLines, undoneLine } from '../setup/report.ts';
import { survey, switchesIn } from '../setup/survey.ts';
import { type Undone, undoFile } from '../setup/undo.ts';
import { UsageError } from '../terminal/arguments.ts';
import { defineCommand } from '../terminal/command.ts';
import { print, printJson, say } from '../terminal/output.ts';
import { confirmed, isAtTerminal } from '../terminal/standard-input.ts';

/** As `keyturn doctor` answers where it found something. */
const foundSomething = 9;

export const command = defineCommand(
  {
    name: 'setup',
    summary: 'switch the clients on this machine over to Keyturn',
    operands: [],
    usage: [
      'setup [--project] [--yes] [--json]',
      'setup --dry-run|--check [--project] [--json]',
      'setup --undo [--yes] [--json]',
    ],
    options: {
      project: {
        type: 'boolean',
        summary: 'change files of this project that are under version control too',
      },
      'dry-run': { type: 'boolean', summary: 'show what would change, and change nothing' },
      check: {
        type: 'boolean',
        summary: 'tell by the exit code whether anything is left to switch',
      },
      undo: { type: 'boolean', summary: 'put back what setup changed' },
      yes: { type: 'boolean', summary: "don't ask" },
      json: { type: 'boolean', summary: 'print it as JSON; goes with --yes where something is changed' },
    },
    about:
      'Find the configuration of local clients, show which entries reach a server directly, by mcp-remote or with a secret in the open, and after a yes let them start `keyturn bridge` instead. API keys move into the vault.',
    notes: [
      'Looks at the files of the user and at those of the project in this folder. What each client has, docs/setup.md says.',
      'What the files said before is kept in the home, sealed by the vault, until --undo. Run --undo before `keyturn reset`, which ends the backups too.',
    ],
    exitCodes: { 9: 'with --check: there is an entry to switch, or a secret in the open' },
    examples: ['keyturn setup --dry-run', 'keyturn setup', 'keyturn setup --undo'],
  },
  async ({ options }) => {
    const { check, undo, yes = false, json = false, project = false } = options;
    const isDry = options['dry-run'] === true;
    if ([check, undo, isDry].filter(Boolean).length > 1)
      throw new UsageError('--check, --dry-run and --undo don’t go together');
    if (undo) return undoAll(yes, json);
    const files = await survey({
      home: process.env['HOME'] ?? homedir(),
      project: process.cwd(),
      own: absoluteCommand(),
      withVersioned: project,
    });
    const isChanging = !check && !isDry;
    const hasSwitches = files.some((file) => switchesIn(file).length > 0);
    if (!json) for (const line of surveyLines(files, !check)) print(line);
    else if (!isChanging || !hasSwitches) printJson(surveyJson(files));
    if (check) return hasWork(files) ? foundSomething : exitCodes.ok;
    if (!hasSwitches && !json) say('keyturn: there is nothing to switch.');
    if (isDry || !hasSwitches) return exitCodes.ok;
    await confirm('Change these files? ', yes);
    const results = await applySetup(files);
    if (json) printJson(results);
    else for (const line of appliedLines(results)) print(line);
    if ((await ask('status', {})).vault === 'memory')
      say('keyturn: the vault of this home is memory, so --undo works until the broker ends.');
    if (results.some(({ outcome }) => outcome === 'switched'))
      say(
        'keyturn: restart these clients. Each asks for its access at its first start; --undo puts all of it back.',
      );
    return exitCodes.ok;
  },
);

async function confirm(question: string, isSure: boolean): Promise<void> {
  if (isSure) return;
  if (!isAtTerminal()) {
    throw new KeyturnError(
      'invalid_request',
      'setup asks before it changes files, and nobody is here to ask.',
      {
        hint: 'To go on without a question add --yes; to look only: keyturn setup --dry-run',
      },
    );
  }
  if (!(await confirmed(question))) throw new KeyturnError('interrupted', 'No file was changed.');
}

async function undoAll(isSure: boolean, json: boolean): Promise<number> {
  const backups = (await backupsIn(homePaths().state)).toReversed();
  if (backups.length === 0) say('keyturn: there is nothing to put back.');
  else await confirm(`Put back what ${backups.length} run(s) of setup changed? `, isSure);
  const all: Undone[] = [];
  const keys = new Set<string>();
  for (const file of backups) {
    const backup = await openBackup(file, async (sealedKey) => (await ask('backup.open', { sealedKey })).key);
    const undone: Undone[] = [];
    for (const changed of backup.files) undone.push(await undoFile(changed));
    for (const key of backup.keys) keys.add(key);
    all.push(...undone);
    const isOver = undone.every(({ outcome }) => outcome !== 'unreadable' && outcome !== 'changing');
    if (isOver) await removeBackup(file);
    // An older backup says what the files were before this one.
    else break;
  }
  if (json) printJson(all);
  else for (const undone of all) print(undoneLine(undone));
  for (const key of keys)
    say(
      `keyturn: the API key for ${key} stays in the vault, and may stand in the file again: keyturn key remove ${shellWord(key)}`,
    );
  return exitCodes.ok;
}
