/**
 * The broker's side of the keychain worker: starts it, asks it, and gives up on it.
 *
 * Invariant: one request is with the worker at a time, and every call settles: by an answer, by the
 * worker's death, or by the time-out, after which the worker is killed and every other call that waits fails with
 * it. A worker that failed in any way isn't asked again: the next call starts a new one.
 */
import type { KeyturnError } from '../../base/errors.ts';
import { fileBeside, forkChild } from '../../base/system/child.ts';
import type { Child, SpawnChild } from '../../base/system/child.ts';
import type { KeychainAnswer, KeychainRequest } from './keychain-messages.ts';
import { answerSchema } from './keychain-messages.ts';
import { personIsAsked, VaultError } from '../base/trouble.ts';
import { closedVault } from '../base/vault.ts';
import type { VaultWatch } from '../base/watch.ts';

export type KeychainWorker = Child;

/** `env`: the worker's whole environment; by default ours. */
export type SpawnWorker = SpawnChild;

export const keychainWorkerFile = fileBeside(import.meta.url, 'keychain-worker');

/** Starts the worker with Node. While a call waits, its time-out keeps the broker alive. */
export const forkWorker: SpawnWorker = (env) => forkChild(keychainWorkerFile, env);

/** Hints for the person whose keychain doesn't answer. */
const orSealedFile =
  'or keep the secrets of a new home in a file under a passphrase: keyturn settings vault sealed-file (or "memory", which forgets them when the broker stops)';
const needsKeyring = `install, start or unlock a keyring (gnome-keyring, KWallet or another Secret Service), ${orSealedFile}`;
const needsModule = `install a C++ compiler and the libsecret headers and run "npm rebuild keytar", ${orSealedFile}`;

/** How keychains say, on Linux and macOS, that they are locked or that the person closed their question. */
const lockedText = /\b(locked|unlock|dismissed|cancell?ed|interaction is not allowed)\b/i;

function refusal(answer: KeychainAnswer & { ok: false }): VaultError {
  if (answer.failure === 'module')
    return new VaultError('absent', `the keychain module keytar doesn't load: ${answer.message}`, {
      hint: needsModule,
    });
  if (lockedText.test(answer.message))
    return new VaultError('keychainLocked', `the keychain is locked: ${answer.message}`, {
      hint: 'unlock your keyring (keyturn unlock asks it), and try again',
    });
  return new VaultError('absent', `the keychain can't be used: ${answer.message}`, {
    hint: needsKeyring,
  });
}

/** A request before it has its number; distributed over the union, so that `set` keeps its value. */
type Unnumbered<T> = T extends unknown ? Omit<T, 'id'> : never;

interface Call {
  readonly request: KeychainRequest;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: KeyturnError) => void;
}

export class KeychainProcess {
  readonly #spawn: SpawnWorker;
  readonly #watch: VaultWatch | undefined;
  /** Milliseconds. */
  readonly #timeout: number;
  /** Milliseconds, while a person is given more time. */
  #promptTimeout: number | undefined;
  #askedAt = 0;
  readonly #calls: Call[] = [];
  #worker: KeychainWorker | undefined;
  #timer: NodeJS.Timeout | undefined;
  #lastId = 0;
  #closed = false;

  /** `timeout` in milliseconds, for each call from when the worker gets it. Starts nothing yet. */
  constructor(spawn: SpawnWorker, timeout: number, watch?: VaultWatch) {
    this.#spawn = spawn;
    this.#timeout = timeout;
    this.#watch = watch;
  }

  /** The worker's answer to one request, not yet typed. Rejects with `vault_unavailable` or `locked`. */
  async ask(request: Unnumbered<KeychainRequest>): Promise<unknown> {
    if (this.#closed) throw closedVault();
    if (this.#promptTimeout === undefined) this.#watch?.mayAsk();
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#calls.push({ request: { ...request, id: ++this.#lastId }, resolve, reject });
    if (this.#calls.length === 1) this.#send();
    return promise;
  }

  /**
   * Runs `work` with `timeout` milliseconds for each call, the one under way included. What only stands in
   * line fails at once: it would wait behind the person. One at a time.
   */
  async withTimeout<T>(timeout: number, work: () => Promise<T>): Promise<T> {
    this.#promptTimeout = timeout;
    if (this.#calls.length > 0) this.#setTimer();
    for (const call of this.#calls.splice(1)) call.reject(personIsAsked());
    try {
      return await work();
    } finally {
      this.#promptTimeout = undefined;
    }
  }

  /** Kills the worker; what waits fails. */
  close(): void {
    this.#closed = true;
    this.#abandon(closedVault());
  }

  #send(): void {
    const call = this.#calls[0];
    if (!call) return;
    this.#askedAt = this.#watch?.now() ?? 0;
    this.#setTimer();
    try {
      this.#worker ??= this.#start();
      this.#worker.post(call.request);
    } catch {
      this.#abandon(
        new VaultError('crashed', "the keychain helper process can't be started", {
          hint: 'check that this user may start another process, and that Keyturn is installed whole',
        }),
      );
    }
  }

  #start(): KeychainWorker {
    const worker = this.#spawn();
    // A killed worker's last words and its exit come later, when another one is at work.
    worker.onMessage((message) => {
      if (worker === this.#worker) this.#settle(message);
    });
    worker.onExit(() => {
      if (worker !== this.#worker) return;
      this.#abandon(
        new VaultError('crashed', 'the keychain helper process ended while it was asked', {
          hint: 'try again: the next call starts a new one',
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
    // Each of those in line would ask the person the same question again.
    if (error.trouble === 'keychainLocked') {
      this.#abandon(error);
      return;
    }
    clearTimeout(this.#timer);
    this.#calls.shift();
    call.reject(error);
    // libsecret holds on to the keyring daemon it met first, so a worker never recovers when that one restarts.
    this.#dropWorker();
    this.#send();
  }

  #abandon(error: KeyturnError): void {
    clearTimeout(this.#timer);
    if (error instanceof VaultError) this.#watch?.refused(error);
    this.#dropWorker();
    for (const call of this.#calls.splice(0)) call.reject(error);
  }

  /** The next call starts a new one. */
  #dropWorker(): void {
    const worker = this.#worker;
    this.#worker = undefined;
    worker?.kill();
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
      { hint: 'keyturn unlock gives you two minutes to answer its question' },
    );
  }
}
