/**
 * What a process that holds secrets does to itself before it reads the first one.
 *
 * Invariant: after `shieldProcess` the kernel writes no core file of this process, lets no other
 * process of the same user trace it or read its memory (where the system can do so), and neither a
 * signal nor a crash makes Node open an inspector or write a report. What can't be done is reported, and
 * is never fatal: the broker works without. None of it stops an administrator. `shieldDesktop` is the same for a
 * process that needs the desktop's portals, which on Linux talk to nobody who can't be traced.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import inspector from 'node:inspector';
import { KeyturnError, quoted } from './errors.ts';

/** <linux/prctl.h>. */
const PR_GET_DUMPABLE = 3;
const PR_SET_DUMPABLE = 4;

/** <sys/resource.h>: the same on Linux and macOS. */
const RLIMIT_CORE = 4;

/** <sys/ptrace.h> of macOS. */
const PT_DENY_ATTACH = 31;

/** struct rlimit: two numbers, none of them wider than 64 bits. */
const rlimitBytes = 16;

const ignored = (): void => undefined;

const mayBeRead = 'other programs of yours may read its memory';
const refused = [`${mayBeRead}: the system refused to forbid it`] as const;

/** Shields this process; answers what could not be done, a sentence each. Empty: everything was. */
export const shieldProcess = (platform: NodeJS.Platform = process.platform): Promise<string[]> =>
  shield(platform, makeUndumpable);

/**
 * Shields a desktop app's own process. On Linux it stays open to its user's tracers as far as the system
 * lets it: xdg-desktop-portal asks /proc/PID/root who calls, and refuses file dialogs and the colour
 * scheme to a process where it may not look. A core of it holds no memory all the same.
 */
export const shieldDesktop = (platform: NodeJS.Platform = process.platform): Promise<string[]> =>
  shield(platform, () => [...emptyCores(), ...traceable()]);

/** `onLinux` keeps memory from others there; answers what it could not do. */
async function shield(
  platform: NodeJS.Platform,
  onLinux: (libc: Library) => readonly string[],
): Promise<string[]> {
  stopReports();
  // Without a listener this signal opens Node's inspector on a TCP port, for every user of the machine.
  if (platform !== 'win32' && !process.listeners('SIGUSR1').includes(ignored)) process.on('SIGUSR1', ignored);
  if (platform !== 'linux' && platform !== 'darwin') return ['this system offers no shield for its memory'];
  try {
    const { default: koffi } = await import('koffi');
    // `null`: the symbols of this process, so that every libc serves.
    const libc = koffi.load(null);
    const setrlimit = libc.func('int setrlimit(int resource, const void *limits)');
    // Zeroes, soft and hard, for a number of any width: nobody of this user can raise it again.
    const noCore = setrlimit(RLIMIT_CORE, Buffer.alloc(rlimitBytes)) === 0;
    const open = platform === 'linux' ? onLinux(libc) : denyAttach(libc);
    return [...(noCore ? [] : ['a crash may leave a core file: setrlimit failed']), ...open];
  } catch {
    return ['its memory is not shielded: the native calls could not be loaded'];
  }
}

interface Library {
  func(definition: string): (...args: number[]) => unknown;
}

/**
 * Linux: /proc/PID belongs to root, ptrace is refused and no core is written, not even to a program
 * (where RLIMIT_CORE does not count, core(5)). Ends with the next exec, so each process does it anew.
 */
function makeUndumpable(libc: Library): readonly string[] {
  const number = 'unsigned long';
  const prctl = libc.func(`int prctl(int option, ${number} a, ${number} b, ${number} c, ${number} d)`);
  const isDone = prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) === 0 && prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) === 0;
  return isDone ? [] : refused;
}

/** Linux: a core that goes to a program, where RLIMIT_CORE does not count, gets none of our memory (core(5)). */
function emptyCores(): readonly string[] {
  try {
    writeFileSync('/proc/self/coredump_filter', '0');
    return [];
  } catch {
    return ['a crash may hand its memory to a program that collects cores'];
  }
}

/** Linux: where Yama is on, only what started a process, or is an administrator's, traces it. */
function traceable(): readonly string[] {
  try {
    if (Number(readFileSync('/proc/sys/kernel/yama/ptrace_scope', 'utf8')) > 0) return [];
  } catch {
    // A kernel without Yama.
  }
  return [`${mayBeRead}: desktop portals need that, and kernel.yama.ptrace_scope does not forbid it`];
}

/** macOS: debuggers are refused from now on. Written by its manual, run on no Mac yet. */
function denyAttach(libc: Library): readonly string[] {
  const ptrace = libc.func('int ptrace(int request, int pid, size_t address, int data)');
  return ptrace(PT_DENY_ATTACH, 0, 0, 0) === 0 ? [] : refused;
}

/** Node's diagnostic reports hold the environment and the addresses of all connections. */
function stopReports(): void {
  process.report.reportOnFatalError = false;
  process.report.reportOnSignal = false;
  process.report.reportOnUncaughtException = false;
}

/** Options of Node that write memory, TLS keys or requests where others read them. */
const telling = /^--(inspect|debug|heapsnapshot|tls-keylog|trace-tls)/;

/**
 * Refuses to hold secrets in a process whose Node was told to show them. Throws `invalid_request`. A
 * broker that a command starts never has such options: its environment is an allow-list.
 */
export function refuseExposure(
  env: NodeJS.ProcessEnv = process.env,
  execArgv: readonly string[] = process.execArgv,
): void {
  const options = [...execArgv, ...(env['NODE_OPTIONS'] ?? '').split(/[\s"']+/)];
  // Node takes an underscore for a hyphen.
  const found = options.find((option) => telling.test(option.replaceAll('_', '-')));
  if (found !== undefined) throw exposed(`Node was started with ${quoted(found)}`);
  if (inspector.url() !== undefined) throw exposed('Node’s inspector is open');
  if (env['NODE_DEBUG']) throw exposed('NODE_DEBUG is set');
  if (env['NODE_DEBUG_NATIVE']) throw exposed('NODE_DEBUG_NATIVE is set');
}

function exposed(fact: string): KeyturnError {
  return new KeyturnError('invalid_request', `${fact}: it would show tokens to others.`, {
    rule: 'Secrets stay in the vault, in memory or on their connection (SECURITY.md)',
    hint: 'Start the broker without it: look at NODE_OPTIONS, NODE_DEBUG and the command line.',
  });
}
