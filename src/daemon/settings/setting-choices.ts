/**
 * The names of the settings, and the words that one takes whose values can be listed.
 *
 * Invariant: loads no package, so that a shell's completion can offer them.
 */
import { levels } from '../system/log.ts';

const onOff = ['true', 'false'] as const;

export const settingChoices = {
  vault: ['keychain', 'sealed-file', 'memory'],
  /** Others begin with a word and name a place. */
  vaultKey: ['passphrase', 'keychain'],
  lockAfter: [],
  lockWithScreen: onOff,
  browser: [],
  extraAuthorities: [],
  httpsProxy: [],
  noProxy: [],
  clientMetadataUrl: [],
  protocolVersionHeader: [],
  protocolVersion: [],
  defaultDuration: ['once', 'run', 'hour', 'untilRevoked'],
  insecureLoopback: onOff,
  logLevel: levels,
} as const;

export type SettingName = keyof typeof settingChoices;

export const settingNames = Object.keys(settingChoices) as readonly SettingName[];

export function isSettingName(name: string): name is SettingName {
  return Object.hasOwn(settingChoices, name);
}
