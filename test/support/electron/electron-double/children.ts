/**
 * The double's `utilityProcess`: a real process, with the channel that Electron gives it.
 *
 * Invariant: as in Electron it has no pid before `spawn`, a `kill` before that does nothing, and what was posted is
 * delivered after it. Messages are structured clones, and a rejection that nobody handles is only a warning.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { EventEmitter } from 'node:events';
import path from 'node:path';
import type * as Electron from 'electron';
import { double, failNext } from './app.ts';

/** The delivered form of a module of ours: to read its TypeScript takes a child as long as its work. */
function builtFile(module: string): string {
  const root = path.join(import.meta.dirname, '..', '..', '..', '..');
  return path.join(root, 'dist', 'app', path.relative(root, module)).replace(/\.ts$/, '.js');
}

const channel = path.join(import.meta.dirname, '..', 'parent-port.mjs');

class UtilityProcess extends EventEmitter {
  #child: ChildProcess | undefined;
  #posted: unknown[] = [];

  constructor(file: string, args: readonly string[], env: NodeJS.ProcessEnv, execArgv: readonly string[]) {
    super();
    setImmediate(() => {
      const flags = ['--unhandled-rejections=warn-with-error-code', '--import', channel, ...execArgv];
      const child = fork(file, args, { env, execArgv: flags, stdio: 'ignore', serialization: 'advanced' });
      child.on('message', (message) => this.emit('message', message));
      child.once('exit', (code) => {
        this.#child = undefined;
        this.emit('exit', code ?? 1);
      });
      child.once('spawn', () => {
        this.#child = child;
        for (const message of this.#posted) child.send(message as object);
        this.#posted = [];
        this.emit('spawn');
      });
    });
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  kill(): boolean {
    return this.#child?.kill() ?? false;
  }

  postMessage(message: unknown): void {
    const clone: unknown = structuredClone(message);
    if (this.#child?.connected === true) this.#child.send(clone as object);
    else this.#posted.push(clone);
  }
}

export const utilityProcess = {
  fork(modulePath: string, args: readonly string[] = [], options: Electron.ForkOptions = {}): UtilityProcess {
    const { env = process.env, execArgv = [], stdio = 'inherit' } = options;
    failNext(!double.isReady, 'a utility process is started once the app is ready');
    failNext(Object.values(env).includes(undefined), 'the environment has a variable without a value');
    failNext(Array.isArray(stdio) && stdio[0] !== 'ignore', 'a utility process has no standard input');
    double.children.push(modulePath);
    return new UtilityProcess(builtFile(modulePath), args, { ...env }, execArgv);
  },
};
