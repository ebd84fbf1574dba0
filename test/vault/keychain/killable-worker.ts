/** Real keychain workers, one of which can be killed in the middle of a call. */
import { forkWorker } from '../../../src/vault/keychain/keychain-process.ts';
import type { KeychainWorker, SpawnWorker } from '../../../src/vault/keychain/keychain-process.ts';

export interface KillableWorkers {
  readonly spawn: SpawnWorker;
  /** Every worker that was started, in order. */
  readonly started: readonly KeychainWorker[];
  /** The next request reaches its worker, which is then killed. */
  killAtNextRequest(): void;
}

export function killableWorkers(): KillableWorkers {
  const started: KeychainWorker[] = [];
  let isNextKilled = false;
  return {
    started,
    killAtNextRequest: () => void (isNextKilled = true),
    spawn: () => {
      const worker = forkWorker();
      started.push(worker);
      return {
        ...worker,
        post(message) {
          worker.post(message);
          if (isNextKilled) worker.kill();
          isNextKilled = false;
        },
      };
    },
  };
}
