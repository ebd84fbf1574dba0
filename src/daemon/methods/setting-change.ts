/**
 * A change of a setting that the user asks for.
 *
 * Invariants: the vault isn't changed while it holds secrets. A setting that needs approval is written
 * into the document before the file. Each change is a row of the audit log, which names the setting and not its value:
 * a proxy's URL may hold a password.
 */
import type { BrokerParts } from '../../broker/parts.ts';
import { KeyturnError } from '../../base/errors.ts';
import type { ResultOf } from '../../ipc/protocol/methods.ts';
import type { HomeCheck } from '../home/home-check.ts';
import type { CheckedSetting, SettingsBook } from '../settings/settings-book.ts';
import { defaultSettings, settingsSchema, trustRequired, wrappedBy } from '../settings/settings.ts';
import type { Settings } from '../settings/settings.ts';
import { requireCertificate } from '../system/authorities.ts';

export interface ChangeParts {
  readonly book: SettingsBook;
  readonly parts: BrokerParts;
  readonly homeCheck: Pick<HomeCheck, 'recordSetting' | 'hasOpenedVault'>;
}

/** Changes nothing. `value` null unsets. Throws `not_found`, `invalid_request`, `conflict`, `file_unreadable`. */
export function checkSetting(change: ChangeParts, name: string, value: unknown): CheckedSetting {
  const { book } = change;
  const checked = book.check(name, value);
  if (isAnotherVault(checked, book.current)) refuseOccupied(change);
  if (name === 'extraAuthorities' && typeof checked.value === 'string') requireCertificate(checked.value);
  return checked;
}

/** Throws as `checkSetting` and `HomeCheck.recordSetting`. */
export async function changeSetting(
  change: ChangeParts,
  name: string,
  value: unknown,
): Promise<ResultOf<'settings.set'>> {
  const { book, parts, homeCheck } = change;
  const checked = checkSetting(change, name, value);
  if (trustRequired(checked.name) === 'approved') {
    await homeCheck.recordSetting(checked.name, checked.value ?? defaultSettings[checked.name]);
  }
  const inForce = book.set(checked.name, checked.value);
  const outcome = `${checked.name} ${checked.value === undefined ? 'unset' : 'set'}`;
  await parts.audit.record({ event: 'settings', outcome });
  return { inForce };
}

/** What opens a sealed file belongs to it: with another key nothing in it could be read any more. */
function isAnotherVault({ name, value }: CheckedSetting, current: Settings): boolean {
  if (name === 'vault') return value !== current.vault;
  if (name !== 'vaultKey' || current.vault !== 'sealed-file') return false;
  const next = settingsSchema.shape.vaultKey.parse(value);
  return wrappedBy(next) !== wrappedBy(current.vaultKey);
}

function refuseOccupied({ book, homeCheck, parts }: ChangeParts): void {
  const hasSecrets = homeCheck.hasOpenedVault && book.current.vault !== 'memory';
  const living = parts.signIns
    .shown()
    .filter(({ state }) => state.kind !== 'revoked' || state.receipt === 'pending').length;
  if (living === 0 && !hasSecrets) return;
  const what = living > 0 ? 'it holds sign-ins' : 'it holds secrets of this home';
  throw new KeyturnError('conflict', `The vault can't be changed: ${what}.`, {
    rule: 'Keyturn never moves secrets from one vault to another, and never leaves them behind silently',
    hint: hasSecrets
      ? '`keyturn reset` ends this home with all its secrets; after that, set the other vault. Or use another KEYTURN_HOME.'
      : 'Revoke the sign-ins first (`keyturn logout`). Or use another KEYTURN_HOME.',
  });
}
