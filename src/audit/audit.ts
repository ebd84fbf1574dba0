/**
 * The audit log: who got what when, one line of JSON each.
 *
 * Invariants: a row never holds a secret; URLs lose their query. Rows about authority (allow, pair, revoke…) are on
 * disk before the broker answers, if the disk takes them. Rows about tokens follow within a second, so that a token
 * request does no disk I/O. What can't be written waits in memory, which is bounded: a row counts those that didn't
 * fit. No request fails because of the log, and nothing is decided by it: any program of the same user can write its
 * files.
 */
import { createHmac, createSecretKey, hkdfSync, type KeyObject } from 'node:crypto';
import { activityOf, type ActivityCount } from './audit-activity.ts';
import { tailAudit, type AuditTail } from './audit-export.ts';
import { appendLines, usualLimits } from './audit-files.ts';
import { RepeatGroups, repeatWindow } from './audit-repeats.ts';
import { lineOf, type AuditRow, type Entry, type Repeats, type StoredRow } from './audit-row.ts';
import { KeyturnError } from '../base/errors.ts';
import { mutex } from '../base/mutex.ts';
import { systemCode } from '../base/system-error.ts';

export type { AuditRow } from './audit-row.ts';

export type Audit = Pick<AuditFile, 'note' | 'record' | 'flush' | 'fingerprint'>;

/** Why rows wait in memory, and how many. */
export interface AuditTrouble {
  readonly error: KeyturnError;
  readonly waiting: number;
  /** Rows for which memory has no room. */
  readonly lost: number;
}

/** How long a row about a token may wait in memory, in milliseconds. */
const noteDelay = 1000;
/** After a failure the next try comes with the next row about authority, or after so many milliseconds. */
const retryDelay = 30_000;
/** Characters of rows in memory at most: about 15,000 rows. */
const maxWaiting = 4 * 1024 * 1024;
/** Hexadecimal digits of a fingerprint: 64 bits tell a user's tokens apart. */
const fingerprintDigits = 16;

export class AuditFile {
  readonly #folder: string;
  readonly #now: () => number;
  readonly #limits: typeof usualLimits;
  readonly #repeats = new RepeatGroups();
  readonly #waiting: string[] = [];
  /** Characters in `#waiting`. */
  #size = 0;
  #lost: Repeats | undefined;
  #failure: KeyturnError | undefined;
  #timer: NodeJS.Timeout | undefined;
  #repeatTimer: NodeJS.Timeout | undefined;
  readonly #exclusive = mutex();
  #fingerprintKey: KeyObject | undefined;

  /** `folder`: the files are in it. `now`: milliseconds since 1970. */
  constructor(folder: string, now: () => number, limits = usualLimits) {
    this.#folder = folder;
    this.#now = now;
    this.#limits = limits;
  }

  /** Written within a second. Repeats of one answer to one app share one row a minute. */
  note(row: AuditRow): void {
    const now = this.#now();
    const isRepeated = ['token', 'proof', 'apiKey', 'refused'].includes(row.event);
    const entries = isRepeated ? this.#repeats.take(row, now) : [{ time: now, row }];
    if (entries) this.#push(entries);
    else this.#lose(1);
    if (isRepeated) this.#watchRepeats();
  }

