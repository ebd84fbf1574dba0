/**
 * The settings as the files have them, with the content of the file of authorities that they name.
 *
 * Invariant: what was only written counts without a yes only where it takes access away.
 */
import { KeyturnError } from '../../base/errors.ts';
import { readAuthorities } from '../system/authorities.ts';
import type { AuthoritiesFile } from '../system/authorities.ts';
import { differences, inForce, nothingConfirmed, toConfirmed, withSetting } from './confirmed-settings.ts';
import type { Confirmed, Difference } from './confirmed-settings.ts';
import type { HomeItem } from './home-item.ts';
import type { Settings } from './settings.ts';

export interface WrittenSettings {
  readonly settings: Settings;
  /** Undefined where no file is named, or it can't be read. */
  readonly authorities: AuthoritiesFile | undefined;
}

/** Reads the file of authorities anew. */
export function readWritten(settings: Settings): WrittenSettings {
  const { extraAuthorities } = settings;
  const authorities = extraAuthorities === undefined ? undefined : readIfPossible(extraAuthorities);
  return { settings, authorities };
}

/** The settings as the vault would keep them after a yes. */
export function asConfirmed({ settings, authorities }: WrittenSettings): Confirmed {
  return toConfirmed(settings, authorities);
}

export function differencesFrom(
  { settings, authorities }: WrittenSettings,
  confirmed: Confirmed,
): Difference[] {
  return differences(settings, confirmed, authorities);
}

/** What counts without a yes: what only takes away. The vault keeps it too, so that no file takes it back. */
function countingAnyway(written: WrittenSettings): Confirmed {
  return toConfirmed(inForce(written.settings, differencesFrom(written, nothingConfirmed)), undefined);
}

/** The vault's item, decided as far as it can be without asking. `early`: what the person answered before the vault was open. */
export function decided(
  item: HomeItem,
  written: WrittenSettings,
  early: Confirmed | 'no' | undefined,
): HomeItem {
  if (item.settings) return item;
  const settings = asConfirmed(written);
  if (early === 'no') return { ...item, settings: countingAnyway(written), declined: settings };
  if (early) return { ...item, settings: early };
  // What only takes away is kept too: a file that loses it gives nothing back.
  return differencesFrom(written, nothingConfirmed).length === 0 ? { ...item, settings } : item;
}

/** The vault's item after an answer. `asked` was on the card, and `shown` was written at that time; `now` is written now. */
export function answered(
  item: HomeItem,
  verdict: 'yes' | 'no',
  { asked, shown, now }: { asked: readonly Difference[]; shown: WrittenSettings; now: WrittenSettings },
): HomeItem {
  const { declined: _, ...rest } = item;
  if (verdict === 'no') {
    return { ...rest, settings: item.settings ?? countingAnyway(now), declined: asConfirmed(shown) };
  }
  // What was set meanwhile stays.
  const settings = item.settings
    ? asked.reduce(
        (held, { name, value }) => withSetting(held, name, value, shown.authorities),
        item.settings,
      )
    : asConfirmed(shown);
  return { ...rest, settings };
}

/** The file, as long as its content is the one that was confirmed. */
export function sameFile(file: string, { authorities }: Confirmed): AuthoritiesFile | undefined {
  const found = readIfPossible(file);
  return found?.hash === authorities ? found : undefined;
}

/** Undefined where it can't be read: then it vouches for no server. */
function readIfPossible(file: string): AuthoritiesFile | undefined {
  try {
    return readAuthorities(file);
  } catch {
    return undefined;
  }
}

export function unanswered(different: readonly Difference[]): KeyturnError {
  const names = different.map(({ name }) => name).join(', ');
  return new KeyturnError('consent_pending', `Settings were written that nobody confirmed here: ${names}.`, {
    rule: 'At a desk nothing goes to the network before the person confirmed or refused such settings',
    hint: 'Answer the question in Keyturn’s window, then ask again.',
  });
}
