/**
 * The passphrase of a sealed file on a machine without a user: from a file, a credential of systemd's, or a command.
 *
 * Invariant: it is never in a message. What another user could have written or read is refused. A command gets
 * no shell, and nothing on its standard input.
 */
import path from 'node:path';
import { KeyturnError, quoted, reasonOf } from '../../base/errors.ts';
import { readSecretFile } from '../../base/system/secret-file.ts';
import { commandWords, readSecretFromCommand } from '../../base/system/secret-from-command.ts';
import { VaultError } from '../../vault/base/trouble.ts';
import type { Settings } from '../settings/settings.ts';

/** Where the passphrase comes from, for people: of a command not even its name, since that may be long. */
export interface KeySource {
  readonly from: 'file' | 'credential' | 'command';
  /** The path, or the name of the credential. */
  readonly name?: string;
}

export const placeOf = ({ from, name }: KeySource): string =>
  name === undefined ? `a ${from}` : `the ${from} ${quoted(name)}`;

/** Undefined if the settings say that a user types it, or the keychain has the key. */
export function keySourceOf(vaultKey: Settings['vaultKey']): KeySource | undefined {
  const [kind, name] = placeIn(vaultKey);
  if (kind === 'file' || kind === 'credential') return { from: kind, name };
  return kind === 'command' ? { from: kind } : undefined;
}

/** The kind of the place that the setting names, and what follows it; no kind where it names none. */
function placeIn(vaultKey: Settings['vaultKey']): [kind: string | undefined, where: string] {
  const [, kind, where = ''] = /^(file|credential|command):(.*)$/s.exec(vaultKey) ?? [];
  return [kind, where];
}

/** The refusal of every call where the place gave no passphrase, or not the vault's. `isNew`: the vault has none yet. */
export function notOpenedFrom(source: KeySource, why: unknown, isNew: boolean): VaultError {
  const cause = why instanceof KeyturnError ? asSentence(why.message) : reasonOf(why);
  // What a vault says about its passphrase is advice for somebody who types it.
  const advice = why instanceof VaultError || !(why instanceof KeyturnError) ? undefined : why.hint;
  const fix = advice ?? 'Look at that place.';
  return new VaultError(
    'locked',
    `the vault is locked: its passphrase comes from ${placeOf(source)} (setting vaultKey), which did not open it. ${cause}`,
    {
      hint: isNew
        ? `${fix} Then: keyturn broker restart. To choose a passphrase and type it instead: keyturn settings set vaultKey passphrase`
        : `${fix} Then: keyturn broker restart. Or type the passphrase of the vault: keyturn unlock`,
    },
  );
}

/** A vault's messages begin with a small letter. */
const asSentence = (text: string): string =>
  `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`.replace(/\.$/, '');

/** Bytes: a passphrase has 1,024 characters at most. */
const maxLength = 4096;

/** Milliseconds: a command that starts the broker waits for twenty seconds. */
const commandTimeout = 15_000;

/**
 * The passphrase; undefined if the settings say that a user types it. Throws `file_unreadable` for a file that can't
 * be read or isn't private, `vault_unavailable` for a command that fails.
 */
export async function passphraseFrom(
  vaultKey: Settings['vaultKey'],
  env: NodeJS.ProcessEnv,
): Promise<string | undefined> {
  const [kind, where] = placeIn(vaultKey);
  if (kind === 'file') return line(await readSecret(where));
  if (kind === 'credential') return line(await readSecret(credentialFile(where, env)));
  if (kind === 'command') return line(await printed(where, env));
  return undefined;
}

/** Of a file that may end with a line break. */
const line = (text: string): string => text.replace(/\r?\n$/, '');

function credentialFile(name: string, { CREDENTIALS_DIRECTORY: folder }: NodeJS.ProcessEnv): string {
  if (folder && path.isAbsolute(folder)) return path.join(folder, name);
  throw new KeyturnError(
    'file_unreadable',
    `There is no credential ${quoted(name)}: systemd did not start this broker with one.`,
    {
      hint: `Put LoadCredentialEncrypted=${name}:FILE or LoadCredential=${name}:FILE into the unit of \`keyturn service install\`; after that, \`systemctl --user daemon-reload\`.`,
    },
  );
}

function readSecret(file: string): Promise<string> {
  const refused = (why: string, hint = '`keyturn settings get vaultKey` names the place.'): KeyturnError =>
    new KeyturnError(
      'file_unreadable',
      `The passphrase of the vault can't be taken from ${quoted(file)}: ${why}.`,
      { hint },
    );
  return readSecretFile(file, {
    maxLength,
    refused,
    check({ uid: owner, mode }) {
      const uid = process.getuid?.();
      // Windows has neither such owners nor such modes.
      if (uid === undefined) return;
      if (owner !== uid && owner !== 0) throw refused(`it belongs to user ${owner}`);
      // An administrator may give it to a group.
      if ((mode & 0o027) !== 0)
        throw refused('others may read or change it', 'chmod 600, or 640 if root gives it to a group.');
    },
  });
}

async function printed(command: string, env: NodeJS.ProcessEnv): Promise<string> {
  try {
    return await readSecretFromCommand(command, env, { maxLength, timeout: commandTimeout });
  } catch (error) {
    throw new KeyturnError(
      'vault_unavailable',
      `The command ${quoted(commandWords(command)[0] ?? '')}, which prints the passphrase of the vault, failed (${failure(error)}).`,
      {
        hint: 'Run it in a terminal: it may say why.',
      },
    );
  }
}

function failure(error: unknown): string {
  if (typeof error !== 'object' || error === null) return 'no reason given';
  const { code, signal } = error as { readonly code?: unknown; readonly signal?: unknown };
  return typeof signal === 'string' ? `ended by ${signal}` : String(code);
}
