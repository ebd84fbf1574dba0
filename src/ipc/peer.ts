/**
 * Who is at the other end of a Unix socket, as the kernel says. Loaded on the broker's side only.
 *
 * Invariant: facts are for refusing other users, for display and for audit. They never prove which
 * program asks: what can't be read is left out, and a missing fact is never a pass.
 */
import { readFileSync, readlinkSync } from 'node:fs';
import type { Socket } from 'node:net';
import { endianness } from 'node:os';

import { KeyturnError } from '../errors.ts';

export type PeerFacts =
  | {
      readonly kind: 'verified';
      readonly uid: number;
      readonly gid: number;
      readonly pid: number;
      /** When the process began, in the kernel's ticks since boot: with the pid it names one process. */
      readonly startTicks?: string;
      /** Absent where the kernel doesn't tell: another user's or a non-dumpable process. */
      readonly executable?: string;
      /** The parent's name as the kernel keeps it (15 characters); any program can choose its own. */
      readonly parent?: string;
    }
  | { readonly kind: 'unverified' };

/** Reads a connected socket's peer. Throws `socket_unsafe` where the kernel refuses to answer. */
export type PeerReader = (socket: Socket) => PeerFacts;

/** From asm-generic/socket.h: right on x86, ARM, RISC-V and s390. */
const SOL_SOCKET = 1;
const SO_PEERCRED = 17;

/** struct ucred: pid, uid, gid, 32 bits each. */
const ucredBytes = 12;

/** The reader for this system. The native call is loaded here, once, and only where it is of use. */
export async function loadPeerReader(platform = process.platform): Promise<PeerReader> {
  if (platform !== 'linux') return () => ({ kind: 'unverified' });
  const { default: koffi } = await import('koffi');
  // `null`: the symbols of this process, so that glibc and musl both serve.
  const getsockopt = koffi
    .load(null)
    .func('int getsockopt(int fd, int level, int name, void *value, _Inout_ uint32_t *length)');
  return (socket) => {
    const fd = descriptor(socket);
    const value = Buffer.alloc(ucredBytes);
    const length = [ucredBytes];
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, value, length) !== 0 || length[0] !== ucredBytes)
      throw unreadable();
    return withProcess(credentials(value));
  };
}

interface Credentials {
  readonly pid: number;
  readonly uid: number;
  readonly gid: number;
}

function credentials(value: Buffer): Credentials {
  const words = endianness() === 'LE' ? value : value.swap32();
  return { pid: words.readInt32LE(0), uid: words.readUInt32LE(4), gid: words.readUInt32LE(8) };
}

/** Node's own handle of a socket. Undocumented, hence the checks. */
function descriptor(socket: Socket): number {
  const handle: unknown = Reflect.get(socket, '_handle');
  const fd: unknown = typeof handle === 'object' && handle !== null ? Reflect.get(handle, 'fd') : undefined;
  if (typeof fd === 'number' && fd >= 0) return fd;
  throw unreadable();
}

function unreadable(): KeyturnError {
  return new KeyturnError('socket_unsafe', 'the system does not say which user is connecting', {
    rule: 'Keyturn wire contract: the broker checks the peer before it reads a byte',
  });
}

function withProcess(peer: Credentials): PeerFacts {
  // pid 0: the peer lives in a pid namespace that this process can't see.
  if (peer.pid <= 0) return { kind: 'verified', ...peer };
  const executable = attempt(() => readlinkSync(`/proc/${peer.pid}/exe`));
  const fields = statFields(peer.pid);
  const startTicks = fields?.[19];
  const parent = nameOf(fields?.[1]);
  return {
    kind: 'verified',
    ...peer,
    ...(startTicks ? { startTicks } : {}),
    ...(executable ? { executable } : {}),
    ...(parent ? { parent } : {}),
  };
}

/** The numbers of /proc/PID/stat from the process's state on: its parent's pid is at 1, its beginning at 19. */
function statFields(pid: number | string): string[] | undefined {
  const stat = attempt(() => readFileSync(`/proc/${pid}/stat`, 'latin1'));
  // The name in parentheses may hold anything, so the fields are counted from the last parenthesis.
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
}

function nameOf(pid: string | undefined): string | undefined {
  return attempt(() => readFileSync(`/proc/${pid}/comm`, 'utf8').trimEnd());
}

/** Shells within shells: from a program to the desktop there are rarely more than five. */
const mostParents = 8;

/**
 * Names of the processes above a peer, the nearest first, up to init and to eight. For display only:
 * any program chooses its own name, and a parent may end at any moment.
 */
export function parentsOf(peer: PeerFacts): string[] {
  const names: string[] = [];
  if (peer.kind === 'unverified' || peer.pid <= 0) return names;
  let pid = statFields(peer.pid)?.[1];
  while (pid !== undefined && Number(pid) > 1 && names.length < mostParents) {
    const name = nameOf(pid);
    if (name === undefined) break;
    names.push(name);
    pid = statFields(pid)?.[1];
  }
  return names;
}

/** A fact that can't be read is absent; the process may have ended or may belong to someone else. */
function attempt(read: () => string): string | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/**
 * Names one process, for limits that must not fall on others. Undefined where the kernel doesn't
 * tell: such peers can't be told apart.
 */
export function processOf(peer: PeerFacts): string | undefined {
  if (peer.kind === 'unverified' || peer.pid <= 0) return undefined;
  return `${peer.pid}:${peer.startTicks ?? ''}`;
}

/**
 * True when two readings show one process running one program. Two unverified peers are the same:
 * there is nothing to tell them apart by.
 */
export function samePeer(a: PeerFacts, b: PeerFacts): boolean {
  if (a.kind === 'unverified' || b.kind === 'unverified') return a.kind === b.kind;
  return a.pid === b.pid && a.uid === b.uid && a.startTicks === b.startTicks && a.executable === b.executable;
}
