/**
 * The audit log: who got what when, one line of JSON each, chained so that a change shows.
 *
 * Invariants: a row never holds a secret; URLs lose their query. Rows about authority (allow, pair, revoke…) are on
 * disk before the broker answers. Rows about tokens follow within a second, so that a token request does no disk I/O.
 * Memory is bounded, and a row counts the rows that didn't fit. Start-up reads no keychain: until `seal` is called,
 * rows are linked by a plain hash, after that by a key (audit-chain.ts).
 *
 * `verifyAudit` finds any edit, removal, insertion or reordering at or before the last keyed row, and any cut or
 * older copy that lacks the row which the vault's anchor names. The log is tamper-evident, not tamper-proof. A
 * program that can write the files but not read the vault can still do this without being found:
 *   - rewrite rows that this run wrote before the vault opened, until the next keyed row is written. The writer
 *     goes on from the link in its memory, so the change shows from then on;
 *   - after a crash, cut the rows since the last anchor: at most a minute of rows about tokens. Rows about authority
 *     are anchored at once, but the answer doesn't wait for that: a keychain that prompts must never hold up a
 *     revocation that is on the disk already;
 *   - while no broker runs, add plain rows at the end. They look like rows of a run that ended before the vault opened,
 *     and `verifyAudit` counts both as unproven.
 * It can't replace keyed rows before the anchor by plain ones, because the anchor holds the link itself. A program that
 * can read the vault has the key, and nothing here stops it.
 */
import type { KeyObject } from 'node:crypto';
import { Anchoring } from './audit-anchor.ts';
import type { AuditAnchor } from './audit-anchor.ts';
import { tokenFingerprint } from './audit-chain.ts';
import type { AuditKeys } from './audit-chain.ts';
import { AuditLog, usualLimits } from './audit-log.ts';
import type { LogLimits } from './audit-log.ts';
import { RepeatGroups, repeatWindow } from './audit-repeats.ts';
import type { AuditRow, Entry, OwnRow } from './audit-row.ts';
import type { Reason } from '../base/errors.ts';
import { mutex } from '../base/mutex.ts';

export type { AuditRow } from './audit-row.ts';

export interface Audit {
  /** Written within a second. Repeats of one answer to one program share one row a minute. */
  note(row: AuditRow): void;
  /** On disk when it resolves. Throws `file_unreadable`. */
  record(row: AuditRow): Promise<void>;
  /** Writes the rows in memory, then the anchor. Throws `file_unreadable`. */
  flush(): Promise<void>;
  /** 16 hexadecimal digits that recognise a token; undefined until the log is sealed. */
  fingerprint(token: string): string | undefined;
}

/** What a keyed chain needs. Without it rows are linked by a plain hash, and there is no anchor. */
export interface Sealing {
  /** Only `seal` calls this. It may read the vault. */
  readonly keys: () => Promise<AuditKeys>;
  readonly anchor: AuditAnchor;
}

export interface AuditOptions {
  readonly sealing?: Sealing;
  readonly limits?: LogLimits;
}

/** The state of the log, for `status`. */
export interface AuditState {
  readonly isSealed: boolean;
  /** The number of the last row on the disk; 0 before the first write. */
  readonly sequence: number;
  /** The number of the row that the vault's anchor names; undefined until this run has written an anchor. */
  readonly anchored: number | undefined;
  /** Why the last write of the anchor failed. */
  readonly trouble: Reason | undefined;
}

/** How long a row about a token may wait in memory, in milliseconds. */
const noteDelay = 1000;
/** Rows in memory at most. If there are more, a row says how many were lost. */
const maxBuffered = 10_000;
/** Rows that are linked and written in one step: 2 or 3 ms of work, so that a token request never waits longer. */
const batchSize = 250;

export class AuditFile implements Audit {
  readonly #now: () => number;
  readonly #sealing: Sealing | undefined;
  readonly #log: AuditLog;
  readonly #anchoring: Anchoring | undefined;
  readonly #repeats = new RepeatGroups();
  #buffer: Entry[] = [];
  #lost = 0;
  #timer: NodeJS.Timeout | undefined;
  #repeatTimer: NodeJS.Timeout | undefined;
  /** The log takes one call at a time. */
  readonly #exclusive = mutex();
  #isUrgent = false;
  #sealed: Promise<void> | undefined;
  #fingerprintKey: KeyObject | undefined;

  /** `file`: the growing file; full ones are kept beside it. `now`: milliseconds since 1970. */
  constructor(file: string, now: () => number, { sealing, limits = usualLimits }: AuditOptions = {}) {
    this.#now = now;
    this.#sealing = sealing;
    this.#log = new AuditLog(file, { now, limits, awaitsKey: sealing !== undefined });
    this.#anchoring =
      sealing &&
      new Anchoring({
        file,
        now,
        anchor: sealing.anchor,
        log: this.#log,
        report: (what) => this.#record({ event: 'audit', outcome: 'anchor-broken', what }),
      });
  }

