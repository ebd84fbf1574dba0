/** `keyturn settings`: lists the settings, prints one of them, or changes one. */
import { didYouMean } from '../../base/text/near-name.ts';
import { KeyturnError, quoted } from '../../base/errors.ts';
import type { ResultOf } from '../../ipc/protocol/methods.ts';
import { isSettingName, settingChoices, settingNames } from '../../daemon/settings/setting-choices.ts';
import { ask, askWhere } from '../broker/request.ts';
import { defineCommand, defineNoun } from '../terminal/command.ts';
import { jsonOption } from '../terminal/statement.ts';
import { print, printJson, printTable, say } from '../terminal/output.ts';

type Detail = ResultOf<'settings.get'>['details'][number];

const list = defineCommand(
  {
    name: 'settings list',
    summary: 'List the settings, their values and where each comes from',
    options: { json: jsonOption('them') },
    about: 'List the settings, their values, and where each value comes from.',
    notes: [
      'The list also names settings that were written outside Keyturn and are ignored, and says whether the Keyturn app uses this home.',
    ],
    examples: ['keyturn settings', 'keyturn settings list --json'],
  },
  async ({ options }) => {
    const { details, approver } = await ask('settings.get', {});
    if (options.json) printJson(details);
    else {
      printTable(
        ['SETTING', 'VALUE', 'DEFAULT', 'FROM'],
        details.map((one) => [one.name, shown(one.value), shown(one.default), one.source]),
      );
      for (const line of [...details.flatMap(unapprovedLine), ...approverLines[approver]]) print(line);
    }
  },
);

const get = defineCommand(
  {
    name: 'settings get',
    summary: 'Print the value of a setting',
    operands: [{ name: 'NAME', offers: settingNames }],
    options: { json: jsonOption('all about it') },
    about: 'Print the value of a setting; nothing if it has none.',
    examples: ['keyturn settings get vault'],
  },
  async ({ options, operands: [name] }) => {
    const detail = settingNamed((await ask('settings.get', {})).details, name);
    if (options.json) printJson(detail);
    else if (detail.value !== undefined) print(shown(detail.value));
  },
);

const set = defineCommand(
  {
    name: 'settings set',
    summary: 'Change a setting',
    operands: [
      { name: 'NAME', offers: settingNames },
      { name: 'VALUE', offersAfter: settingChoices },
    ],
    about: 'Change a setting. If the change does not take effect at once, a line says when it will.',
    notes: [
      'If you choose another vault while the present one is empty, a broker in the background is restarted.',
    ],
    examples: ['keyturn settings set logLevel debug'],
  },
  async ({ operands: [name, value] }) => change(name, value),
);

const unset = defineCommand(
  {
    name: 'settings unset',
    summary: 'Reset a setting to its default',
    operands: [{ name: 'NAME', offers: settingNames }],
    about: 'Reset a setting to its default.',
    examples: ['keyturn settings unset browser'],
  },
  async ({ operands: [name] }) => change(name, null),
);

export const command = defineNoun('settings', 'List and change settings', { list, get, set, unset }, 'list');

async function change(name: string, value: string | null): Promise<void> {
  const replaced = name === 'extraAuthorities' ? await fileReplaced(value) : undefined;
  const { answer, isKeyturnApp } = await askWhere('settings.set', { name, value });
  if (answer.inForce === 'now') return;
  if (await isOverridden(name)) return;
  if (name === 'vaultKey' && (await isWithoutKey())) return;
  const isVaults = name === 'vault' || name === 'vaultKey';
  // A broker in a terminal belongs to the user who runs it there.
  const isInBackground = async (): Promise<boolean> => (await ask('status', {})).log.file !== undefined;
  if (isVaults && !isKeyturnApp && (await isInBackground())) return restartWithNewVault();
  say(`keyturn: ${name} takes effect at the broker's next start: keyturn broker restart`);
  if (replaced !== undefined)
    say(`keyturn: it replaces ${quoted(replaced)}: put all authorities into one PEM file`);
}

/** The file that no longer is used after this change: one file has all the authorities. */
async function fileReplaced(value: string | null): Promise<string | undefined> {
  const detail = await detailOf('extraAuthorities');
  const former = detail?.source === 'environment' ? undefined : detail?.value;
  return value !== null && typeof former === 'string' && former !== value ? former : undefined;
}

/** A broker that the user started takes its environment before the file. Says so. */
async function isOverridden(name: string): Promise<boolean> {
  const detail = await detailOf(name);
  if (detail?.source !== 'environment') return false;
  const { variables } = await import('../../daemon/settings/settings.ts');
  const names = (isSettingName(name) && variables[name]?.join(' or ')) || 'a variable';
  say(
    `keyturn: ${name} is changed in the file, but ${names} in the broker's environment takes precedence: unset it there, and start the broker again`,
  );
  return true;
}

/** Only a sealed file has a key. Says so where the vault is another one, and isn't going to change either. */
async function isWithoutKey(): Promise<boolean> {
  const { value, written } = (await detailOf('vault')) ?? {};
  if (value === 'sealed-file' || written === 'sealed-file') return false;
  say(
    `keyturn: vaultKey has no effect with the vault ${shown(value)}. In an empty home: keyturn settings set vault sealed-file`,
  );
  return true;
}

const detailOf = async (name: string): Promise<Detail | undefined> =>
  (await ask('settings.get', {})).details.find((one) => one.name === name);

/** The former vault holds nothing, so nothing is lost. Until the restart the broker would go on with that vault. */
async function restartWithNewVault(): Promise<void> {
  const { restartWithNews } = await import('../broker/restarted.ts');
  for (const line of (await restartWithNews()).lines) say(line);
}

function settingNamed(details: readonly Detail[], name: string): Detail {
  const detail = details.find((one) => one.name === name);
  if (detail) return detail;
  const names = details.map((one) => one.name);
  throw new KeyturnError('not_found', `There is no setting ${quoted(name)}.`, {
    hint: `${didYouMean(name, names)}\`keyturn settings\` lists them.`,
  });
}

/** Who grants new access in this home. */
const approverLines: Readonly<Record<ResultOf<'settings.get'>['approver'], readonly string[]>> = {
  unknown: ['Whether the Keyturn app approves access here is unknown until the vault is used.'],
  command: [],
  app: ['Only the Keyturn app grants new access here, unless its Settings allow background brokers to.'],
  appClosed: ['Only the Keyturn app grants new access here, and it isn’t running. Start it.'],
  either: ['Background brokers may grant new access here too.'],
};

function unapprovedLine({ name, written, isUnapproved }: Detail): string[] {
  if (!isUnapproved) return [];
  return [`${name}: ${shown(written)} was written outside Keyturn and is ignored.`];
}

function shown(value: Detail['value']): string {
  return value === undefined || value === null ? '-' : String(value);
}