  /** On disk when it resolves, or in memory if the disk doesn't take it. Never rejects. */
  async record(row: AuditRow): Promise<void> {
    // Rows of earlier failures may fill the memory. If the disk takes them now, this one has room.
    if (this.#failure) await this.#write();
    this.#push([{ time: this.#now(), row }]);
    await this.#write();
  }

  /** Writes the rows in memory. Throws `file_unreadable`. */
  async flush(): Promise<void> {
    clearTimeout(this.#repeatTimer);
    this.#repeatTimer = undefined;
    this.#push(this.#repeats.end());
    await this.#write();
    if (this.#failure) throw this.#failure;
  }

  /** The last rows, those in memory too. This and the next two throw `file_unreadable`. */
  async tail(count: number): Promise<AuditTail> {
    await this.flush().catch(() => undefined);
    return tailAudit(this.#folder, count);
  }

  async activity(hours: number): Promise<ActivityCount> {
    await this.flush().catch(() => undefined);
    return activityOf(this.#folder, this.#now(), hours);
  }

  /** The last rows that are about one sign-in, oldest first. */
  async about(signInId: string, count: number): Promise<readonly StoredRow[]> {
    await this.flush().catch(() => undefined);
    const { rows } = await tailAudit(this.#folder, count, signInId);
    return rows.filter(({ signIn }) => signIn === signInId);
  }

  /** From now on tokens have fingerprints, under a key of its own that derives from the home's root key (RFC 5869). */
  useRoot(root: KeyObject): void {
    // No salt: the root key is already uniformly random (RFC 5869 §3.1).
    this.#fingerprintKey ??= createSecretKey(
      Buffer.from(hkdfSync('sha256', root, '', 'keyturn/1 audit fingerprint', 32)),
    );
  }

  /** 16 hexadecimal digits that recognise a token, by a key; undefined until the log has the home's root key. */
  fingerprint(token: string): string | undefined {
    if (!this.#fingerprintKey) return undefined;
    return createHmac('sha256', this.#fingerprintKey).update(token).digest('hex').slice(0, fingerprintDigits);
  }

  /** Undefined unless the last write failed. */
  get trouble(): AuditTrouble | undefined {
    return (
      this.#failure && { error: this.#failure, waiting: this.#waiting.length, lost: this.#lost?.count ?? 0 }
    );
  }

  #push(entries: readonly Entry[]): void {
    for (const entry of entries) {
      const line = lineOf(entry);
      if (this.#size + line.length > maxWaiting) {
        this.#lose(entry.repeats?.count ?? 1);
        continue;
      }
      this.#waiting.push(line);
      this.#size += line.length;
    }
    this.#writeSoon();
  }

  #lose(count: number): void {
    const now = this.#now();
    const { count: before, first } = this.#lost ?? { count: 0, first: now };
    this.#lost = { count: before + count, first, last: now };
    this.#writeSoon();
  }

  /** The row of a minute is written when the minute is over, even if no app asks again. */
  #watchRepeats(): void {
    this.#repeatTimer ??= setTimeout(() => {
      this.#repeatTimer = undefined;
      this.#push(this.#repeats.end(this.#now()));
      if (!this.#repeats.isEmpty) this.#watchRepeats();
    }, repeatWindow).unref();
  }

  #writeSoon(): void {
    if (this.#waiting.length === 0 && !this.#lost) return;
    this.#timer ??= setTimeout(() => void this.#write(), this.#failure ? retryDelay : noteDelay).unref();
  }

  async #write(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    await this.#exclusive(() => this.#append());
  }

  async #append(): Promise<void> {
    const rows = this.#waiting.length;
    const size = this.#size;
    const lost = this.#lost;
    if (rows === 0 && !lost) return;
    const row = { event: 'lost', outcome: 'no room' } as const;
    const lines = [...this.#waiting, ...(lost ? [lineOf({ time: this.#now(), row, repeats: lost })] : [])];
    try {
      await appendLines(this.#folder, lines.join(''), this.#limits);
    } catch (error) {
      // The rows wait, and the next write tries again.
      this.#failure = this.#unwritable(error);
      this.#writeSoon();
      return;
    }
    this.#failure = undefined;
    this.#waiting.splice(0, rows);
    this.#size -= size;
    const since = (this.#lost?.count ?? 0) - (lost?.count ?? 0);
    this.#lost = this.#lost && since > 0 ? { ...this.#lost, count: since } : undefined;
  }

  #unwritable(error: unknown): KeyturnError {
    if (error instanceof KeyturnError) return error;
    return new KeyturnError('file_unreadable', `The audit log can't be written (${systemCode(error)}).`, {
      hint: `See that the folder ${this.#folder} is yours and that the disk has room.`,
    });
  }
}
