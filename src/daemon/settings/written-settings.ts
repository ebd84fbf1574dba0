/**
 * The settings as the files have them, with the content of the CA file that they name.
 *
 * Invariant: reads only. A file of authorities that can't be read certifies no server.
 */
import { readExtraAuthorities } from '../system/authorities.ts';
import type { ExtraAuthorities } from '../system/authorities.ts';
import { differences, toApproved } from './approved-settings.ts';
import type { ApprovedSettings, Difference } from './approved-settings.ts';
import type { Settings } from './settings.ts';

export interface WrittenSettings {
  readonly settings: Settings;
  /** Undefined if no file is named, or it can't be read. */
  readonly authorities: ExtraAuthorities | undefined;
}

/** Reads the CA file again. */
export function readWritten(settings: Settings): WrittenSettings {
  const { extraAuthorities } = settings;
  const authorities = extraAuthorities === undefined ? undefined : readIfPossible(extraAuthorities);
  return { settings, authorities };
}

/** The settings as the vault would keep them after an approval. */
export function asApproved({ settings, authorities }: WrittenSettings): ApprovedSettings {
  return toApproved(settings, authorities);
}

export function differencesFrom(
  { settings, authorities }: WrittenSettings,
  approved: ApprovedSettings,
): Difference[] {
  return differences(settings, approved, authorities);
}

/** The file, as long as its content is the one that was approved. */
export function sameFile(file: string, { authoritiesHash }: ApprovedSettings): ExtraAuthorities | undefined {
  const found = readIfPossible(file);
  return found?.hash === authoritiesHash ? found : undefined;
}

/** Undefined if it can't be read: then it certifies no server. */
function readIfPossible(file: string): ExtraAuthorities | undefined {
  try {
    return readExtraAuthorities(file);
  } catch {
    return undefined;
  }
}
