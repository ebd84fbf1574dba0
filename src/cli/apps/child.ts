/**
 * A command that runs in the place of this one: its standard streams, its terminal, its signals and its exit code.
 *
 * Invariant: Node can't replace a process (execve), so this one stays as the parent, and passes on what it gets. The
 * command is in the same process group, so that a shell's job control means both. What the terminal sends to the
 * whole group is not passed on: the command has it already.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { quoted } from '../../base/errors.ts';
import { systemCode } from '../../base/system-error.ts';
import { say } from '../terminal/output.ts';

/** What a terminal sends to its foreground group by itself. */
const ofTerminal = ['SIGINT', 'SIGQUIT', 'SIGHUP'] as const;

const always = ['SIGTERM', 'SIGUSR1', 'SIGUSR2', 'SIGALRM'] as const;

/** As shells and env(1) do: the command was not found, or can't be run. */
const notFound = 127;
const notRun = 126;

/** Resolves with the command's exit code; 128 and the signal's number where a signal ended it. */
export async function runInPlace(
  [command, ...args]: readonly [string, ...string[]],
  env: NodeJS.ProcessEnv,
): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>();
  // Before the command begins: a signal that comes with its first step must not end this process and leave it behind.
  let child: ChildProcess | undefined;
  const endSignals = passSignals((signal) => void child?.kill(signal));
  const refuse = (error: unknown): void => {
    const code = systemCode(error);
    const isMissing = code === 'ENOENT';
    say(
      `keyturn: ${quoted(command)} ${isMissing ? 'was not found, or its working folder is gone' : `can't be run (${code})`}.`,
    );
    resolve(isMissing ? notFound : notRun);
  };
  try {
    child = spawn(command, args, { stdio: 'inherit', env });
    child.once('error', refuse);
    child.once('exit', (code, signal) => resolve(code ?? 128 + (signal ? constants.signals[signal] : 0)));
  } catch (error) {
    // Some of the system's errors Node throws at once, such as E2BIG, ENOTDIR and ELOOP.
    refuse(error);
  }
  return promise.finally(endSignals);
}

function passSignals(pass: (signal: NodeJS.Signals) => void): () => void {
  const passUnlessTerminal = (signal: NodeJS.Signals): void => {
    if (!isInForeground()) pass(signal);
  };
  const suspend = (signal: NodeJS.Signals): void => {
    passUnlessTerminal(signal);
    // Without a listener the system's own action counts again: it stops this process, unless nobody could wake it.
    process.off('SIGTSTP', suspend);
    process.kill(process.pid, 'SIGTSTP');
  };
  const goOn = (signal: NodeJS.Signals): void => {
    pass(signal);
    if (!process.listeners('SIGTSTP').includes(suspend)) process.on('SIGTSTP', suspend);
  };
  for (const signal of always) process.on(signal, pass);
  for (const signal of ofTerminal) process.on(signal, passUnlessTerminal);
  process.on('SIGTSTP', suspend);
  process.on('SIGCONT', goOn);
  return () => {
    for (const signal of always) process.off(signal, pass);
    for (const signal of ofTerminal) process.off(signal, passUnlessTerminal);
    process.off('SIGTSTP', suspend);
    process.off('SIGCONT', goOn);
  };
}

/** True where a signal may come from the terminal: it then came to the whole group. */
function isInForeground(): boolean {
  // A console sends to every process of its own, and nothing else sends these there.
  if (process.platform === 'win32') return true;
  if (process.platform !== 'linux') return process.stdin.isTTY || process.stderr.isTTY;
  // proc(5): state, ppid, pgrp, session, tty_nr and tpgid follow the name, which may hold anything but the last `)`.
  const text = readFileSync('/proc/self/stat', 'utf8');
  const [, , group, , terminal, foreground] = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return terminal !== '0' && group === foreground;
}
