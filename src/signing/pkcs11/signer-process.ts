/**
 * The broker's side of one signer: it starts the process of a module, sends the calls, and kills a process that fails.
 *
 * Invariants: the process has one call at a time, and every call settles: with an answer, when the process ends, or at
 * the time-out. A PIN that the token refused isn't sent again, since a token locks itself after a few wrong ones. A key
 * counts as gone only if a process that was started anew says so too.
 */
import { createHash } from 'node:crypto';

import { KeyturnError, quoted } from '../../base/errors.ts';
import { mutex } from '../../base/mutex.ts';
import type { Mutex } from '../../base/mutex.ts';
import type { Child, SpawnChild } from '../../base/system/child.ts';
import { keyLost, keyUnavailable } from '../base/signing-key.ts';
import type { TokenPlace } from '../base/signing-key.ts';
import { answerSchema } from './messages.ts';
import type { SignerAnswer, SignerCall, SignerFailure } from './messages.ts';

/** Milliseconds: a key in a slow token takes a few seconds to make. */
const callTimeout = 20_000;

export interface SignerOptions {
  /** Starts the process. */
  readonly spawn: SpawnChild;
  /** The PIN of a token, read anew; undefined: there is none. Throws `file_unreadable` and what the vault throws. */
  readonly pinOf: (place: TokenPlace) => Promise<string | undefined>;
  /** Milliseconds. */
  readonly timeout?: number;
}

/** Why the process gave no answer. */
type Silence = 'ended' | 'hangs' | 'nonsense' | 'unstartable';

export class SignerProcess {
  readonly #options: SignerOptions;
  readonly #inTurn: Mutex = mutex();
  /** By token, digests of PINs that it refused. */
  readonly #refusedPins = new Map<string, string>();
  #child: Child | undefined;
  /** The call under way waits for this. */
  #heard: (said: SignerAnswer | Silence) => void = () => undefined;
  #lastId = 0;

  constructor(options: SignerOptions) {
    this.#options = options;
  }

  /** The value of the answer; the caller checks it. Throws `key_lost`, `key_unavailable` and what reading the PIN throws. */
  async ask(place: TokenPlace, call: SignerCall): Promise<unknown> {
    return this.#inTurn(async () => {
      const first = await this.#asked(place, call);
      // A module shows what was there when it began.
      const isStale = !first.ok && (first.failure === 'key' || first.failure === 'token');
      const last = isStale ? await this.#asked(place, call) : first;
      if (last.ok) return last.value;
      throw last.failure === 'key' ? keyLost(place) : unavailable(place, last);
    });
  }

  /** Ends the process. The next call starts a new one. */
  close(): void {
    const child = this.#child;
    this.#child = undefined;
    child?.kill();
  }

  async #asked(place: TokenPlace, call: SignerCall): Promise<SignerAnswer> {
    const first = await this.#sent(place, call);
    const answer = !first.ok && first.failure === 'pinWanted' ? await this.#withPin(place, call) : first;
    if (!answer.ok) this.close();
    return answer;
  }

  async #withPin(place: TokenPlace, call: SignerCall): Promise<SignerAnswer> {
    const pin = await this.#options.pinOf(place);
    if (pin === undefined) throw noPin(place);
    const token = JSON.stringify([place.token, place.serial]);
    const digest = createHash('sha256').update(pin).digest('base64url');
    if (this.#refusedPins.get(token) === digest)
      throw unavailable(place, { failure: 'pinRefused', message: '' });
    const answer = await this.#sent(place, { ...call, pin });
    if (answer.ok || answer.failure !== 'pinRefused') this.#refusedPins.delete(token);
    else this.#refusedPins.set(token, digest);
    return answer;
  }

  async #sent(place: TokenPlace, call: SignerCall & { readonly pin?: string }): Promise<SignerAnswer> {
    const { promise, resolve } = Promise.withResolvers<SignerAnswer | Silence>();
    const id = ++this.#lastId;
    const timer = setTimeout(() => resolve('hangs'), this.#options.timeout ?? callTimeout);
    this.#heard = (said) => {
      if (typeof said === 'string' || said.id === id) resolve(said);
    };
    try {
      this.#child ??= this.#started();
      this.#child.post({ ...call, id });
    } catch {
      resolve('unstartable');
    }
    const answer = await promise;
    clearTimeout(timer);
    if (typeof answer !== 'string') return answer;
    this.close();
    throw keyUnavailable(`the process for the token ${quoted(place.token)} ${silences[answer]}`, anew);
  }

  #started(): Child {
    const child = this.#options.spawn();
    child.onExit(() => {
      if (child !== this.#child) return;
      this.#child = undefined;
      this.#heard('ended');
    });
    child.onMessage((message) => {
      const answer = answerSchema.safeParse(message);
      if (child === this.#child) this.#heard(answer.success ? answer.data : 'nonsense');
    });
    return child;
  }
}

const anew =
  'Try again: the next request starts a new process. If it goes on, look at the module and its token.';

const silences: Readonly<Record<Silence, string>> = {
  ended: 'ended while it was asked',
  hangs: 'gave no answer in time',
  nonsense: 'said something that isn’t an answer',
  unstartable: 'can’t be started',
};

function noPin({ token }: TokenPlace): KeyturnError {
  return keyUnavailable(
    `the security token ${quoted(token)} wants its PIN`,
    'Name a file with the PIN in the setting: pin-source=file:PATH (docs/key-holders.md).',
  );
}

const about: Readonly<Record<SignerFailure, readonly [string, string]>> = {
  module: [
    'its module doesn’t load',
    'Check the path in keyturn settings keyHolder, and that the module is installed.',
  ],
  token: ['it isn’t there', 'Connect it, and try again. If it is lost, sign in again: that makes a new key.'],
  pinWanted: ['it wants its PIN again', anew],
  pinRefused: [
    'it refused the PIN',
    'Put the right PIN into the file of the setting keyHolder. This one isn’t tried again, so that the token doesn’t lock itself.',
  ],
  pinLocked: ['it has locked itself after wrong PINs', 'Unlock it by the tool that came with it.'],
  key: ['it has no such key', anew],
  extractable: ['it would give its keys out', 'Use a token that keeps them, or set keyHolder to software.'],
  refused: ['it refused', anew],
};

function unavailable(
  { token }: TokenPlace,
  { failure, message }: { readonly failure: SignerFailure; readonly message: string },
): KeyturnError {
  const [why, hint] = about[failure];
  const detail = failure === 'refused' || failure === 'module' ? ` (${quoted(message)})` : '';
  return keyUnavailable(`the key lies in the security token ${quoted(token)}, and ${why}${detail}`, hint);
}
