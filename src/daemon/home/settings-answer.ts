/**
 * How the user's answer about settings that were written outside Keyturn changes the home's record.
 *
 * Invariant: a written value is in force without an approval only if it takes access away.
 */
import { KeyturnError } from '../../base/errors.ts';
import {
  differences,
  inForce,
  nothingApproved,
  toApproved,
  withSetting,
} from '../settings/approved-settings.ts';
import type { ApprovedSettings, Difference, WrittenSettings } from '../settings/approved-settings.ts';
import type { SettingsQuestion } from '../settings/settings-card.ts';
import type { HomeRecord } from './home-record.ts';

/**
 * The values that are in force without an approval, because they take access away. The document keeps them too, so that
 * a changed file can't undo them.
 */
function countingAnyway(written: WrittenSettings): ApprovedSettings {
  const settings = inForce(written.settings, differences(written, nothingApproved));
  return toApproved({ settings, authorities: undefined });
}

/** The home's record, decided as far as it can be. `early`: what the user answered before the vault was open. */
export function decided(
  item: HomeRecord,
  written: WrittenSettings,
  early: ApprovedSettings | 'deny' | undefined,
): HomeRecord {
  if (item.approved) return item;
  const approved = toApproved(written);
  if (early === 'deny') return { ...item, approved: countingAnyway(written), denied: approved };
  if (early) return { ...item, approved: early };
  // Values that take access away are kept too: a file without them gives nothing back.
  return differences(written, nothingApproved).length === 0 ? { ...item, approved } : item;
}

/** The home's record after an answer. `asked` was on the card, `shown` was written then, `now` is written now. */
export function answered(
  item: HomeRecord,
  verdict: 'approve' | 'deny',
  { asked, shown, now }: { asked: readonly Difference[]; shown: WrittenSettings; now: WrittenSettings },
): HomeRecord {
  const { denied: _, ...rest } = item;
  if (verdict === 'deny') {
    return { ...rest, approved: item.approved ?? countingAnyway(now), denied: toApproved(shown) };
  }
  // Settings that were changed meanwhile stay.
  const approved = item.approved
    ? asked.reduce(
        (held, { name, value }) => withSetting(held, name, value, shown.authorities),
        item.approved,
      )
    : toApproved(shown);
  return { ...rest, approved };
}

export function unanswered({ different, allowed }: SettingsQuestion): KeyturnError {
  if (allowed.length > 0)
    return new KeyturnError(
      'consent_pending',
      'This home was used without the Keyturn app. What it allows waits for you to keep or remove it.',
      {
        rule: 'At its first use of a home the Keyturn app serves nothing before you keep or remove what the home allows',
        hint: 'Answer the request in Keyturn’s window, then try again.',
      },
    );
  const names = different.map(({ name }) => name).join(', ');
  return new KeyturnError(
    'consent_pending',
    `Settings were changed outside Keyturn, and you have not approved them: ${names}.`,
    {
      rule: 'While the Keyturn app is running, nothing goes to the network before you approve or deny such settings',
      hint: 'Answer the request in Keyturn’s window, then try again.',
    },
  );
}
