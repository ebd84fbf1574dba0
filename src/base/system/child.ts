/**
 * A child process of the broker and the channel to it, the same in Node and in Electron.
 *
 * Invariant: messages to a child go over its channel. Its arguments and environment hold no secret, because every
 * program of the user can read them.
 */
import { fork } from 'node:child_process';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { isSingle } from './single.ts';

/** A running child: what `child_process.fork` and Electron's `utilityProcess.fork` have in common. */
export interface Child {
  post(message: unknown): void;
  onMessage(listener: (message: unknown) => void): void;
  /** Also if the child couldn't be started. `listener` may be called more than once. */
  onExit(listener: () => void): void;
  kill(): void;
}

/** `env`: the child's whole environment; by default ours. */
export type SpawnChild = (env?: NodeJS.ProcessEnv) => Child;

/** The first argument of a child process, in an executable of one file. */
export const childWord = (name: string): string => `__${name}`;

/** The file `name` beside the module `url`: TypeScript in the source tree, JavaScript once built; or its word. */
export function fileBeside(url: string, name: string): string {
  if (isSingle) return childWord(name);
  return fileURLToPath(new URL(`./${name}${path.extname(url)}`, url));
}

/** Starts `file` with Node; a word, with this executable. */
export function forkChild(file: string, env: NodeJS.ProcessEnv = process.env): Child {
  const child = fork(file, [], {
    env,
    serialization: 'json',
    // Not our own flags, such as an inspector's port: the child holds secrets. SIGUSR1 must open none.
    // An executable of one file has them built in.
    execArgv: isSingle ? [] : ['--disable-sigusr1'],
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  // An idle child never keeps the broker alive.
  child.unref();
  child.channel?.unref();
  return {
    // The callback ignores the error of a closed channel: the exit event reports that.
    post: (message) => void child.send(message as object, () => undefined),
    onMessage: (listener) => void child.on('message', listener),
    onExit: (listener) => void child.on('exit', listener).on('error', listener),
    // A child that hangs may never handle SIGTERM.
    kill: () => void child.kill('SIGKILL'),
  };
}
