/**
 * `keyturn doctor`: what is wrong here, and the command that fixes it.
 *
 * Invariant: looks only. It starts no broker and no keychain, asks nobody, uses no network, and changes nothing.
 */
import { exitCodes } from '../../base/errors.ts';
import { homePaths, type HomePaths } from '../../base/paths.ts';
import { locate } from '../../client/connect.ts';
import { type ForwardedSocket, forwardedSocket } from '../../ipc/wire/forwarded.ts';
import { byImportance, type Finding, findingOf, type Level, levelOf } from '../doctor/finding.ts';
import type { Settings } from '../../daemon/settings/settings.ts';
import type { Status } from '../doctor/broker-checks.ts';
import type { ReportContent } from '../doctor/report.ts';
import { defineCommand } from '../terminal/command.ts';
import { jsonOption } from '../terminal/statement.ts';
import { print, printJson } from '../terminal/output.ts';

export const command = defineCommand(
  {
    name: 'doctor',
    summary: 'Find problems, and how to fix them',
    options: {
      json: jsonOption('it'),
      report: {
        type: 'boolean',
        summary: 'print a text for a bug report',
        more: ': no secret, no name of a user, host, server or folder is in it',
      },
    },
    about:
      'Check this machine and this home. The most important problem comes first, each with its fix. Starts nothing itself, uses no network, changes nothing.',
    terms: {
      problem: 'something does not work, or is not safe',
      warning: 'something may fail later',
      note: 'good to know; the exit code ignores it',
    },
    exitCodes: { 0: 'nothing but notes', [exitCodes.somethingFound]: 'a problem or a warning was found' },
    examples: ['keyturn doctor', 'keyturn doctor --report'],
  },
  async ({ options }) => {
    const found = await examine(process.env);
    if (options.report)
      for (const line of (await import('../doctor/report.ts')).reportLines(found)) print(line);
    else if (options.json) printJson(found.findings.map((one) => ({ level: levelOf(one), ...one })));
    else tell(found.findings);
    return found.findings.every((one) => levelOf(one) === 'note') ? exitCodes.ok : exitCodes.somethingFound;
  },
);

async function examine(env: NodeJS.ProcessEnv): Promise<ReportContent> {
  const { defaultSettings } = await import('../../daemon/settings/settings.ts');
  const nothing = { settings: defaultSettings, status: undefined, keychain: undefined, env };
  let paths: HomePaths;
  try {
    paths = homePaths(env);
  } catch (error) {
    return { ...nothing, findings: [findingOf('home.unknown', error)] };
  }
  let forward: ForwardedSocket | undefined;
  try {
    forward = forwardedSocket(env);
    if (forward) ({ paths } = locate({ paths, env }));
  } catch (error) {
    return { ...nothing, findings: [findingOf('forward.unusable', error)] };
  }
  const { checkHome } = await import('../doctor/home-checks.ts');
  const { checkBroker, checkForward } = await import('../doctor/broker-checks.ts');
  const { checkMachine } = await import('../doctor/machine-checks.ts');
  const home = await checkHome(paths, env);
  const broker = await (forward ? checkForward(forward) : checkBroker(paths));
  const settings = inForce(home.settings, broker.status);
  const isFarEnd = forward !== undefined;
  const vault = broker.status?.vaultState.state;
  const isVaultOpen = vault === 'open' || vault === 'slow';
  const machine = await checkMachine({ paths, env, settings, isFarEnd, isVaultOpen, now: Date.now() });
  const { checkClients } = await import('../doctor/client-checks.ts');
  const clients = await checkClients();
  const all = byImportance([...home.findings, ...broker.findings, ...machine.findings, ...clients]);
  // Two checks may meet the same refusal, e.g. of the socket.
  const findings = all.filter(({ what }, index) => all.findIndex((one) => one.what === what) === index);
  return { findings, settings, status: broker.status, keychain: machine.keychain, env };
}

/** A broker that a user started takes what its environment says. */
function inForce(settings: Settings, status: Status | undefined): Settings {
  if (!status) return settings;
  const { vault, vaultOpenedBy: vaultKey = settings.vaultKey, browser = settings.browser } = status;
  const isKind = (kind: string): kind is Settings['vault'] =>
    ['keychain', 'sealed-file', 'memory'].includes(kind);
  return { ...settings, vault: isKind(vault) ? vault : settings.vault, vaultKey, browser };
}

const marks: Readonly<Record<Level, string>> = { problem: 'PROBLEM', warning: 'WARNING', note: 'note' };
const width = 9;

function tell(findings: readonly Finding[]): void {
  if (findings.length === 0) return print('Nothing is wrong here.');
  for (const one of findings) {
    print(`${marks[levelOf(one)].padEnd(width)}${one.what}`);
    print(`${' '.repeat(width)}fix: ${one.fix}`);
  }
}
