/** `keyturn status`: the broker of this home. Starts none. */
import { waitingRows } from '../words/audit-rows.ts';
import { closedProxies } from '../words/closed-proxies.ts';
import { Unreachable } from '../../base/errors.ts';
import { homePaths } from '../../base/paths.ts';
import { placeOf } from '../../daemon/vault/key-source.ts';
import type { ResultOf } from '../../ipc/protocol/methods.ts';
import { call } from '../broker/request.ts';
import { defineCommand } from '../terminal/command.ts';
import { jsonOption } from '../terminal/statement.ts';
import { connectIfRunning } from '../broker/connection.ts';
import { hostOf, pauseEnd, print, printJson, when } from '../terminal/output.ts';

export const command = defineCommand(
  {
    name: 'status',
    summary: 'Show the state of the broker',
    options: { json: jsonOption('it') },
    about:
      'Show the broker of this home: what runs, with which settings, what is wrong. Starts none; exits with 8 if none runs.',
    examples: ['keyturn status --json'],
  },
  async ({ options }) => {
    const connection = await connectIfRunning();
    if (!connection) {
      throw new Unreachable('broker_unreachable', `No broker runs for the home in ${homePaths().state}.`, {
        hint: 'The next `keyturn token` or `keyturn login` starts one.',
      });
    }
    try {
      const status = await call(connection, 'status', {});
      if (options.json) printJson(status);
      else for (const line of lines(status)) print(line);
    } finally {
      connection.close();
    }
  },
);

type Status = ResultOf<'status'>;

function lines(status: Status): string[] {
  const { audit } = status;
  return [
    `keyturn ${status.version}, pid ${status.pid}`,
    `home       ${status.home}`,
    `vault      ${status.vault}${vaultNote(status)}`,
    ...vaultLines(status.vaultState),
    ...(status.pause ? [`PAUSED     all access, ${pauseEnd(status.pause)}`] : []),
    `browser    ${status.browser ?? "the system's own"}`,
    ...Object.entries(status.settings)
      .filter(([name]) => !['vault', 'browser', 'insecureLoopback'].includes(name))
      .map(([name, value]) => `setting    ${name} = ${String(value)}`),
    ...homeLines(status.homeState),
    ...(status.insecureLoopback ? ['INSECURE   http is accepted on loopback hosts (for development)'] : []),
    `sign-ins   ${status.signIns}`,
    `API keys   ${status.apiKeys}`,
    `apps       ${status.apps}`,
    ...proxyLines(status),
    ...(status.forwards ? [`forwards   ${status.forwards} (keyturn forward)`] : []),
    `log        ${status.log.file ?? 'the terminal it was started in'}, level ${status.log.level}${status.log.ok ? '' : ' (CAN NOT BE WRITTEN)'}`,
    ...(audit ? [`AUDIT LOG  ${waitingRows(audit)}`, ...hintLines(audit.hint)] : []),
    `requests   ${status.requests}${status.requests > 0 ? ' (keyturn request)' : ''}`,
    ...exceptionLines(status),
    ...status.clocks.map(
      ({ issuer, ahead }) =>
        `CLOCK      ${issuer} is ${Math.abs(ahead)} s ${ahead > 0 ? 'ahead of' : 'behind'} this machine`,
    ),
    ...status.unshielded.map((fact) => `UNSHIELDED ${fact}`),
    ...status.unreadable.flatMap(({ why, hint = 'It was left as it is.' }) => [
      `UNREADABLE ${why}`,
      ...hintLines(hint),
    ]),
  ];
}

const hintLines = (hint: string | undefined): string[] =>
  hint === undefined ? [] : [`           hint: ${hint}`];

/** A proxy that is closed serves nobody. */
function proxyLines({ proxies }: Status): string[] {
  if (proxies.length === 0) return [];
  return [
    `proxies    ${proxies.length} (keyturn proxy)`,
    ...closedProxies(proxies).flatMap(({ what, fix }) => [`PROXY      ${what}`, ...hintLines(fix)]),
  ];
}

/** A private address is confirmed for a host, at any port and path: its line shows the host as it is typed. */
function exceptionLines({ exceptions }: Status): string[] {
  return exceptions.flatMap(({ server, names }) => {
    const rules = names.filter((name) => name !== 'private-address');
    return [
      ...(rules.length > 0 ? [`EXCEPTION  ${server}: ${rules.join(', ')}`] : []),
      ...(rules.length < names.length ? [`EXCEPTION  ${hostOf(server)}: private-address`] : []),
    ];
  });
}

const approverWords: Readonly<Record<Status['homeState']['approver'], readonly string[]>> = {
  unknown: [],
  command: [],
  app: [],
  appClosed: [
    'APP        the Keyturn app isn’t running: apps keep their access, and no new access is granted',
  ],
  either: ['app        background brokers may grant access too'],
};

function homeLines({ state, approver, isWaiting, why = '', differing }: Status['homeState']): string[] {
  const isOnlyApp = approver === 'app' || approver === 'appClosed';
  return [
    ...(state === 'mismatched' ? [`MISMATCH   ${why}`] : approverWords[approver]),
    ...(isWaiting ? ['WAITING    nothing goes out until you answer about the settings below'] : []),
    ...differing.map(({ name, value, inEffect, isContent }) => {
      const what = isContent ? `the file ${String(value)} has another content` : `= ${plain(value)}`;
      const outcome = isOnlyApp
        ? `is ignored; ${plain(isContent ? undefined : inEffect)} is in effect`
        : 'changed, and in effect';
      return `WRITTEN    ${name} ${what}: ${outcome}`;
    }),
  ];
}

type SettingValue = Status['homeState']['differing'][number]['value'];

const plain = (value: SettingValue): string => (value === undefined ? '(unset)' : String(value));

function vaultNote({ vault, vaultOpenedBy, vaultSource, vaultState }: Status): string {
  if (vault === 'memory') return ' (forgets everything when the broker stops)';
  if (vaultSource) return ` (${sourceNote(vaultSource, vaultState.state)})`;
  return vaultOpenedBy === undefined
    ? ''
    : ` (opened by ${vaultOpenedBy === 'keychain' ? 'the keychain' : 'a passphrase'})`;
}

function sourceNote(
  source: NonNullable<Status['vaultSource']>,
  state: Status['vaultState']['state'],
): string {
  const place = placeOf(source);
  if (source.isUsed) return `opened by the passphrase from ${place}`;
  const isTyped = state === 'open' || state === 'slow';
  return isTyped ? `opened by a typed passphrase, not from ${place}` : `its passphrase comes from ${place}`;
}

/** What each state means, in a few words. */
const states: Readonly<Record<Exclude<Status['vaultState']['state'], 'unused'>, string>> = {
  new: 'new',
  open: 'open',
  slow: 'open, and slow',
  locked: 'locked',
  keychainLocked: 'the keychain is locked',
  waiting: 'waiting for you',
  absent: 'no keychain here',
  crashed: 'the keychain helper failed',
  full: 'nothing more can be stored',
  damaged: 'damaged',
};

function vaultLines({ state, since, what, hint }: Status['vaultState']): string[] {
  if (state === 'unused') return [];
  return [
    `           ${states[state]}, since ${when(since)}`,
    ...(what === undefined ? [] : [`           ${what}`]),
    ...hintLines(hint),
  ];
}
