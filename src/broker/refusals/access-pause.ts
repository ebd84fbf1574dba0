/**
 * Whether the user paused all access, and the refusal of what is asked meanwhile.
 *
 * Invariants: during a pause, no app gets a token or an API key, and nothing is refreshed. A pause is never
 * shortened: of two, the later end is kept. Only `end`, or its own end, is the end of it. This object is what the running
 * broker goes by; the document keeps the pause (daemon/home/kept-pause.ts).
 */
import { KeyturnError, moment } from '../../base/errors.ts';
import { endOf, type Pause } from '../records/pause.ts';

export class AccessPause {
  readonly #wall: () => number;
  #pause: Pause | undefined;

  constructor(wall: () => number) {
    this.#wall = wall;
  }

  get current(): Pause | undefined {
    return this.#isOver ? undefined : this.#pause;
  }

  /** Takes effect at once. Returns the pause that is in force now: of two, the one that ends later. */
  begin(pause: Pause): Pause {
    const before = this.current;
    const longer = before && endOf(before) >= endOf(pause) ? before : pause;
    this.#pause = before ? { ...longer, since: before.since } : longer;
    return this.#pause;
  }

  end(): void {
    this.#pause = undefined;
  }

  /** True once for each pause that came to its own end. */
  takeEnded(): boolean {
    const isOver = this.#isOver;
    if (isOver) this.#pause = undefined;
    return isOver;
  }

  throwIfPaused(): void {
    const pause = this.current;
    if (pause) throw paused(pause, this.#wall());
  }

  get #isOver(): boolean {
    return this.#pause !== undefined && endOf(this.#pause) <= this.#wall();
  }
}

function paused({ until }: Pause, wall: number): KeyturnError {
  const when = until === undefined ? 'until you resume it' : `until ${moment(until)}`;
  return new KeyturnError('paused', `You paused all access ${when}.`, {
    rule: 'During a pause, no app gets a token or an API key, and nothing is refreshed',
    hint: until === undefined ? 'Resume with: keyturn resume' : 'Wait, or resume with: keyturn resume',
    retryAfter: until === undefined ? undefined : Math.ceil((until - wall) / 1000),
  });
}
