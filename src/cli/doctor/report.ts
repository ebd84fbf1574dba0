/**
 * A text for an issue: what was found, and on what kind of machine.
 *
 * Invariant: made of a fixed list of facts, each of a known form: our own words, numbers, versions. No text of this
 * machine, of a server or of a user enters, so that nothing has to be taken out again.
 */
import { release } from 'node:os';
import { defaultSettings, type Settings } from '../../daemon/settings/settings.ts';
import type { KeychainLook } from '../../daemon/system/keychain-look.ts';
import { version } from '../../daemon/system/version.ts';
import type { Status } from './broker-checks.ts';
import { type Finding, kinds, levelOf } from './finding.ts';

export interface ReportContent {
  readonly findings: readonly Finding[];
  readonly settings: Settings;
  readonly status: Status | undefined;
  readonly keychain: KeychainLook | undefined;
  readonly env: NodeJS.ProcessEnv;
}

export function reportLines({ findings, settings, status, keychain, env }: ReportContent): string[] {
  return [
    `keyturn   ${version}, node ${process.versions.node}`,
    `system    ${process.platform} ${kernel(release())}, ${process.arch}`,
    `session   ${session(env)}`,
    `vault     ${settings.vault}${settings.vault === 'sealed-file' ? ` (${settings.vaultKey})` : ''}`,
    `keychain  ${keychain ?? 'not needed'}`,
    `settings  ${changed(settings)}`,
    ...brokerLines(status),
    ...(findings.length === 0
      ? ['nothing found']
      : findings.map((one) => `${levelOf(one).padEnd(8)}  ${one.kind}: ${kinds[one.kind].title}`)),
  ];
}

/** A kernel of one's own may carry a name. */
function kernel(text: string): string {
  return /^\d+(?:\.\d+)*/.exec(text)?.[0] ?? 'of an unknown version';
}

function session(env: NodeJS.ProcessEnv): string {
  const kind = env['WAYLAND_DISPLAY'] ? 'wayland' : env['DISPLAY'] ? 'x11' : 'none';
  return `${kind}${env['SSH_CONNECTION'] ? ', over ssh' : ''}`;
}

/** Names of settings, never what they are set to. */
function changed(settings: Settings): string {
  const defaults: Readonly<Record<string, unknown>> = defaultSettings;
  const names = Object.entries(settings).flatMap(([name, value]) => (value === defaults[name] ? [] : [name]));
  return names.length === 0 ? 'none changed' : `changed: ${names.join(', ')}`;
}

function brokerLines(status: Status | undefined): string[] {
  if (!status) return ['broker    none, or it says nothing'];
  const { vaultState, homeState, audit, signIns, apps, requests } = status;
  return [
    `broker    ${/^[\w.+-]{1,32}$/.test(status.version) ? status.version : 'of an unknown version'}`,
    `states    vault ${vaultState.state}, home ${homeState.state}, approver ${homeState.approver}, audit log ${audit ? 'failing' : 'written'}`,
    `counts    ${signIns} sign-ins, ${apps} apps, ${requests} requests`,
  ];
}