  note(row: AuditRow): void {
    const now = this.#now();
    const isRepeated = ['token', 'proof', 'key', 'refused'].includes(row.event);
    const entries = isRepeated ? this.#repeats.take(row, now) : [{ time: now, row }];
    if (entries === undefined) this.#lose(1);
    else if (entries.length > 0) this.#push(entries);
    if (isRepeated) this.#watchRepeats();
  }

  async record(row: AuditRow): Promise<void> {
    await this.#record(row);
  }

  async flush(): Promise<void> {
    clearTimeout(this.#repeatTimer);
    this.#repeatTimer = undefined;
    this.#push(this.#repeats.end());
    await this.#drain();
    if (this.#log.isSealed) await this.#anchoring?.settle();
  }

  /**
   * Makes the chain a keyed one. Call it once the vault is open: it reads keys and anchor, and writes the row that
   * seals those before it. Later calls do nothing. Rejects with what `keys` threw, with what the vault threw at the
   * log's first anchor, or with `file_unreadable`; it may then be called again. If a later anchor can't be read or
   * written, that is tried again later.
   */
  async seal(): Promise<void> {
    this.#sealed ??= this.#seal();
    try {
      await this.#sealed;
    } catch (error) {
      this.#sealed = undefined;
      throw error;
    }
  }

  fingerprint(token: string): string | undefined {
    return this.#fingerprintKey && tokenFingerprint(this.#fingerprintKey, token);
  }

  get state(): AuditState {
    const { isSealed, at } = this.#log;
    const { anchored, trouble } = this.#anchoring ?? { anchored: undefined, trouble: undefined };
    return { isSealed, sequence: at.sequence, anchored, trouble };
  }

  async #seal(): Promise<void> {
    if (!this.#sealing) return;
    const { chain, fingerprint } = await this.#sealing.keys();
    this.#fingerprintKey = fingerprint;
    await this.#exclusive(() => this.#log.open());
    // The anchor first, so that nothing leaves keyed rows without one: neither a crash nor a vault that refuses it.
    await this.#anchoring?.settle();
    if (this.#anchoring?.refusedFirst !== undefined) throw this.#anchoring.refusedFirst;
    this.#log.useKey(chain);
    this.#isUrgent = true;
    await this.#drain();
  }

  async #record(row: AuditRow | OwnRow): Promise<void> {
    // Rows of earlier failures fill the buffer. They go first; if they fail again, this row is refused with their
    // error.
    if (this.#buffer.length >= maxBuffered) await this.#drain();
    this.#buffer.push({ time: this.#now(), row });
    this.#isUrgent = true;
    await this.#drain();
  }

  #push(entries: readonly Entry[]): void {
    const room = maxBuffered - this.#buffer.length;
    for (const entry of entries.slice(0, room)) this.#buffer.push(entry);
    for (const { repeats } of entries.slice(room)) this.#lose(repeats?.count ?? 1);
    this.#timer ??= setTimeout(() => void this.#drain().catch(() => undefined), noteDelay).unref();
  }

  #lose(rows: number): void {
    this.#lost += rows;
    this.#timer ??= setTimeout(() => void this.#drain().catch(() => undefined), noteDelay).unref();
  }

  /** The row of a minute is written when the minute is over, even if no program asks again. */
  #watchRepeats(): void {
    this.#repeatTimer ??= setTimeout(() => {
      this.#repeatTimer = undefined;
      this.#push(this.#repeats.end(this.#now()));
      if (!this.#repeats.isEmpty) this.#watchRepeats();
    }, repeatWindow).unref();
  }

  async #drain(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    await this.#exclusive(() => this.#write());
  }

  async #write(): Promise<void> {
    do {
      const batch = this.#buffer.splice(0, batchSize);
      const lost = this.#buffer.length === 0 ? this.#lost : 0;
      if (lost > 0) batch.push({ time: this.#now(), row: { event: 'lost', rows: lost } });
      this.#lost -= lost;
      try {
        await this.#log.append(batch);
      } catch (error) {
        if (lost > 0) batch.pop();
        this.#lost += lost;
        this.#buffer = [...batch, ...this.#buffer]; // not lost: the next write tries again
        throw error;
      }
    } while (this.#buffer.length > 0);
    if (!this.#log.isSealed) return;
    this.#anchoring?.moved(this.#isUrgent);
    this.#isUrgent = false;
  }
}
