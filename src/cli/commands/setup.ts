/** `keyturn setup`: switches the entries of MCP clients over to the bridge, and back (cli/setup/run.ts). */
import { defineCommand, defineNoun } from '../terminal/command.ts';
import { jsonOption, yesOption } from '../terminal/statement.ts';

const project = {
  type: 'boolean',
  summary: 'of this project’s files, change those under version control too',
} as const;

const run = defineCommand(
  {
    name: 'setup',
    summary: 'Switch the MCP clients on this computer over to Keyturn',
    options: {
      project,
      'no-connect': {
        type: 'boolean',
        summary: "don't pair, allow or sign in now",
        more: '; as without a terminal',
      },
      yes: yesOption,
      json: jsonOption('the result'),
    },
    about:
      'Find the configurations of MCP clients, show the entries in them that sign in themselves or hold a secret, ask, and let them start `keyturn bridge` instead. API keys move into the vault.',
    notes: [
      'Looks at your files and at those of the project in this folder. docs/guides/connect-clients.md says what each client has.',
      'The vault seals the former text of each file until `keyturn setup undo`. Run that before `keyturn reset`.',
      'Entries of an earlier run that have no access get it too, unless you denied it.',
    ],
    exitCodes: {
      9: 'you refused or a change failed, a secret stays in plain text, or (unless --no-connect) an entry has no access (refused now: that error’s code)',
    },
    examples: ['keyturn setup', 'keyturn setup --no-connect --yes'],
  },
  async ({ options: { project: withProject = false, yes = false, json = false, ...options } }) => {
    // Later: --help and completion load no package.
    const { runSetup } = await import('../setup/run.ts');
    return runSetup({ yes, json, project: withProject, connects: options['no-connect'] !== true });
  },
);

const check = defineCommand(
  {
    name: 'setup check',
    summary: 'Show what setup would change, and change nothing',
    options: { project, json: jsonOption('the result') },
    about:
      'Show which entries `keyturn setup` would switch, and which hold a secret in plain text. Changes nothing.',
    exitCodes: { 9: 'there is an entry to switch, or a secret in plain text' },
    examples: ['keyturn setup check'],
  },
  async ({ options: { project: withProject = false, json = false } }) => {
    const { checkSetup } = await import('../setup/run.ts');
    return checkSetup({ json, project: withProject });
  },
);

const undo = defineCommand(
  {
    name: 'setup undo',
    summary: 'Restore what setup changed',
    options: { yes: yesOption, json: jsonOption('the result') },
    about: 'Restore the entries that `keyturn setup` changed. An entry that has changed or is gone stays so.',
    exitCodes: { 9: 'an entry did not go back' },
    examples: ['keyturn setup undo'],
  },
  async ({ options: { yes = false, json = false } }) => {
    const { undoAll } = await import('../setup/run.ts');
    return undoAll(yes, json);
  },
);

export const command = defineNoun(
  'setup',
  'Switch the MCP clients on this computer over to Keyturn',
  { check, undo },
  run,
);
