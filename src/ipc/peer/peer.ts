/**
 * Who is at the other end of a Unix socket, as the kernel says. Loaded on the broker's side only.
 *
 * Invariant: facts are for refusing other users, for limits, for telling processes apart, for display and for the log.
 * They never prove which app asks: what can't be read is left out, and a missing fact is never a pass.
 */
import type { Socket } from 'node:net';
import { endianness } from 'node:os';
import { KeyturnError } from '../../base/errors.ts';
import { procLink, startOf } from './proc.ts';

export type PeerFacts =
  | {
      readonly kind: 'verified';
      readonly uid: number;
      readonly gid: number;
      readonly pid: number;
      /** When the process began, in the kernel's ticks since boot: with the pid it names one process. */
      readonly startTicks?: string;
      /** Absent if the kernel doesn't tell: another user's or a non-dumpable process. For the log: see program.ts. */
      readonly executable?: string;
    }
  | { readonly kind: 'unverified' };

/** Reads a connected socket's peer. Throws `socket_unsafe` where the kernel refuses to answer. */
export type PeerReader = (socket: Socket) => PeerFacts;

/** From asm-generic/socket.h: right on x86, ARM, RISC-V and s390. */
const SOL_SOCKET = 1;
const SO_PEERCRED = 17;

/** struct ucred: pid, uid, gid, 32 bits each. */
const ucredBytes = 12;

/** The reader for this system. The native call is loaded here, once, and only on systems that need it. */
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
    const words = endianness() === 'LE' ? value : value.swap32();
    const pid = words.readInt32LE(0);
    const [uid, gid] = [words.readUInt32LE(4), words.readUInt32LE(8)];
    // pid 0: the peer lives in a pid namespace that this process can't see.
    const shown = pid > 0 ? { startTicks: startOf(pid), executable: procLink(pid, 'exe') } : {};
    return { kind: 'verified', pid, uid, gid, ...shown };
  };
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
    rule: 'Keyturn wire protocol: the broker checks the peer before it reads a byte',
  });
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
 * True when two readings show one process: the system uses a pid again, so the start time is compared too. Two
 * unverified peers count as the same: nothing tells them apart.
 */
export function sameProcess(a: PeerFacts, b: PeerFacts): boolean {
  if (a.kind === 'unverified' || b.kind === 'unverified') return a.kind === b.kind;
  return a.pid === b.pid && a.uid === b.uid && a.startTicks === b.startTicks;
}
