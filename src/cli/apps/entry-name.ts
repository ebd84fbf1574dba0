/**
 * The name under which an entry of a client's configuration pairs, where it was given none.
 *
 * Invariant: the same server and the same program give the same name, at every start; a user at a terminal stands
 * for no program. Two URLs of one host and path, or two long ones that begin alike, share a name by chance once in 16
 * million (2^24). They would share a key then, and each server would still need a permission of its own.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readlinkSync } from 'node:fs';
import path from 'node:path';
import { maxNameLength } from '../../ipc/wire/limits.ts';

/** Characters of the program's name in it. */
const maxProgram = 20;

/** Hexadecimal digits, 24 bits: sets apart names that share their letters, in a name that a user can still read. */
const markLength = 6;

/** `notes.example-mcp-claude-3f9a1c`: host and path, the program that started us, and a mark of the whole URL. */
export function entryName({ host, pathname, href }: URL, program = parentProgram()): string {
  const by = plain(program).slice(0, maxProgram);
  const mark = markOf(href);
  const rest = maxNameLength - by.length - mark.length - 2;
  return `${plain(`${host}${pathname}`).slice(0, rest)}-${by}-${mark}`;
}

/** `notes.example-mcp`: for an entry made in a terminal. With a mark if host and path could be another's. */
export function nameOfServer({ protocol, host, pathname, search, href }: URL): string {
  const place = pathname === '/' ? host : `${host}${pathname}`;
  const name = plain(place);
  const isPlain = /^[A-Za-z0-9][A-Za-z0-9._/]*[A-Za-z0-9._]$/.test(place) && !place.includes('//');
  if (isPlain && search === '' && protocol === 'https:' && name.length <= maxNameLength) return name;
  return `${name.slice(0, maxNameLength - markLength - 1)}-${markOf(href)}`;
}

const markOf = (href: string): string => createHash('sha256').update(href).digest('hex').slice(0, markLength);

/** What an app's name may hold. It begins with a letter or a digit. */
function plain(text: string): string {
  return (
    text
      .replaceAll(/[^A-Za-z0-9._-]+/g, '-')
      .replace(/^[^A-Za-z0-9]+/, '')
      .replace(/-+$/, '') || 'program'
  );
}

/** The executable of the process that started us; an interpreter where that is one. */
function parentProgram(): string {
  try {
    const file =
      process.platform === 'linux'
        ? readlinkSync(`/proc/${process.ppid}/exe`)
        : execFileSync('ps', ['-o', 'comm=', '-p', String(process.ppid)], { encoding: 'utf8' }).trim();
    return path.basename(file.replace(/ \(deleted\)$/, ''));
  } catch {
    return 'program';
  }
}
