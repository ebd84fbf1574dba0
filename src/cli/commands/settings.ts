/** `keyturn settings`: shows the settings, one of them, or changes one. */
import { didYouMean } from '../../base/near-name.ts';
import { exitCodes, KeyturnError, quoted } from '../../base/errors.ts';
import { settingChoices } from '../../daemon/settings/setting-choices.ts';
import { UsageError } from '../terminal/arguments.ts';
import { ask, askWhere } from '../broker/request.ts';
import { defineCommand } from '../terminal/command.ts';
import { print, printJson, printTable, say } from '../terminal/output.ts';

type Detail = Awaited<ReturnType<typeof ask<'settings.get'>>>['details'][number];

const settingNames = Object.keys(settingChoices);

export const command = defineCommand(
  {
    name: 'settings',
    summary: 'show the settings, or change one',
    operands: [
      { name: 'NAME', optional: true, offers: settingNames },
      { name: 'VALUE', optional: true, offersAfter: settingChoices },
    ],
    options: {
      unset: { type: 'string', value: 'NAME', offers: settingNames, summary: 'back to its default' },
      json: { type: 'boolean', summary: 'print them as JSON' },
    },
    about: 'Show the settings, or one of them; with a VALUE, change it.',
    notes: [
      'If a change does not take effect at once, a line says when it will. The list also says which settings were written outside Keyturn and do not count, and whether this is the home of a desk. If you choose another vault while the present one is empty, a broker in the background is restarted.',
    ],
    examples: ['keyturn settings logLevel debug', 'keyturn settings --unset browser'],
  },
  async ({ options, operands: [name, value] }) => {
    if (options.unset !== undefined) {
      if (name !== undefined) throw new UsageError('--unset NAME goes without another operand');
      return change(options.unset, null);
    }
    if (name !== undefined && value !== undefined) return change(name, value);
    const { details, desk } = await ask('settings.get', {});
    if (name !== undefined) showOne(settingNamed(details, name), options.json === true);
    else if (options.json) printJson(details);
    else {
      printTable(['SETTING', 'VALUE', 'UNLESS SET', 'FROM'], details.map(row));
      for (const line of [...details.flatMap(unconfirmedLine), ...deskLines[desk]]) print(line);
    }
    return exitCodes.ok;
  },
);

async function change(name: string, value: string | null): Promise<number> {
  const { answer, isDesk } = await askWhere('settings.set', { name, value });
  if (answer.inForce === 'now') return exitCodes.ok;
  const isVaults = name === 'vault' || name === 'vaultKey';
  if (isVaults && !isDesk && (await isInBackground())) return restartWithNewVault();
  say(`keyturn: ${name} is in force from the broker's next start: keyturn daemon --restart`);
  return exitCodes.ok;
}

/** A broker in a terminal belongs to the person who runs it there. */
async function isInBackground(): Promise<boolean> {
  const { log } = await ask('status', {});
  return log.file !== undefined;
}

/** The former vault holds nothing, so nothing is lost. Until the restart the broker would go on with that vault. */
async function restartWithNewVault(): Promise<number> {
  const { restartBroker } = await import('../broker/restart.ts');
  await restartBroker();
  const { vault, vaultKey, vaultSource, vaultState } = await ask('status', {});
  if (vaultSource && !vaultSource.isUsed) {
    const { what = 'the vault is locked', hint } = vaultState;
    say(`keyturn: the broker was restarted, with the vault ${vault}; ${what}`);
    if (hint !== undefined) say(`hint: ${hint}`);
    return exitCodes.ok;
  }
  const isClosed = vault === 'sealed-file' && vaultKey === 'passphrase' && vaultState.state !== 'open';
  const next = isClosed
    ? `; ${vaultState.state === 'new' ? 'choose its passphrase' : 'open it'}: keyturn unlock`
    : '';
  say(`keyturn: the broker was restarted, with the vault ${vault}${next}`);
  return exitCodes.ok;
}

function settingNamed(details: readonly Detail[], name: string): Detail {
  const detail = details.find((one) => one.name === name);
  if (detail) return detail;
  const names = details.map((one) => one.name);
  throw new KeyturnError('not_found', `There is no setting ${quoted(name)}.`, {
    hint: `${didYouMean(name, names)}\`keyturn settings\` lists them.`,
  });
}

/** Nothing for one that has no value. */
function showOne(detail: Detail, isJson: boolean): void {
  if (isJson) printJson(detail);
  else if (detail.value !== undefined) print(shown(detail.value));
}

type Desk = Awaited<ReturnType<typeof ask<'settings.get'>>>['desk'];

/** What the home is to a broker without a window. */
const deskLines: Readonly<Record<Desk, readonly string[]>> = {
  unknown: ['Whether this is a desk’s home is not known yet: the vault was not needed since the start.'],
  none: [],
  here: [
    'This is a desk’s home: a broker without a window gives nobody more here. The app’s Settings can release it.',
  ],
  closed: ['This is a desk’s home, and its app does not run: nobody can get more. Start the app.'],
  released: ['This desk’s home is released: a broker without a window acts here as elsewhere.'],
};

function unconfirmedLine({ name, written, isUnconfirmed }: Detail): string[] {
  if (!isUnconfirmed) return [];
  return [`${name}: ${shown(written)} was written outside Keyturn and does not count.`];
}

function row(detail: Detail): string[] {
  return [detail.name, shown(detail.value), shown(detail.default), detail.source];
}

function shown(value: Detail['value']): string {
  return value === undefined || value === null ? '-' : String(value);
}
