/**
 * How the user's answer about settings that were written outside Keyturn changes the home's record.
 *
 * Invariant: a written value is in force without an approval only if it takes access away.
 */
import { KeyturnError } from '../../base/errors.ts';
import { inForce, nothingConfirmed, toConfirmed, withSetting } from '../settings/confirmed-settings.ts';
import type { ConfirmedSettings, Difference } from '../settings/confirmed-settings.ts';
import { asConfirmed, differencesFrom } from '../settings/written-settings.ts';
import type { SettingsQuestion } from '../settings/settings-card.ts';
import type { WrittenSettings } from '../settings/written-settings.ts';
import type { HomeRecord } from './home-record.ts';

/**
 * The values that are in force without an approval, because they take access away. The document keeps them too, so that a changed file
 * can't undo them.
 */
function countingAnyway(written: WrittenSettings): ConfirmedSettings {
  return toConfirmed(inForce(written.settings, differencesFrom(written, nothingConfirmed)), undefined);
}

/**
 * The home's record, decided as far as it can be without asking. `early`: what the user answered before the vault
 * was open.
 */
export function decided(
  item: HomeRecord,
  written: WrittenSettings,
  early: ConfirmedSettings | 'deny' | undefined,
): HomeRecord {
  if (item.confirmed) return item;
  const confirmed = asConfirmed(written);
  if (early === 'deny') return { ...item, confirmed: countingAnyway(written), denied: confirmed };
  if (early) return { ...item, confirmed: early };
  // Values that take access away are kept too: a file without them gives nothing back.
  return differencesFrom(written, nothingConfirmed).length === 0 ? { ...item, confirmed } : item;
}

/**
 * The home's record after an answer. `asked` was on the card, and `shown` was written at that time; `now` is written
 * now.
 */
export function answered(
  item: HomeRecord,
  verdict: 'approve' | 'deny',
  { asked, shown, now }: { asked: readonly Difference[]; shown: WrittenSettings; now: WrittenSettings },
): HomeRecord {
  const { denied: _, ...rest } = item;
  if (verdict === 'deny') {
    return { ...rest, confirmed: item.confirmed ?? countingAnyway(now), denied: asConfirmed(shown) };
  }
  // Settings that were changed meanwhile stay.
  const confirmed = item.confirmed
    ? asked.reduce(
        (held, { name, value }) => withSetting(held, name, value, shown.authorities),
        item.confirmed,
      )
    : asConfirmed(shown);
  return { ...rest, confirmed };
}

export function unanswered({ different, allowed }: SettingsQuestion): KeyturnError {
  if (allowed.length > 0)
    return new KeyturnError(
      'consent_pending',
      'This home was used without the app, and you have not kept what it allows.',
      {
        rule: 'At its first use of a home the app serves nothing before you keep or remove what the home allows',
        hint: 'Answer the request in Keyturn’s window, then try again.',
      },
    );
  const names = different.map(({ name }) => name).join(', ');
  return new KeyturnError(
    'consent_pending',
    `Settings were changed outside Keyturn, and nobody has confirmed them: ${names}.`,
    {
      rule: 'While the Keyturn app is running, nothing goes to the network before you confirm or refuse such settings',
      hint: 'Answer the request in Keyturn’s window, then try again.',
    },
  );
}
