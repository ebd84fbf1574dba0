/**
 * The pause of all access, as the user begins and ends it: in the running broker, in the document, and in the audit
 * log.
 *
 * Invariants: a pause takes effect before it is stored, and even if it can't be. It ends only after the document has
 * forgotten it. So whatever fails, nobody gets more. A start pauses too if something was taken away that could not be
 * stored.
 */
import type { Audit } from '../../audit/audit.ts';
import type { Clock } from '../../base/clock.ts';
import { detailsOf, KeyturnError, reasonOf } from '../../base/errors.ts';
import { mutex } from '../../base/mutex.ts';
import type { AccessRecord, Pause } from '../../broker/records/pause.ts';
import type { AccessPause } from '../../broker/refusals/access-pause.ts';
import type { HomeDocument } from '../../store/document.ts';
import type { RecordList } from '../../store/home-document.ts';

export interface KeptPauseParts {
  readonly pause: AccessPause;
  readonly access: Pick<RecordList<AccessRecord>, 'items' | 'change'>;
  readonly document: Pick<HomeDocument, 'isHeld' | 'isJudged'>;
  readonly audit: Pick<Audit, 'record' | 'note'>;
  readonly clock: Pick<Clock, 'wall'>;
  /** A pause began with the start, or came to its own end. */
  readonly changed: () => void;
}

export class KeptPause {
  readonly #parts: KeptPauseParts;
  readonly #inTurn = mutex();

  constructor(parts: KeptPauseParts) {
    this.#parts = parts;
  }

  /** The document was verified: what it keeps takes effect. */
  restore(): void {
    const { pause, access, document, changed } = this.#parts;
    const [kept] = access.items.flatMap((record) => record.pause ?? []);
    if (kept) pause.begin(kept);
    // Not awaited: it is stored once the verification is over.
    if (document.isHeld) this.begin().catch(() => undefined);
    if (pause.current) changed();
  }

  /**
   * `until` in milliseconds since 1970; absent: until the user resumes. Resolves with the pause that is in force now,
   * which may be an earlier one that ends later. Throws `invalid_request` for a time that is over; `file_unreadable`,
   * or what the vault throws: then the pause is in force as long as this broker runs.
   */
  async begin(until?: number): Promise<Pause> {
    const { pause, access, document, audit, clock } = this.#parts;
    const since = clock.wall();
    if (until !== undefined && until <= since)
      throw new KeyturnError('invalid_request', 'A pause can’t end in the past.', {
        hint: 'Check the clock, or give a later time.',
      });
    const asked = { since, until };
    pause.begin(asked);
    return this.#inTurn(async () => {
      // Race: a pause that was ended meanwhile took this one with it.
      const standing = pause.begin(asked);
      const end = standing.until === undefined ? '' : ` until ${new Date(standing.until).toISOString()}`;
      await access
        .change(() => [{ pause: standing }])
        .catch((error: unknown) => {
          // A document that was verified or refused says it itself.
          throw document.isJudged ? error : notKept(error);
        });
      await audit.record({ event: 'pause', outcome: `paused${end}` });
      return standing;
    });
  }

  /** Throws what the vault throws, and `file_unreadable`; the pause is in force then. */
  async end(): Promise<void> {
    const { pause, access, audit } = this.#parts;
    await this.#inTurn(async () => {
      if (!pause.current) return;
      // First: nobody gets more before it is written down that somebody resumed.
      await audit.record({ event: 'pause', outcome: 'resumed' });
      await access.change(() => [{}]);
      pause.end();
    });
  }

  /** Notes a pause that came to its own end. */
  look(): void {
    const { pause, audit, changed } = this.#parts;
    if (!pause.takeEnded()) return;
    audit.note({ event: 'pause', outcome: 'over' });
    changed();
  }
}

function notKept(error: unknown): unknown {
  if (!(error instanceof KeyturnError)) return error;
  return new KeyturnError(reasonOf(error), `Access is paused until this broker ends: ${error.message}`, {
    ...detailsOf(error),
    cause: error,
  });
}
