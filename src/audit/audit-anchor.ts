/**
 * The anchor: number and link of the log's last row, kept in the vault, so that it shows if somebody cuts the log or
 * puts an older copy in its place.
 *
 * Invariants: the anchor never names a row that isn't on the disk yet. Before this run replaces the anchor for the
 * first time, it compares it with the log and writes a mismatch into the log, because a new anchor would hide the
 * trace of a cut. Only `settle` waits for the vault. A call during a run joins it. If that run fails, no further run
 * starts for the calls that joined (unlike in base/repeated-work.ts), because each would wait for a keychain that
 * hangs.
 */
import { reasonOf } from '../base/errors.ts';
import type { Reason } from '../base/errors.ts';
import { anchorText, peekLink, readAnchor } from './audit-chain.ts';
import type { ChainHead } from './audit-chain.ts';
import { openSnapshot } from './audit-files.ts';
import type { AuditLog } from './audit-log.ts';

/** One item of the vault. Both throw what the vault throws. */
export interface AuditAnchor {
  /** Undefined only if the vault certainly has none. */
  read(): Promise<string | undefined>;
  write(head: string): Promise<void>;
}

/**
 * Milliseconds between two anchors for rows about tokens. A write to a keychain takes up to 60 ms, a thousandth of
 * that.
 */
const anchorInterval = 60_000;

interface Parts {
  readonly file: string;
  readonly anchor: AuditAnchor;
  readonly log: AuditLog;
  readonly now: () => number;
  /** Writes a row that says what is wrong; on the disk when it resolves. */
  readonly report: (what: string) => Promise<void>;
}

export class Anchoring {
  readonly #parts: Parts;
  #isChecked = false;
  #anchored: number | undefined;
  #anchoredAt = Number.NEGATIVE_INFINITY;
  #writing: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Why the last try failed; undefined if it didn't. */
  trouble: Reason | undefined;
  /** No row is keyed yet, and the vault has no anchor. */
  #isFirst = false;
  /** What the vault threw when it was given its first anchor. Keyed rows without one would look like a cut log. */
  refusedFirst: unknown;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** The number of the row that the vault's anchor names; undefined until this run has written an anchor. */
  get anchored(): number | undefined {
    return this.#anchored;
  }

  /**
   * Call it when new rows are on the disk. Anchors them in the background: at once if `isUrgent`, else within a minute.
   */
  moved(isUrgent: boolean): void {
    const wait = this.#anchoredAt + anchorInterval - this.#parts.now();
    if (isUrgent || wait <= 0 || wait > anchorInterval) {
      void this.settle();
      return;
    }
    this.#timer ??= setTimeout(() => void this.settle(), wait).unref();
  }

  /** Brings the anchor up to date. Never rejects: `trouble` holds a failure, and the next rows lead to another try. */
  async settle(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#writing ??= this.#catchUp();
    await this.#writing;
  }

  async #catchUp(): Promise<void> {
    try {
      await this.#check();
      while (this.#anchored !== this.#parts.log.at.sequence) {
        const at = this.#parts.log.at;
        await this.#parts.anchor.write(anchorText(at));
        this.#anchored = at.sequence;
        this.#isFirst = false;
      }
      this.trouble = undefined;
      this.refusedFirst = undefined;
    } catch (error) {
      this.trouble = reasonOf(error);
      this.refusedFirst = this.#isFirst ? error : undefined;
    }
    this.#anchoredAt = this.#parts.now();
    // In the same step as the last look at the log, so that no call for a newer row joins this run.
    this.#writing = undefined;
  }

  async #check(): Promise<void> {
    if (this.#isChecked) return;
    const what = await this.#misfit();
    if (what !== undefined) await this.#parts.report(what);
    this.#isChecked = true;
  }

  async #misfit(): Promise<string | undefined> {
    const { anchor, log, file } = this.#parts;
    const text = await anchor.read();
    if (text === undefined) {
      // The anchor is written to the vault before the first keyed row to the file.
      const hasKeyed = await someRow(file, (row) => row.keyed && row.sequence <= log.openedAt);
      this.#isFirst = !hasKeyed;
      return hasKeyed ? 'the vault held no anchor, though the log was sealed before' : undefined;
    }
    const head = readAnchor(text);
    if (!head) return 'the vault’s anchor could not be read';
    if (head.sequence === 0) return undefined;
    const isThere = await someRow(file, (row) => row.sequence === head.sequence && row.head === head.head);
    return isThere ? undefined : `row ${head.sequence}, which the anchor names, is not in the log`;
  }
}

async function someRow(
  file: string,
  isIt: (row: ChainHead & { readonly keyed: boolean }) => boolean,
): Promise<boolean> {
  const snapshot = await openSnapshot(file);
  try {
    // Newest first: the anchor names one of the last rows.
    for (const one of snapshot.files.toReversed()) {
      for await (const { bytes } of one.lines()) {
        const link = peekLink(bytes);
        if (link && isIt(link)) return true;
      }
    }
    return false;
  } finally {
    await snapshot.close();
  }
}
