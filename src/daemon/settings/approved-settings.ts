/**
 * The settings that need approval: how the document keeps them, and which written values differ from them.
 *
 * Invariant: values are compared as their schema parsed them, and a CA file by its content: one that can't be read
 * certifies no server. A value that takes access away (a shorter time until the lock, no plain http) needs no approval.
 */
import { z } from 'zod';
import { readExtraAuthorities, type ExtraAuthorities } from '../system/authorities.ts';
import { maxLength } from '../../ipc/wire/limits.ts';
import { defaultSettings, settingsSchema, trustRequired, type Settings } from './settings.ts';
import { settingNames, type SettingName } from './setting-choices.ts';

export const approvedSchema = z.object({
  /** By name, without defaults, so that these may change with a new Keyturn. Each is checked again where it is used. */
  values: z.record(z.string().max(64), z.union([z.string().max(maxLength.setting), z.number(), z.boolean()])),
  /** SHA-256 of the CA file, base64url. */
  authoritiesHash: z.string().max(64).optional(),
});

export type ApprovedSettings = z.infer<typeof approvedSchema>;

export const nothingApproved: ApprovedSettings = { values: {} };

/** The settings as file and environment have them. */
export interface WrittenSettings {
  readonly settings: Settings;
  /** Of the file that they name; undefined if none is named, or it can't be read. */
  readonly authorities: ExtraAuthorities | undefined;
}

/** Reads the CA file again. */
export function readWritten(settings: Settings): WrittenSettings {
  return { settings, authorities: readIfPossible(settings.extraAuthorities) };
}

/** The file, as long as its content is the one that was approved. */
export function sameFile(
  file: string | undefined,
  { authoritiesHash }: ApprovedSettings,
): ExtraAuthorities | undefined {
  const found = readIfPossible(file);
  return found?.hash === authoritiesHash ? found : undefined;
}

function readIfPossible(file: string | undefined): ExtraAuthorities | undefined {
  try {
    return file === undefined ? undefined : readExtraAuthorities(file);
  } catch {
    return undefined;
  }
}

/** A setting that was written otherwise than the document has it. */
export interface Difference {
  readonly name: SettingName;
  /** The written value; absent: it was unset. */
  readonly value?: Settings[SettingName];
  /** The value in force instead; absent: none. */
  readonly inEffect?: Settings[SettingName];
  /** The value is the same, and the file that it names has another content. */
  readonly isContent?: true;
}

const approvedNames = settingNames.filter((name) => trustRequired(name) === 'approved');

/** These settings as the document keeps them after an approval. */
export function toApproved({ settings, authorities }: WrittenSettings): ApprovedSettings {
  const values: ApprovedSettings['values'] = {};
  for (const name of approvedNames) {
    const value = settings[name];
    if (value !== undefined && value !== defaultSettings[name]) values[name] = value;
  }
  const named = settings.extraAuthorities === undefined ? undefined : authorities?.hash;
  return { values, authoritiesHash: named };
}

/** The document's value; the default if it has none, or one that this Keyturn can't use. */
function heldValue({ values }: ApprovedSettings, name: SettingName): Settings[SettingName] {
  return settingsSchema.shape[name].safeParse(values[name]).data ?? defaultSettings[name];
}

/** The written values that need an approval which the document doesn't have. */
export function differences(
  { settings, authorities }: WrittenSettings,
  approved: ApprovedSettings,
): Difference[] {
  return approvedNames.flatMap((name) => differenceOf(name, settings[name], approved, authorities) ?? []);
}

/** The same of one setting. `authorities`: of the file that `extraAuthorities` names, as it is now. */
export function differenceOf(
  name: SettingName,
  value: Settings[SettingName],
  approved: ApprovedSettings,
  authorities: ExtraAuthorities | undefined,
): Difference | undefined {
  const held = heldValue(approved, name);
  const isContent =
    name === 'extraAuthorities' && value !== undefined && authorities?.hash !== approved.authoritiesHash;
  if (value === held) return isContent ? { name, value, isContent: true } : undefined;
  if (!needsApproval(name, value, held)) return undefined;
  return { name, value, inEffect: held };
}

/** False where `value` only takes away from what `held` gives. */
function needsApproval(
  name: SettingName,
  value: Settings[SettingName],
  held: Settings[SettingName],
): boolean {
  if (trustRequired(name) !== 'approved' || value === held) return false;
  if (name === 'insecureLoopback') return value === true;
  if (name === 'lockWithScreen') return value !== true;
  if (name !== 'lockAfter' || typeof value !== 'number') return true;
  return typeof held === 'number' && value > held;
}

/** The settings in force: the written values, or the document's where the two differ. */
export function inForce(written: Settings, different: readonly Difference[]): Settings {
  const settings: Settings = { ...written };
  for (const { name, inEffect: held, isContent } of different) {
    // If the content is another one, there is no file that could be trusted.
    Object.assign(settings, { [name]: isContent ? undefined : held });
  }
  return settings;
}

export function withSetting(
  approved: ApprovedSettings,
  name: SettingName,
  value: Settings[SettingName],
  authorities: ExtraAuthorities | undefined,
): ApprovedSettings {
  const held = Object.fromEntries(approvedNames.map((each) => [each, heldValue(approved, each)]));
  const settings = settingsSchema.parse({ ...held, [name]: value });
  const changed = toApproved({ settings, authorities });
  if (name === 'extraAuthorities' || approved.authoritiesHash === undefined) return changed;
  return { ...changed, authoritiesHash: approved.authoritiesHash };
}

/** True if the user denied exactly these already. */
export function isDenied(different: readonly Difference[], denied: ApprovedSettings | undefined): boolean {
  if (!denied) return false;
  // A content that was refused once may be another one now: it is asked again.
  return different.every(({ name, value, isContent }) => !isContent && value === heldValue(denied, name));
}
