/**
 * A child process of the broker and the channel to it, alike in Node and in Electron.
 *
 * Invariant: messages to a child go over its channel. Its arguments and its environment hold no secret, because
 * every program of the user can read them.
 */
import { fork } from 'node:child_process';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

/** A running child, as narrow as `child_process.fork` and Electron's `utilityProcess.fork` can both be. */
export interface Child {
  post(message: unknown): void;
  onMessage(listener: (message: unknown) => void): void;
  /** Also when the child couldn't be started. May be called more than once. */
  onExit(listener: () => void): void;
  kill(): void;
}

/** `env`: the child's whole environment; by default ours. */
export type SpawnChild = (env?: NodeJS.ProcessEnv) => Child;

/** A child's file beside the file that asks: TypeScript in the source tree, JavaScript once built. */
export function fileBeside(url: string, name: string): string {
  return fileURLToPath(new URL(`./${name}${path.extname(url)}`, url));
}

/** Starts `file` with Node. */
export function forkChild(file: string, env: NodeJS.ProcessEnv = process.env): Child {
  const child = fork(file, [], {
    env,
    serialization: 'json',
    // Our own flags (an inspector's port, for one) aren't for a process that holds secrets; nor is that signal.
    execArgv: ['--disable-sigusr1'],
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  // An idle child never keeps the broker alive.
  child.unref();
  child.channel?.unref();
  return {
    // The callback takes the error of a channel that is closed already: the exit event tells.
    post: (message) => void child.send(message as object, () => undefined),
    onMessage: (listener) => void child.on('message', listener),
    onExit: (listener) => void child.on('exit', listener).on('error', listener),
    // A child that hangs may not get round to a polite signal.
    kill: () => void child.kill('SIGKILL'),
  };
}
