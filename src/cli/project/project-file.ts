/**
 * What a `.keyturn.toml` says: the account for each server, and nothing else.
 *
 * Invariants: the file is the user's own, nobody else can write it, and it is no link. One that can't be read, or says
 * anything else, is refused whole, with the line. No message holds content of the file but a key.
 */
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import type { Stats } from 'node:fs';
import { z } from 'zod';
import { KeyturnError, quoted, shellWord } from '../../base/errors.ts';
import { unreadableFile } from '../../base/private-file.ts';
import { systemCode } from '../../base/system-error.ts';
import { maxLength } from '../../ipc/wire/limits.ts';
import { canonicalResource } from '../../oauth/base/resource.ts';
import { NotUnderstood } from '../../setup/formats/edit.ts';
import { tomlItems } from '../../setup/formats/toml-items.ts';
import type { Item } from '../../setup/formats/toml-items.ts';

/** Bytes. A line for each of a hundred servers takes a third. */
const maxBytes = 16 * 1024;

/** Modes by which somebody else can write a file: its group, everybody. */
const othersWrite = 0o022;

/** No line break and no other control character, not even by an escape of TOML's. */
const accountSchema = z
  .string()
  .max(maxLength.account)
  .regex(/^[^\p{Cc}\p{Cs}\p{Zl}\p{Zp}]+$/u);

/** The account for that server; undefined where the file names none. Throws `file_unreadable`. */
export function accountFor(file: string, resource: string): string | undefined {
  const accounts = accountsIn(file, textOf(file));
  return accounts.get(canonical(resource));
}

/** An address that the broker refuses is refused there. */
const canonical = (resource: string): string => canonicalResource(resource, { allowInsecureLoopback: true });

function textOf(file: string): string {
  let descriptor: number;
  try {
    // O_NONBLOCK: a named pipe in its place must not block us.
    descriptor = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    if (systemCode(error) === 'ELOOP')
      throw refused(file, 'it is a symbolic link', 'Put a plain file in its place, or remove it.');
    throw refused(file, `it could not be opened (${systemCode(error)})`, 'Make it readable, or remove it.');
  }
  try {
    const found = fstatSync(descriptor);
    refuseForeign(file, found);
    if (found.size > maxBytes)
      throw refused(file, `it has more than ${maxBytes} bytes`, 'Keep only the lines that name an account.');
    const bytes = Buffer.alloc(maxBytes);
    return new TextDecoder('utf-8', { fatal: true }).decode(
      bytes.subarray(0, readSync(descriptor, bytes, 0, maxBytes, 0)),
    );
  } catch (error) {
    if (error instanceof KeyturnError) throw error;
    throw refused(file, `it could not be read (${systemCode(error)})`, 'It has to be text in UTF-8.');
  } finally {
    closeSync(descriptor);
  }
}

/** Windows has neither such owners nor such modes. */
function refuseForeign(file: string, found: Stats): void {
  if (!found.isFile())
    throw refused(file, 'it is no plain file', 'Put a plain file in its place, or remove it.');
  const own = process.getuid?.();
  if (own === undefined) return;
  const { mode, uid } = found;
  if (uid !== own)
    throw refused(
      file,
      `it belongs to user ${uid}, not to you`,
      'Copy it to a file of your own, or remove it.',
    );
  if ((mode & othersWrite) !== 0)
    throw refused(file, 'others can write it', `If it says what you want: chmod go-w ${shellWord(file)}`);
}

/** By canonical endpoint. */
function accountsIn(file: string, text: string): ReadonlyMap<string, string> {
  const accounts = new Map<string, string>();
  const lineAt = (at: number): number => text.slice(0, at).split('\n').length;
  for (const item of itemsOf(file, text, lineAt)) {
    const refuse = (problem: string): KeyturnError => refused(file, `line ${lineAt(item.from)}: ${problem}`);
    if (isAccountsHeader(item)) continue;
    const endpoint = endpointOf(item);
    if (endpoint === undefined) throw refuse(`${quoted(nameOf(item))} is nothing that Keyturn knows`);
    const account = accountSchema.safeParse(item.value);
    if (!account.success) throw refuse('the account is a text of 1 to 256 characters on one line');
    if (accounts.has(endpoint)) throw refuse(`${quoted(nameOf(item))} is named twice`);
    accounts.set(endpoint, account.data);
  }
  return accounts;
}

function itemsOf(file: string, text: string, lineAt: (at: number) => number): readonly Item[] {
  try {
    return tomlItems(text);
  } catch (error) {
    if (!(error instanceof NotUnderstood)) throw error;
    throw refused(file, `line ${lineAt(error.at ?? 0)}: this is no TOML that Keyturn reads`);
  }
}

const isAccountsHeader = ({ kind, table }: Item): boolean =>
  kind === 'table' && table.length === 1 && table[0] === 'accounts';

/** Undefined for anything but `"URL" = …` below `[accounts]`. */
function endpointOf({ kind, table, key }: Item): string | undefined {
  const [url, ...more] = key;
  if (kind !== 'value' || table.length !== 1 || table[0] !== 'accounts') return undefined;
  if (url === undefined || more.length > 0) return undefined;
  try {
    return canonical(url);
  } catch {
    return undefined;
  }
}

const nameOf = ({ table, key }: Item): string => [...(key.length > 0 ? key : table)].join('.');

function refused(
  file: string,
  problem: string,
  hint = 'It has lines like "https://notes.example/mcp" = "work@example.com" below [accounts], and nothing else.',
): KeyturnError {
  const { reason, message } = unreadableFile(file, problem);
  return new KeyturnError(reason, message, {
    rule: 'A project file that can’t be used is refused, and never skipped',
    hint: `${hint} Or name the account: --account ACCOUNT`,
  });
}
