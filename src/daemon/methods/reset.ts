/**
 * `keyturn reset`, the broker's part: every sign-in ended, at its issuer too, and nothing left in the vault.
 *
 * Invariant: nothing is forgotten here before its issuer was asked, and what could not be told or
 * removed is named in the answer. A document that is not verified names no issuer that is asked. A crash at any point
 * leaves a home that can be reset again: the records are written before the secrets go, and the files go last.
 */
import type { Broker } from '../../broker/broker.ts';
import type { SignIn } from '../../broker/records/sign-in.ts';
import { abandonRevocation, isPending, revokeSignIn } from '../../broker/revocation/revoker.ts';
import { KeyturnError, reasonOf } from '../../base/errors.ts';
import type { ParamsOf, ResultOf } from '../../ipc/protocol/methods.ts';
import { receiptAnswer } from './answers.ts';
import type { Records } from '../../broker/records/records.ts';
import { newestItem, requireStorable } from '../../vault/base/vault.ts';
import { VaultError } from '../../vault/base/trouble.ts';
import type { Handlers } from './services.ts';

/** The broker stops afterwards, and removes the files; the command that asked does it where the app is the broker. */
export const resetMethods = {
  'home.reset': async (services, _caller, params) => {
    const answer = await services.reset(params);
    await services.stop();
    return answer;
  },
} satisfies Partial<Handlers>;

export interface ResetParts {
  readonly broker: Broker;
  readonly records: Records;
  /** What the home's items in the keychain are filed under. */
  readonly service: string;
  /** The vault that is named isn't this home's own (mismatched-home.ts). */
  readonly isMismatched: boolean;
}

/** Issuers asked at the same time: enough that one which doesn't answer doesn't hold up the rest. */
const atOnce = 16;

/** Throws what the vault throws, before anything is changed, unless told to go on without it. */
export async function resetHome(
  parts: ResetParts,
  { withoutVault = false }: ParamsOf<'home.reset'>,
): Promise<ResultOf<'home.reset'>> {
  const { broker, records } = parts;
  const isVerified = await hasVerified(broker);
  const signIns = broker.parts.signIns.shown();
  const open = signIns.filter((signIn) => signIn.state.kind !== 'revoked' || isPending(signIn));
  if (!withoutVault) await requireVault(parts, open);
  const revoked: ResultOf<'home.reset'>['revoked'][number][] = [];
  for (let first = 0; first < open.length; first += atOnce) {
    const ended = open
      .slice(first, first + atOnce)
      .map(async (signIn) =>
        isVerified ? endForGood(broker, signIn) : receiptAnswer(broker, signIn, 'abandoned'),
      );
    revoked.push(...(await Promise.all(ended)));
  }
  // Told once more: a run that a crash cut short gave these up, and nobody has read of it.
  const before = signIns.filter(({ state }) => state.kind === 'revoked' && state.receipt === 'abandoned');
  revoked.push(...before.map((signIn) => receiptAnswer(broker, signIn, 'abandoned')));
  const vaultLeft = await emptyVault(parts);
  const registrations = records.registrations.readable;
  return {
    revoked,
    oauthClients: registrations
      // A document that the user hosts is registered nowhere.
      .filter(({ registration }) => registration.source !== 'metadata_document')
      .map(({ registration: { issuer, clientId } }) => ({ issuer, clientId })),
    unreadable: records.document.trouble ? [records.document.trouble.file] : [],
    vaultLeft,
  };
}

/** Without secrets nothing can be revoked, and a keychain that is locked lets nothing be removed. */
async function requireVault(
  { broker, records, service }: ResetParts,
  open: readonly SignIn[],
): Promise<void> {
  const { vault } = broker.parts;
  if (vault.kind !== 'keychain' && open.length === 0) return;
  try {
    await requireStorable(vault);
  } catch (error) {
    if (isUnused(records, error)) return;
    const left = vault.kind === 'keychain' ? `, and its items stay in the keychain under ${service}` : '';
    throw new KeyturnError(
      reasonOf(error),
      `${error instanceof KeyturnError ? error.message : 'The vault failed'}. Nothing was reset.`,
      {
        rule: 'Reset revokes what the vault holds before it deletes it',
        hint:
          `Unlock or fix the vault, and try again. keyturn reset --yes goes on without it: ` +
          `no authorization server is told to end ${open.length === 1 ? 'the sign-in' : `the ${open.length} sign-ins`}${left}.`,
      },
    );
  }
}

/** This machine has no keychain, and this home never needed one. */
const isUnused = ({ document }: Records, error: unknown): boolean =>
  document.isAbsent && error instanceof VaultError && error.kind === 'absent';

/** Whether the vault is needed is judged later, and what it can't do is said there. */
async function hasVerified({ parts: { document, signIns } }: Broker): Promise<boolean> {
  try {
    await document.verify();
    signIns.all();
    return true;
  } catch {
    return false;
  }
}

/** What is pending now would stay so for ever: the secrets go with the home. */
async function endForGood(
  broker: Broker,
  signIn: SignIn,
): Promise<ResultOf<'home.reset'>['revoked'][number]> {
  // If its end can't be written, it is gone with the home all the same.
  await revokeSignIn(broker.parts, signIn).catch(() => undefined);
  const { signIn: ended, receipt } = await abandonRevocation(broker.parts, signIn);
  return receiptAnswer(broker, ended, receipt);
}

/** Undefined where nothing is left. The vault deletes all items that it finds; the names help if it can't list them. */
async function emptyVault({
  broker,
  records,
  service,
  isMismatched,
}: ResetParts): Promise<string | undefined> {
  const { vault } = broker.parts;
  const { document } = records;
  const shown = document.isLoaded ? document.shown : new Map();
  const unused = records.unused.readable.map(({ name }) => name);
  try {
    await vault.destroy([...document.itemNamesIn(shown), ...unused, newestItem]);
    if (!isMismatched) return undefined;
    return `what this home's own vault holds (in the keychain it is filed under ${service})`;
  } catch (error) {
    if (isUnused(records, error)) return undefined;
    return `${error instanceof KeyturnError ? error.message : 'it failed'} (filed under ${service})`;
  }
}
