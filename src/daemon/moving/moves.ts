/**
 * Moves grants and settings to another machine, and says what a person is asked before.
 *
 * Invariants: an export leaves the broker sealed. Settings move only if they mean the same on every machine; an import
 * sets them as `settings.set` does.
 */
import type { Broker } from '../../broker/broker.ts';
import { checkParcel, importGrants } from '../../broker/moving/arriving.ts';
import { exportable, exportGrants, movedGrants, takeBack, vouchAll } from '../../broker/moving/leaving.ts';
import type { MovedGrant, Parcel } from '../../broker/moving/parcel.ts';
import type { ApprovalRequest, MovedSignIn } from '../../broker/questions/question.ts';
import type { Grant } from '../../broker/records/grant.ts';
import type { ParamsOf, ResultOf } from '../../ipc/protocol/methods.ts';
import { settingsMoved } from '../settings/settings.ts';
import type { SettingsBook } from '../settings/settings-book.ts';
import { openParcel, sealParcel } from './sealed-parcel.ts';

/** Throws what the vault throws, and `invalid_request` for more than the socket carries. */
export async function exportAll(
  { parts }: Broker,
  settings: SettingsBook,
  passphrase: string,
): Promise<ResultOf<'grant.export'>> {
  const { result, moved, staying } = await exportGrants(parts, movingSettings(settings), (parcel) =>
    sealParcel(parcel, passphrase),
  );
  return { sealed: result, grants: moved.map(answerOf), staying: staying.map(answerOf) };
}

/** `changeSetting`: as `settings.set` does it. Throws as `openParcel` and `importGrants`. */
export async function importAll(
  { parts }: Broker,
  { sealed, passphrase }: ParamsOf<'grant.import'>,
  settings: MovingSettings & { readonly changeSetting: (name: string, value: unknown) => Promise<unknown> },
): Promise<ResultOf<'grant.import'>> {
  const parcel = await openParcel(sealed, passphrase);
  const { imported, alreadyHere } = await importGrants(parts, parcel);
  const changed = changedSettings(settings, parcel);
  for (const { name, value } of changed) await settings.changeSetting(name, value);
  return { grants: imported.map(answerOf), alreadyHere, settings: changed.map(({ name }) => name) };
}

/** Throws what the vault throws. */
export async function takeAllBack({ parts }: Broker): Promise<ResultOf<'grant.takeBack'>> {
  return { grants: (await takeBack(parts)).map(answerOf) };
}

export type MovingSettings = Pick<SettingsBook, 'check' | 'current'>;

/** What the person is asked before an export. Throws what the vault throws. */
export async function exportRequest({ parts }: Broker): Promise<ApprovalRequest> {
  await vouchAll(parts);
  return { command: 'export', signIns: exportable(parts).moving.flatMap(signInsOf) };
}

/** Undefined: nothing was exported. Throws what the vault throws. */
export async function takeBackRequest({ parts }: Broker): Promise<ApprovalRequest | undefined> {
  await vouchAll(parts);
  const moved = movedGrants(parts);
  return moved.length === 0 ? undefined : { command: 'takeBack', signIns: moved.flatMap(signInsOf) };
}

/** Throws as the import would. */
export async function importRequest(
  { parts }: Broker,
  settings: MovingSettings,
  { sealed, passphrase }: ParamsOf<'grant.import'>,
): Promise<ApprovalRequest> {
  const parcel = await openParcel(sealed, passphrase);
  await vouchAll(parts);
  const signIns = checkParcel(parts, parcel).flatMap((grant) => signInsOf(recordOf(grant)));
  return { command: 'import', signIns, settings: changedSettings(settings, parcel) };
}

const recordOf = ({ secret }: MovedGrant): Pick<Grant, 'endpoints' | 'issuer' | 'account'> => secret.binding;

/** One for each server that the grant serves: a card hides none. */
function signInsOf({
  endpoints,
  issuer,
  account,
}: Pick<Grant, 'endpoints' | 'issuer' | 'account'>): MovedSignIn[] {
  return endpoints.map((endpoint) => ({ endpoint, issuer, account }));
}

function answerOf({
  id,
  endpoints,
  resource,
  issuer,
  account,
}: Grant): ResultOf<'grant.takeBack'>['grants'][number] {
  return { id, resource: endpoints[0] ?? resource, issuer, account };
}

/** Those that were set and count. */
function movingSettings(settings: SettingsBook): Parcel['settings'] {
  const set = settings.details().filter(({ source }) => source === 'file' || source === 'vault');
  return Object.fromEntries(
    set.flatMap(({ name }) => {
      const moving = settingsMoved.find((one) => one === name);
      const value = moving && settings.current[moving];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

interface ChangedSetting {
  readonly name: string;
  readonly value: string | number | boolean;
}

/** Throws `invalid_request` for a value that this version doesn't take. */
function changedSettings(settings: MovingSettings, { settings: arriving }: Parcel): ChangedSetting[] {
  return settingsMoved.flatMap((name) => {
    const value = arriving[name];
    if (value === undefined || value === settings.current[name]) return [];
    settings.check(name, value);
    return [{ name, value }];
  });
}
