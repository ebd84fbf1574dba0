/**
 * Where an assertion that isn't ours comes from: a workload's from a file, a command or a variable of the environment,
 * and a company's ID token from a file. The user named it.
 *
 * Invariant: it is read again for each token request, and kept nowhere. One that was refused is not sent again for a
 * minute unless it changed, and a command that failed is not started again for ten seconds; both end automatically, and
 * at once if the user signs in. A command gets no shell, and nothing on its standard input. Nothing waits for
 * a pipe.
 */
import { createHash } from 'node:crypto';
import { KeyturnError, quoted } from '../../../base/errors.ts';
import type { Reason } from '../../../base/errors.ts';
import { keyedMutex } from '../../../base/mutex.ts';
import { readSecretFile } from '../../../base/system/secret-file.ts';
import { commandWords, readSecretFromCommand } from '../../../base/system/secret-from-command.ts';
import { refusedUntil } from '../../refusals/refresh-refusals.ts';

/** Bytes: a JWT with a chain of certificates in its header is a few thousand long. */
const maxLength = 64 * 1024;

/** Milliseconds: a command may ask a server on this machine's network. An app's request waits longer. */
const commandTimeout = 10_000;

/** Milliseconds. A server would give the same assertion the same answer, unless its operator changes something. */
const refusedPause = 60_000;

/** Milliseconds: what an app that asks in a loop may cost. */
const failedPause = 10_000;

/** The same text would bring the same answer. Of any other reason, another scope may bring another answer. */
const finalReasons: ReadonlySet<Reason> = new Set([
  'account_mismatch',
  'assertion_invalid',
  'client_rejected',
  'login_failed',
]);

interface Failure {
  readonly error: KeyturnError;
  readonly until: number;
  /** Of the assertion that was refused; absent if none was read. */
  readonly digest?: string;
}

export interface AssertionUse {
  /** `file:PATH`, `command:COMMAND` or `env:NAME`. */
  readonly source: string;
  /** Whom the assertion is for. */
  readonly issuer: string;
  /** The user acts: the pauses end. */
  readonly isByUser: boolean;
}

export interface IdTokenUse extends Pick<AssertionUse, 'isByUser'> {
  readonly file: string;
  readonly resource: string;
  /** The sign-in to renew. Another person's token is refused for that one only. */
  readonly signInId: string | undefined;
}

export class AssertionSources {
  readonly #now: () => number;
  readonly #failures = new Map<string, Failure>();
  readonly #reading = keyedMutex();

  /** `now`: milliseconds, steady. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Reads the assertion and hands it to `redeem`. Throws `assertion_invalid`, and what `redeem` throws. */
  async use<T>(
    { source, issuer, isByUser }: AssertionUse,
    redeem: (assertion: string) => Promise<T>,
  ): Promise<T> {
    const key = JSON.stringify([source, issuer]);
    if (isByUser) this.#failures.delete(key);
    const assertion = await this.#reading(source, () => this.#read(key, source));
    return this.#unlessRefused(key, assertion, redeem);
  }

  /** Reads the ID token and hands it to `redeem`. Throws `file_unreadable`, and what `redeem` throws. */
  async useIdToken<T>(
    { file, resource, signInId, isByUser }: IdTokenUse,
    redeem: (idToken: string) => Promise<T>,
  ): Promise<T> {
    const key = JSON.stringify([file, resource, signInId]);
    if (isByUser) this.#failures.delete(key);
    const text = await readSecretFile(file, { maxLength, refused: (why) => noIdToken(file, why) });
    const idToken = text.trim();
    if (!/^[\w-]+\.[\w-]+\.[\w-]*$/.test(idToken)) throw noIdToken(file, 'it holds something else');
    return this.#unlessRefused(key, idToken, redeem);
  }

  async #unlessRefused<T>(key: string, text: string, redeem: (text: string) => Promise<T>): Promise<T> {
    const digest = createHash('sha256').update(text).digest('base64url');
    if (this.#paused(key)?.digest === digest) this.#refusePaused(key);
    try {
      const redeemed = await redeem(text);
      this.#failures.delete(key);
      return redeemed;
    } catch (error) {
      if (error instanceof KeyturnError && finalReasons.has(error.reason))
        this.#note(key, { error, digest, until: this.#now() + refusedPause });
      throw error;
    }
  }

  async #read(key: string, source: string): Promise<string> {
    const isCommand = source.startsWith('command:');
    if (isCommand && this.#paused(key)) this.#refusePaused(key);
    try {
      return await readAssertion(source);
    } catch (error) {
      if (isCommand && error instanceof KeyturnError)
        this.#note(key, { error, until: this.#now() + failedPause });
      throw error;
    }
  }

  #note(key: string, failure: Failure): void {
    for (const [known, { until }] of this.#failures) if (until <= this.#now()) this.#failures.delete(known);
    this.#failures.set(key, failure);
  }

  #paused(key: string): Failure | undefined {
    const failure = this.#failures.get(key);
    return failure && failure.until > this.#now() ? failure : undefined;
  }

  #refusePaused(key: string): void {
    const failure = this.#paused(key);
    if (failure) throw refusedUntil(failure.error, failure.until - this.#now());
  }
}

async function readAssertion(source: string): Promise<string> {
  const [, kind, where = ''] = /^(file|command|env):(.*)$/s.exec(source) ?? [];
  const text =
    kind === 'file'
      ? await readSecretFile(where, { maxLength, refused: (why) => unreadable(where, why) })
      : kind === 'env'
        ? process.env[where]
        : await printed(where);
  const assertion = (text ?? '').trim();
  if (assertion !== '') return assertion;
  throw unreadable(source, kind === 'env' ? 'the broker was started without it' : 'it is empty');
}

async function printed(command: string): Promise<string> {
  try {
    return await readSecretFromCommand(command, process.env, { maxLength, timeout: commandTimeout });
  } catch {
    throw unreadable(commandWords(command)[0] ?? '', 'the command failed or took too long');
  }
}

function unreadable(source: string, why: string): KeyturnError {
  return new KeyturnError(
    'assertion_invalid',
    `The assertion of this workload can't be read from ${quoted(source)}: ${why}.`,
    {
      hint: 'keyturn oauth-client add --assertion names its source. The broker reads it with its own rights and environment.',
    },
  );
}

function noIdToken(file: string, why: string): KeyturnError {
  return new KeyturnError('file_unreadable', `There is no ID token in ${quoted(file)}: ${why}.`, {
    hint: 'The file that --id-token-file named must be readable and hold one ID token of the identity provider.',
  });
}
