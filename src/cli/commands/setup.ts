/** `keyturn setup`: switches the entries of local clients over to the bridge, and back (cli/setup/run.ts). */
import { UsageError } from '../terminal/arguments.ts';
import { defineCommand } from '../terminal/command.ts';

export const command = defineCommand(
  {
    name: 'setup',
    summary: 'switch the clients on this machine over to Keyturn',
    operands: [],
    usage: [
      'setup [--project] [--connect] [--yes] [--json]',
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
      connect: { type: 'boolean', summary: 'then pair, allow and sign in each entry that was switched' },
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
    examples: ['keyturn setup --dry-run', 'keyturn setup --connect', 'keyturn setup --undo'],
  },
  async ({ options }) => {
    const {
      check = false,
      undo = false,
      yes = false,
      json = false,
      project = false,
      connect = false,
    } = options;
    const isDry = options['dry-run'] === true;
    if ([check, undo, isDry].filter(Boolean).length > 1)
      throw new UsageError('--check, --dry-run and --undo don’t go together');
    if (connect && (check || undo || isDry)) throw new UsageError('--connect goes with a change only');
    // Later: --help and completion load no package.
    const { runSetup, undoAll } = await import('../setup/run.ts');
    return undo ? undoAll(yes, json) : runSetup({ check, isDry, yes, json, project, connects: connect });
  },
);
