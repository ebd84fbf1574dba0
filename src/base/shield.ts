/**
 * Hardens a process that holds secrets, before it reads the first one.
 *
 * Invariant: after `shieldProcess` the kernel writes no core file of this process, and no other process of the same
 * user can trace it or read its memory, where the system offers that. Neither a signal nor a crash makes Node open an
 * inspector or write a report. A step that fails is reported and never fatal. Nothing here stops an administrator.
 * `shieldDesktop` is for a process that needs the desktop's portals: on Linux they refuse a process that they can't
 * look into, so it stays open to tracers as far as the system allows.
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

/** What may be left unprotected, each with the sentence that says so. */
export const shieldGaps = {
  unsupported: 'This system offers no protection for Keyturn’s memory.',
  noNative: 'Keyturn’s memory is not protected: the system’s functions could not be loaded.',
  readable: 'Other programs of this user can read Keyturn’s memory: the system refused to forbid it.',
  traceable:
    'Other programs of this user can read Keyturn’s memory: desktop portals need that, and the system (kernel.yama.ptrace_scope) does not forbid it.',
  coreFile: 'A crash may leave a file with Keyturn’s memory.',
  coreProgram: 'A crash may hand Keyturn’s memory to a program that collects crash reports.',
} as const;

export type ShieldGap = keyof typeof shieldGaps;

/** Shields this process. Resolves to what is left unprotected. */
export const shieldProcess = (platform: NodeJS.Platform = process.platform): Promise<ShieldGap[]> =>
  shield(platform, makeUndumpable);

/**
 * Shields the desktop app's main process. On Linux it may still be traced where the system allows that: to see who
 * calls, xdg-desktop-portal reads /proc/PID/root, and refuses file dialogs and the colour scheme where it may not.
 * A core file still holds none of its memory.
 */
export const shieldDesktop = (platform: NodeJS.Platform = process.platform): Promise<ShieldGap[]> =>
  shield(platform, () => [...emptyCores(), ...traceable()]);

/** `onLinux` keeps other processes from the memory there, and returns what is left unprotected. */
async function shield(
  platform: NodeJS.Platform,
  onLinux: (libc: Library) => readonly ShieldGap[],
): Promise<ShieldGap[]> {
  stopReports();
  // Without a listener this signal opens Node's inspector on a TCP port, for every user of the machine.
  if (platform !== 'win32' && !process.listeners('SIGUSR1').includes(ignored)) process.on('SIGUSR1', ignored);
  if (platform !== 'linux' && platform !== 'darwin') return ['unsupported'];
  try {
    const { default: koffi } = await import('koffi');
    // `null`: the symbols of this process, so that any libc works.
    const libc = koffi.load(null);
    const setrlimit = libc.func('int setrlimit(int resource, const void *limits)');
    // Zero for the soft and the hard limit, of any width: no process of this user can raise it again.
    const noCore = setrlimit(RLIMIT_CORE, Buffer.alloc(rlimitBytes)) === 0;
    const open = platform === 'linux' ? onLinux(libc) : denyAttach(libc);
    return [...(noCore ? [] : (['coreFile'] as const)), ...open];
  } catch {
    return ['noNative'];
  }
}

interface Library {
  func(definition: string): (...args: number[]) => unknown;
}

/**
 * Linux: /proc/PID belongs to root, ptrace is refused, and no core is written, not even to a program (RLIMIT_CORE
 * doesn't apply there, core(5)). The next exec ends this, so each process does it for itself.
 */
function makeUndumpable(libc: Library): readonly ShieldGap[] {
  const number = 'unsigned long';
  const prctl = libc.func(`int prctl(int option, ${number} a, ${number} b, ${number} c, ${number} d)`);
  const isDone = prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) === 0 && prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) === 0;
  return isDone ? [] : ['readable'];
}

/** Linux: a core that goes to a program holds none of our memory. RLIMIT_CORE doesn't apply there (core(5)). */
function emptyCores(): readonly ShieldGap[] {
  try {
    writeFileSync('/proc/self/coredump_filter', '0');
    return [];
  } catch {
    return ['coreProgram'];
  }
}

/** Linux: where Yama is on, only its ancestors and an administrator can trace a process. */
function traceable(): readonly ShieldGap[] {
  try {
    if (Number(readFileSync('/proc/sys/kernel/yama/ptrace_scope', 'utf8')) > 0) return [];
  } catch {
    // A kernel without Yama.
  }
  return ['traceable'];
}

/** macOS: debuggers are refused from now on. Written from the manual; it never ran on a Mac yet. */
function denyAttach(libc: Library): readonly ShieldGap[] {
  const ptrace = libc.func('int ptrace(int request, int pid, size_t address, int data)');
  return ptrace(PT_DENY_ATTACH, 0, 0, 0) === 0 ? [] : ['readable'];
}

/** Node's diagnostic reports hold the environment and the addresses of all connections. */
function stopReports(): void {
  process.report.reportOnFatalError = false;
  process.report.reportOnSignal = false;
  process.report.reportOnUncaughtException = false;
}

/** Options of Node that show memory, TLS keys or requests to others. */
const telling = /^--(inspect|debug|heapsnapshot|tls-keylog|trace-tls)/;

/**
 * Refuses a process whose Node was started so that it shows secrets. Throws `invalid_request`. A broker that a command
 * starts never has such options: its environment is an allow-list.
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
  // Containers set /dev/null, which loads nothing.
  const loading = Object.keys(env).find(
    (name) => /^OPENSSL_(?:CONF|MODULES|ENGINES)$/i.test(name) && env[name] && env[name] !== '/dev/null',
  );
  if (loading !== undefined) throw exposed(`${loading} is set, which loads libraries`);
  if (env['NODE_DEBUG']) throw exposed('NODE_DEBUG is set');
  if (env['NODE_DEBUG_NATIVE']) throw exposed('NODE_DEBUG_NATIVE is set');
}

function exposed(fact: string): KeyturnError {
  return new KeyturnError('invalid_request', `${fact}: it would show tokens to others.`, {
    rule: 'Secrets stay in the vault, in memory or on their connection',
    hint: 'Start the broker without it: look at NODE_OPTIONS, NODE_DEBUG, OPENSSL_CONF and the command line.',
  });
}
