/**
 * The broker's side of the keychain worker: it starts the worker, sends the requests, and kills a worker that fails.
 *
 * Invariants: the worker has one request at a time. Every call settles: with an answer, when the worker exits, or at
 * the time-out. After an exit or a time-out all queued calls fail too. A worker that failed in any way gets no further
 * request: the next call starts a new one.
 */
import type { KeyturnError } from '../../base/errors.ts';
import { fileBeside, forkChild, type Child, type SpawnChild } from '../../base/system/child.ts';
import { answerSchema, type KeychainAnswer, type KeychainRequest } from './keychain-messages.ts';
import { userIsAsked, VaultError } from '../base/trouble.ts';
import { closedVault } from '../base/vault.ts';
import type { VaultWatch } from '../base/watch.ts';

export const keychainWorkerFile = fileBeside(import.meta.url, 'keychain-worker');

/** Starts the worker with Node. The worker doesn't keep this process alive; the time-out of a waiting call does. */
export const forkWorker: SpawnChild = (env) => forkChild(keychainWorkerFile, env);

/** Hints for the user whose keychain doesn't answer. */
const orSealedFile =
  'or keep the secrets of a new home in a file under a passphrase: keyturn settings set vault sealed-file (or "memory", which forgets them when the broker stops).';
const withoutDesktop = 'without a desktop as docs/guides/scripts-and-ci.md says';
const needsKeyring = `Install, start or unlock a keyring (gnome-keyring, KWallet or another Secret Service; ${withoutDesktop}), ${orSealedFile}`;
const needsModule = `Install a C++ compiler and the libsecret headers and run "npm rebuild keytar", ${orSealedFile}`;

/** The words by which keychains on Linux and macOS say that they are locked, or that the user closed the prompt. */
const lockedText = /\b(locked|unlock|dismissed|cancell?ed|interaction is not allowed)\b/i;

function refusal(answer: KeychainAnswer & { ok: false }): VaultError {
  if (answer.failure === 'module')
    return new VaultError('absent', `the keychain module keytar doesn't load: ${answer.message}`, {
      hint: needsModule,
    });
  if (lockedText.test(answer.message))
    return new VaultError('keychainLocked', `the keychain is locked: ${answer.message}`, {
      hint: `Unlock your keyring (keyturn unlock asks it; ${withoutDesktop}), and try again.`,
    });
  return new VaultError('absent', `the keychain can't be used: ${answer.message}`, {
    hint: needsKeyring,
  });
}

/** A request without its id. The condition distributes over the union, so that the type of `set` keeps its `value`. */
export type WithoutId<T = KeychainRequest> = T extends unknown ? Omit<T, 'id'> : never;

interface Call {
  readonly request: KeychainRequest;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: KeyturnError) => void;
}

export class KeychainProcess {
  readonly #spawn: SpawnChild;
  readonly #watch: VaultWatch | undefined;
  /** Milliseconds. */
  readonly #timeout: number;
  /** Milliseconds, while `withTimeout` gives the user more time. */
  #promptTimeout: number | undefined;
  #askedAt = 0;
  readonly #calls: Call[] = [];
  #worker: Child | undefined;
  /** A killed worker may still reach the keychain: the next one starts after its end. */
  #ending: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #lastId = 0;
  #closed = false;

  /** `timeout`: milliseconds for each call, from when its turn comes. The first call starts the worker. */
  constructor(spawn: SpawnChild, timeout: number, watch?: VaultWatch) {
    this.#spawn = spawn;
    this.#timeout = timeout;
    this.#watch = watch;
  }

