/**
 * Keeps tokens in files fresh while an app uses them. An API key has no end, and stays as it is.
 *
 * Invariant: no question is asked. Where there is no newer token, the old one stays in its file, the user reads one
 * line, and it goes on trying.
 */
import { reasonOf } from '../../base/errors.ts';
import type { TokenResult } from '../../ipc/wire/token-messages.ts';
import type { Credential } from './credential-within.ts';

export interface FreshFile {
  /** For the line that a user reads. */
  readonly name: string;
  readonly token: TokenResult;
  /** A token that lives longer than so many seconds, if the broker has one; the key where one was set since. */
  readonly ask: (minimumValidity: number) => Promise<Credential>;
  readonly replace: (credential: Credential) => void;
  readonly tell: (line: string) => void;
}

/** Milliseconds before its end at which a token is replaced; at half of the life it has left where that is later. */
const lead = 120_000;

/** Milliseconds. A timer doesn't run while the machine sleeps: the clock is read again so often. */
const lookEvery = 30_000;

/** Milliseconds between two tries. */
const minPause = 1000;

/** Goes on until the signal aborts. */
export function keepFresh(file: FreshFile, signal: AbortSignal): void {
  let timer: NodeJS.Timeout | undefined;
  let hasFailed = false;
  signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
  const wait = (due: number): void => {
    if (signal.aborted) return;
    const left = due - Date.now();
    timer = setTimeout(
      () => {
        if (Date.now() < due) wait(due);
        else void renew();
      },
      Math.min(lookEvery, Math.max(minPause, left)),
    );
  };
  const renew = async (): Promise<void> => {
    try {
      const fresh = await file.ask(Math.ceil(lead / 1000));
      if (signal.aborted) return;
      file.replace(fresh);
      hasFailed = false;
      if (!('kind' in fresh)) wait(dueOf(fresh));
    } catch (error) {
      if (!hasFailed)
        file.tell(`keyturn: the token of ${file.name} could not be replaced (${reasonOf(error)}).`);
      hasFailed = true;
      wait(Date.now() + lookEvery);
    }
  };
  wait(dueOf(file.token));
}

/** Milliseconds, for a token whose end nobody knows: the file gets the newest one that Keyturn has. */
const unknownLifetime = 300_000;

function dueOf({ expires_at: end }: TokenResult): number {
  if (end === undefined) return Date.now() + unknownLifetime;
  const left = end * 1000 - Date.now();
  return Date.now() + Math.max(minPause, left - Math.min(lead, left / 2));
}
