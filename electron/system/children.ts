/**
 * The broker's children as children of Electron: RunAsNode is off, so Node's own fork can't start one.
 *
 * Invariant: the same files and the same messages as in the headless broker.
 */
import { utilityProcess, type UtilityProcess } from 'electron';
import type { Child } from '../../src/base/system/child.ts';
import { proxyWorkerFile } from '../../src/proxy/worker-file.ts';
import { keychainWorkerFile } from '../../src/vault/keychain/keychain-process.ts';

/** Only once the app is ready. */
export const spawnKeychainChild = (env?: NodeJS.ProcessEnv): Child =>
  spawnChild(keychainWorkerFile, 'Keyturn keychain', env);

/** Only once the app is ready. */
export const spawnProxyChild = (env?: NodeJS.ProcessEnv): Child =>
  spawnChild(proxyWorkerFile, 'Keyturn proxies', env);

function spawnChild(file: string, serviceName: string, env: NodeJS.ProcessEnv = process.env): Child {
  // Electron refuses a variable without a value, which Node leaves out.
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined));
  const child = utilityProcess.fork(file, [], { env: given, serviceName, stdio: 'ignore', execArgv: [] });
  return {
    post: (message) => child.postMessage(message),
    onMessage: (listener) => void child.on('message', listener),
    onExit: (listener) => void child.on('exit', listener).on('error', listener),
    kill: () => end(child),
  };
}

/**
 * Electron's own kill is polite, and a worker that hangs in the keychain doesn't listen. Before `spawn` a child has no
 * pid, and Electron's kill does nothing: it would still do what was posted to it.
 */
function end(child: UtilityProcess): void {
  if (child.pid === undefined) child.once('spawn', () => end(child));
  else {
    try {
      process.kill(child.pid, 'SIGKILL');
    } catch {
      // It has ended.
    }
  }
}