  /** The worker's answer to one request; the caller checks its type. Rejects with `vault_unavailable` or `locked`. */
  async ask(request: WithoutId): Promise<unknown> {
    if (this.#closed) throw closedVault();
    if (this.#promptTimeout === undefined) this.#watch?.mayAsk();
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#calls.push({ request: { ...request, id: ++this.#lastId }, resolve, reject });
    if (this.#calls.length === 1) this.#send();
    return promise;
  }

  /**
   * Runs `work` with `timeout` milliseconds for each call, including the running one. Queued calls fail at once, since
   * they would wait for the user too. The caller runs one `withTimeout` at a time.
   */
  async withTimeout<T>(timeout: number, work: () => Promise<T>): Promise<T> {
    this.#promptTimeout = timeout;
    if (this.#calls.length > 0) this.#setTimer();
    for (const call of this.#calls.splice(1)) call.reject(userIsAsked());
    try {
      return await work();
    } finally {
      this.#promptTimeout = undefined;
    }
  }

  close(): void {
    this.#closed = true;
    this.#abandon(closedVault());
  }

  #send(): void {
    const call = this.#calls[0];
    if (!call) return;
    this.#askedAt = this.#watch?.now() ?? 0;
    this.#setTimer();
    if (!this.#ending) return this.#post(call);
    void this.#postAfter(this.#ending, call);
  }

  async #postAfter(ending: Promise<void>, call: Call): Promise<void> {
    await ending;
    // It may have run into its time-out meanwhile.
    if (call === this.#calls[0]) this.#post(call);
  }

  #post(call: Call): void {
    try {
      this.#worker ??= this.#start();
      this.#worker.post(call.request);
    } catch {
      this.#abandon(
        new VaultError('crashed', "the keychain helper process can't be started", {
          hint: 'Check that this user may start another process, and that Keyturn is installed whole.',
        }),
      );
    }
  }

  #start(): Child {
    const worker = this.#spawn();
    // The last messages and the exit of a killed worker can arrive after a new worker has started.
    worker.onMessage((message) => {
      if (worker === this.#worker) this.#settle(message);
    });
    worker.onExit(() => {
      if (worker !== this.#worker) return;
      this.#worker = undefined;
      this.#abandon(
        new VaultError('crashed', 'the keychain helper process ended while it was asked', {
          hint: 'Try again: the next call starts a new one. If Keyturn was updated or moved meanwhile: keyturn broker restart',
        }),
      );
    });
    return worker;
  }

  #settle(message: unknown): void {
    const parsed = answerSchema.safeParse(message);
    const call = this.#calls[0];
    if (!parsed.success || parsed.data.id !== call?.request.id) {
      this.#abandon(
        new VaultError('crashed', "the keychain helper process said something that isn't an answer"),
      );
      return;
    }
    if (!parsed.data.ok) {
      this.#refused(call, refusal(parsed.data));
      return;
    }
    clearTimeout(this.#timer);
    this.#calls.shift();
    this.#watch?.answered(this.#watch.now() - this.#askedAt);
    call.resolve(parsed.data.value);
    this.#send();
  }

  #refused(call: Call, error: VaultError): void {
    // Each queued call would open the same prompt again.
    if (error.kind === 'keychainLocked') {
      this.#abandon(error);
      return;
    }
    clearTimeout(this.#timer);
    this.#calls.shift();
    call.reject(error);
    // libsecret keeps its first connection to the keyring daemon, so this worker would fail after the daemon restarts.
    this.#dropWorker();
    this.#send();
  }

  #abandon(error: KeyturnError): void {
    clearTimeout(this.#timer);
    if (error instanceof VaultError) this.#watch?.refused(error);
    this.#dropWorker();
    for (const call of this.#calls.splice(0)) call.reject(error);
  }

  /** The next call starts a new worker. */
  #dropWorker(): void {
    const worker = this.#worker;
    if (!worker) return;
    this.#worker = undefined;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#ending = promise;
    worker.onExit(() => {
      if (this.#ending === promise) this.#ending = undefined;
      resolve();
    });
    worker.kill();
  }

  #setTimer(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#abandon(this.#hung()), this.#promptTimeout ?? this.#timeout);
  }

  #hung(): VaultError {
    const seconds = (this.#promptTimeout ?? this.#timeout) / 1000;
    return new VaultError(
      'waiting',
      `the keychain didn't answer within ${seconds} s; it is probably waiting for you to unlock it`,
      { hint: '`keyturn unlock` gives you two minutes to answer its question.' },
    );
  }
}
