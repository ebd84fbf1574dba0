/**
 * The pause of all access, as the owner begins and ends it: in the running broker, in the vault, and in the audit log.
 *
 * Invariants: a pause takes effect before the vault has it, and even if the vault can't take it. It ends only after the
 * vault has forgotten it. So whatever fails, nobody gets more. What the vault keeps counts at every later start, whatever
 * the files of the home say.
 */
import type { Audit } from '../../audit/audit.ts';
import type { Clock } from '../../base/clock.ts';
import { KeyturnError, reasonOf } from '../../base/errors.ts';
import { mutex } from '../../base/mutex.ts';
import type { AuthorityDocument } from '../../store/document.ts';
import type { AccessPause, Pause } from '../../broker/refusals/access-pause.ts';
import type { HomeCheck } from './home-check.ts';

export interface KeptPauseParts {
  readonly pause: AccessPause;
  readonly homeCheck: Pick<HomeCheck, 'keepPause'>;
  readonly document: Pick<AuthorityDocument, 'isHeld' | 'renew'>;
  readonly audit: Pick<Audit, 'record' | 'note'>;
  readonly clock: Pick<Clock, 'wall'>;
  /** A pause came to its own end. */
  readonly ended: () => void;
}

export class KeptPause {
  readonly #parts: KeptPauseParts;
  readonly #inTurn = mutex();

  constructor(parts: KeptPauseParts) {
    this.#parts = parts;
  }

  /**
   * `until` in milliseconds since 1970; absent: until the owner resumes. Resolves with the pause that stands now, which
   * may be an earlier one that ends later. Throws `invalid_request` for a time that is over; `file_unreadable`, or what
   * the vault throws: then the pause stands as long as this broker runs.
   */
  async begin(until?: number): Promise<Pause> {
    const { pause, homeCheck, audit, clock } = this.#parts;
    const since = clock.wall();
    if (until !== undefined && until <= since) throw alreadyOver();
    const asked = { since, until };
    pause.begin(asked);
    return this.#inTurn(async () => {
      // Race: a pause that was ended meanwhile took this one with it.
      const standing = pause.begin(asked);
      const end = standing.until === undefined ? '' : ` until ${new Date(standing.until).toISOString()}`;
      await homeCheck.keepPause(standing).catch((error: unknown) => {
        throw notKept(error);
      });
      await audit.record({ event: 'pause', outcome: `paused${end}` });
      return standing;
    });
  }

  /** Throws what the vault throws; the pause stands then. */
  async end(): Promise<void> {
    const { pause, homeCheck, document, audit } = this.#parts;
    await this.#inTurn(async () => {
      if (!pause.current) return;
      // First: nobody gets more before it is written down that somebody resumed.
      await audit.record({ event: 'pause', outcome: 'resumed' });
      await homeCheck.keepPause(undefined);
      // The pause of a start that found something held.
      if (document.isHeld) await document.renew();
      pause.end();
    });
  }

  /** Notes a pause that came to its own end. */
  look(): void {
    const { pause, audit, ended } = this.#parts;
    if (!pause.takeEnded()) return;
    audit.note({ event: 'pause', outcome: 'over' });
    ended();
  }
}

function alreadyOver(): KeyturnError {
  return new KeyturnError('invalid_request', 'A pause can’t end in the past.', {
    hint: 'Check the clock, or give a later time.',
  });
}

function notKept(error: unknown): KeyturnError {
  const why = error instanceof KeyturnError ? error.message : 'an error of the vault';
  const isLocked = reasonOf(error) === 'locked';
  return new KeyturnError(
    reasonOf(error),
    `Access is paused until this broker ends. The vault could not keep the pause: ${why}.`,
    {
      rule: 'A pause outlives a restart only if the vault keeps it',
      hint: `${isLocked ? '`keyturn unlock`' : 'See `keyturn status`'}, then pause again.`,
      cause: error,
    },
  );
}
