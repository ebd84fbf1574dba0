/**
 * Which program a process runs, as far as the kernel tells. Read when a card opens, not when a list shows it.
 *
 * Invariant: `file` is `attested` only if the kernel says which file runs, the shown path leads to that same file, and
 * the file is no interpreter. A process chooses its names, arguments and folders itself, so they are only claims.
 */
import path from 'node:path';
import { changerOf, type Changer } from '../../base/system/changers.ts';
import { claimOf, type Claim } from './claim.ts';
import { enclosuresOf, type Enclosure } from './enclosure.ts';
import { maxNameLength } from '../wire/limits.ts';
import type { PeerFacts } from './peer.ts';
import { identityOf, procLink, procText, startOf, statFields } from './proc.ts';

/**
 * `interpreter`: what it does is in a script, which the kernel doesn't name. `elsewhere`: the file at this path isn't
 * the one that runs. `unreadable`: the kernel doesn't tell which file runs.
 */
export type FileStanding = 'attested' | 'interpreter' | 'elsewhere' | 'unreadable';

export interface ProgramFacts {
  readonly file: FileStanding;
  /** Path of the executable, as its process sees it. */
  readonly executable?: string;
  readonly changeableBy?: Changer;
  /** Of an interpreter: what it says it runs. */
  readonly claim?: Claim;
  /** The nearest first. */
  readonly enclosures: readonly Enclosure[];
  /** Names of the processes above it, the nearest first: of their files; of interpreters as they call themselves. */
  readonly parents: readonly string[];
}

/**
 * Interpreters, by the name of their file. The dynamic loader is one of them: it runs the file that is its argument. A
 * copy under another name isn't recognised, but the card shows its path.
 */
const interpreters =
  /^(?:node(?:js)?|deno|bun|electron|python[\d.]*|pypy[\d.]*|perl[\d.]*|ruby[\d.]*|php[\d.]*|lua(?:jit)?[\d.]*|tclsh[\d.]*|wish[\d.]*|guile[\d.]*|java|dotnet|mono|julia|gjs|Rscript|R|sh|bash|dash|zsh|fish|ksh[\d.]*|mksh|tcsh|csh|busybox|toybox|[gmn]?awk|osascript|pwsh|wine(?:64)?(?:-preloader)?|qemu-[\w-]+|ld(?:-[\w.-]+)?\.so[\d.]*)(?:\.exe)?$/;

/** Whether the file of that path is known to run scripts. */
export function isInterpreter(executable: string): boolean {
  return interpreters.test(path.posix.basename(executable));
}

/** Identifies the file that a process runs. Undefined if the kernel doesn't tell. */
export function imageOf(peer: PeerFacts): string | undefined {
  if (peer.kind === 'unverified' || peer.pid <= 0) return undefined;
  const image = identityOf(`/proc/${peer.pid}/exe`);
  // The pid may be another process's by now.
  return isStill(peer) ? image : undefined;
}

/** Reads all of it now. */
export function programOf(peer: PeerFacts): ProgramFacts {
  const nothing: ProgramFacts = { file: 'unreadable', enclosures: [], parents: [] };
  if (peer.kind === 'unverified' || peer.pid <= 0) return nothing;
  const { pid } = peer;
  const facts = { ...fileOf(pid), enclosures: enclosuresOf(pid), parents: parentsOf(pid) };
  return isStill(peer) ? facts : nothing;
}

function isStill({ pid, startTicks }: PeerFacts & { readonly kind: 'verified' }): boolean {
  return startTicks !== undefined && startOf(pid) === startTicks;
}

/** The kernel appends this to the path of a deleted file. */
const unlinked = / \(deleted\)$/;

function fileOf(pid: number): Omit<ProgramFacts, 'enclosures' | 'parents'> {
  const image = identityOf(`/proc/${pid}/exe`);
  const link = procLink(pid, 'exe');
  if (image === undefined || link === undefined) return { file: 'unreadable' };
  const isThere = identityOf(link) === image;
  const executable = isThere ? link : link.replace(unlinked, '');
  const claim = isInterpreter(executable) ? claimOf(pid) : undefined;
  // In a container or a mount namespace of its own the same path is another file.
  if (!isThere) return { file: 'elsewhere', executable, ...(claim && { claim }) };
  const changeableBy = changerOf(executable);
  return {
    file: claim ? 'interpreter' : 'attested',
    executable,
    ...(changeableBy && { changeableBy }),
    ...(claim && { claim }),
  };
}

/** How Node calls its main thread, and so its process, unless the program gives itself a title. */
const nodeThread = 'MainThread';

/** Its file's name; an interpreter's own word, which may name the script, where it says one. */
function nameOf(pid: number): string | undefined {
  // The name of the main thread, 15 characters at most.
  const called = procText(pid, 'comm')?.trimEnd();
  const link = procLink(pid, 'exe')?.replace(unlinked, '');
  if (link === undefined || (isInterpreter(link) && called !== nodeThread)) return called;
  return path.posix.basename(link);
}

/** Shells within shells: from a program to the desktop there are rarely more than five. */
const maxParents = 8;

/** Characters: a file's name may have 255, and a list that holds a longer one than the wire takes can't be read. */
const cut = (name: string): string =>
  name.length > maxNameLength ? `${name.slice(0, maxNameLength - 1)}…` : name;

/** Up to init, and to eight. A parent may end at any moment. */
function parentsOf(pid: number): string[] {
  const names: string[] = [];
  let above = statFields(pid)?.[1];
  while (above !== undefined && Number(above) > 1 && names.length < maxParents) {
    const name = nameOf(Number(above));
    if (name === undefined) break;
    names.push(cut(name));
    above = statFields(above)?.[1];
  }
  return names;
}
