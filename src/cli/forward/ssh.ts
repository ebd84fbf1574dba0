/**
 * One connection to another machine over the user's own OpenSSH: its host key, a private folder there, and a socket that
 * leads back here.
 *
 * Invariants: OpenSSH signs in and verifies the host, by the user's own configuration; a configuration that verifies
 * nothing is not used. Nothing of the user's home goes to the other machine. All steps share one connection, so they
 * reach the machine whose key was verified.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { rmSync, lstatSync, mkdtempSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { tmpdir } from 'node:os';
import { KeyturnError, quoted, Unreachable } from '../../base/errors.ts';
import { systemCode } from '../../base/system-error.ts';
import { maxLines, SshLog } from './ssh-log.ts';
import { isAlive } from '../broker/broker-end.ts';

const run = promisify(execFile);

/** Whatever the user's configuration says. A connection that hangs is gone within a minute. */
const ownOptions = [
  'ControlPersist=no',
  'ServerAliveInterval=15',
  'ServerAliveCountMax=3',
  'RemoteCommand=none',
  'RequestTTY=no',
  // Releases before 8.7 don't know them.
  'IgnoreUnknown=ForkAfterAuthentication,SessionType,StdinNull',
  'ForkAfterAuthentication=no',
  'SessionType=default',
  'StdinNull=no',
].flatMap((option) => ['-o', option]);

/** Milliseconds that closing may take, on a busy machine or over a slow connection. */
const farewellTimeout = 10_000;

/** Milliseconds between two looks at a connection that is being made. */
const interval = 50;

/** Milliseconds that a step on an open connection may take. */
const stepTimeout = 30_000;

export type OtherMachine = Omit<Session, 'isOpen'>;

/**
 * Throws `host_unreachable`. A password or a host key's question is asked at the terminal, by `ssh` itself. Aborting ends
 * the attempt, and rejects with the signal's reason.
 */
