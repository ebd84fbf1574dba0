/**
 * The keychain's worker as a child of Electron: RunAsNode is off, so Node's own fork can't start one.
 *
 * Invariant: the same worker file and the same messages as in the headless broker.
 */
import { utilityProcess } from 'electron';
import type { UtilityProcess } from 'electron';
import type { KeychainWorker } from '../../src/vault/keychain/keychain-process.ts';
import { keychainWorkerFile } from '../../src/vault/keychain/keychain-process.ts';

/** Only once the app is ready. */
export function spawnKeychainChild(env: NodeJS.ProcessEnv = process.env): KeychainWorker {
  const child = utilityProcess.fork(keychainWorkerFile, [], {
    env,
    serviceName: 'Keyturn keychain',
    stdio: 'ignore',
    execArgv: [],
  });
  return {
    post: (message) => child.postMessage(message),
    onMessage: (listener) => void child.on('message', listener),
    onExit: (listener) => void child.on('exit', listener).on('error', listener),
    kill: () => end(child),
  };
}

/** Electron's own kill is polite, and a worker that hangs in the keychain doesn't listen. */
function end(child: UtilityProcess): void {
  if (child.pid === undefined) child.kill();
  else {
    try {
      process.kill(child.pid, 'SIGKILL');
    } catch {
      // It has ended by itself.
    }
  }
}