export async function connectOverSsh(host: string, signal: AbortSignal): Promise<OtherMachine> {
  const folder = ownFolder();
  try {
    return await opened(host, folder, signal);
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
}

async function opened(host: string, folder: string, signal: AbortSignal): Promise<OtherMachine> {
  const control = path.join(folder, 'control');
  const log = new SshLog(path.join(folder, 'log'));
  const checked = await verifying(host);
  // -v: nothing else says which host key was verified. -E: the server's banner goes to stderr, and can't pass for it.
  const options = ['-v', '-E', log.file, '-M', '-S', control, ...ownOptions, ...checked];
  // `cat` there waits for input that never comes. If this process is killed, the pipe closes, and the connection ends.
  const master = spawn('ssh', [...options, '--', host, 'exec cat'], { stdio: ['pipe', 'ignore', 'ignore'] });
  master.stdin.on('error', () => undefined);
  let said: readonly string[] | undefined;
  const machine = new Session(host, control, master, () => {
    said = log.end();
    rmSync(folder, { recursive: true, force: true });
  });
  while (!(await machine.isOpen())) {
    if (signal.aborted) {
      master.kill();
      await machine.gone;
      signal.throwIfAborted();
    }
    if (said) throw unreachable(host, said);
    await sleep(interval);
  }
  const hostKey = log.hostKey();
  if (hostKey === undefined) {
    await machine.end(undefined);
    throw unreachable(host, ['ssh did not say which host key it verified']);
  }
  machine.hostKey = hostKey;
  return machine;
}

/** An option that has ssh verify the host, where its configuration would not. */
async function verifying(host: string): Promise<string[]> {
  try {
    const { stdout } = await run('ssh', ['-G', '--', host], { timeout: stepTimeout });
    const isOff = /^stricthostkeychecking (?:false|no|off)$/im.test(stdout);
    return isOff ? ['-o', 'StrictHostKeyChecking=ask'] : [];
  } catch (error) {
    if (systemCode(error) === 'ENOENT') {
      throw new KeyturnError('host_unreachable', 'There is no `ssh` on this machine.', {
        hint: 'Install OpenSSH’s client. On Debian: sudo apt install openssh-client',
        cause: error,
      });
    }
    throw unreachable(host, linesOf(error));
  }
}

class Session {
  /** The fingerprint of its host key, as `ssh` shows it: `SHA256:…`. */
  hostKey = '';
  /** Resolves when the connection is gone. */
  readonly gone: Promise<void>;
  readonly #host: string;
  readonly #control: string;
  readonly #master: ChildProcess;

  constructor(host: string, control: string, master: ChildProcess, onGone: () => void) {
    this.#host = host;
    this.#control = control;
    this.#master = master;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.gone = promise.finally(onGone);
    master.once('close', () => resolve());
    master.once('error', () => resolve());
  }

  async isOpen(): Promise<boolean> {
    try {
      await this.#ssh(['-O', 'check']);
      return true;
    } catch {
      return false;
    }
  }

  /** The path of a folder of the user's there that is private, for the socket. */
  async prepare(): Promise<string> {
    const script = [
      'umask 077',
      'd="${XDG_RUNTIME_DIR:-$HOME/.local/state}/keyturn-forward"',
      'mkdir -p "$d" && chmod 700 "$d"',
      'printf "keyturn-forward:%s\\n" "$d"',
    ].join('; ');
    const { stdout } = await this.#step([], `exec sh -c '${script}'`);
    // A profile may print lines of its own. A colon or a quote would mean something else to ssh than a path.
    const folder = /^keyturn-forward:(\/[\w./@+~-]*)$/m.exec(stdout)?.[1];
    if (folder === undefined) throw unreachable(this.#host, ['it names no usable folder for the socket']);
    return folder;
  }

  /** Connections to `far` come out at `local`, the path of a socket here. */
  async forward(far: string, local: string): Promise<void> {
    // sshd doesn't replace one that a lost connection left.
    await this.#step([], `rm -f ${far}`);
    await this.#step(['-O', 'forward', '-R', `${far}:${local}`]);
  }

  /** Removes that socket there, and its folder unless another forward uses it; ends the connection. Never fails. */
  async end(far: string | undefined): Promise<void> {
    if (far !== undefined) {
      const removal = `rm -f ${far}; rmdir ${path.posix.dirname(far)}`;
      await this.#ssh([], removal, farewellTimeout).catch(() => undefined);
    }
    await this.#ssh(['-O', 'exit'], undefined, farewellTimeout).catch(() => this.#master.kill());
    await this.gone;
  }

  async #step(options: readonly string[], command?: string): Promise<{ stdout: string }> {
    try {
      return await this.#ssh(options, command);
    } catch (error) {
      throw unreachable(this.#host, linesOf(error));
    }
  }

  /** Over the open connection, and over no other. */
  async #ssh(
    options: readonly string[],
    command?: string,
    timeout = stepTimeout,
  ): Promise<{ stdout: string }> {
    const closed = ['ControlMaster=no', 'ProxyCommand=false', 'RemoteCommand=none'];
    const own = ['-S', this.#control, ...closed.flatMap((option) => ['-o', option]), ...options];
    const words = [...own, '--', this.#host, ...(command === undefined ? [] : [command])];
    return run('ssh', words, { timeout });
  }
}

function linesOf(error: unknown): string[] {
  const stderr = error instanceof Error && 'stderr' in error ? error.stderr : undefined;
  return typeof stderr === 'string' ? stderr.trim().split('\n').slice(-maxLines) : [];
}

function unreachable(host: string, said: readonly string[]): Unreachable {
  const why = said.length === 0 ? '' : ` ssh says: ${quoted(said.join(' ').slice(0, 500))}`;
  return new Unreachable('host_unreachable', `${quoted(host)} can’t be reached over ssh.${why}`, {
    hint: 'Try the same host with `ssh`. Its server has to allow AllowStreamLocalForwarding.',
  });
}

const prefix = 'keyturn-ssh-';

/** Makes it. The name holds the id of this process. */
function ownFolder(): string {
  // Folders of commands that were killed. One whose process id is in use again is removed another time.
  for (const name of readdirSync(tmpdir()).filter((entry) => entry.startsWith(prefix))) {
    const pid = Number(/^\d+(?=-)/.exec(name.slice(prefix.length))?.[0]);
    const folder = path.join(tmpdir(), name);
    const found = lstatSync(folder, { throwIfNoEntry: false });
    if (!found?.isDirectory() || found.uid !== process.getuid?.() || !(pid > 0) || isAlive(pid)) continue;
    rmSync(folder, { recursive: true, force: true });
  }
  return mkdtempSync(path.join(tmpdir(), `${prefix}${process.pid}-`));
}
