/**
 * Checks the whole log by key and anchor, and names the first problem.
 *
 * Invariant: the verdict is `ok` only if every row follows from the one before it, a row accounts for those that were
 * removed at the front, and the row that the vault's anchor names is there. Rows that nothing proves (audit.ts says
 * which) are counted in `unprovenRows`. Memory: one line at a time.
 */
import type { KeyObject } from 'node:crypto';
import type { AuditAnchor } from './audit-anchor.ts';
import { fits, LineDigest, noRows, readAnchor, readLink } from './audit-chain.ts';
import type { ChainHead, LinkedRow } from './audit-chain.ts';
import { auditFile, openSnapshot } from './audit-files.ts';
import type { LogLine } from './audit-files.ts';

export interface AuditProblem {
  /** Number of the row where it shows; 0 for the log as a whole. */
  readonly sequence: number;
  /** A sentence for a person. */
  readonly what: string;
}

export interface AuditVerdict {
  readonly ok: boolean;
  /** Rows of the chain. */
  readonly rows: number;
  /** Lines above the chain, without a link. The chain's first row holds their digest. */
  readonly oldRows: number;
  /** Unfinished lines that a crash left. They stay, and the chain says so. */
  readonly tornLines: number;
  /** Rows that no key proves: their run didn't open the vault, or hasn't yet. */
  readonly unprovenRows: number;
  readonly firstProblem?: AuditProblem;
}

/**
 * Verifies the log in `folder`. `key`: the chain key (`auditKeys`). Safe while the broker writes.
 * Throws what the anchor throws, and `file_unreadable`.
 */
export async function verifyAudit(
  folder: string,
  key: KeyObject,
  anchor: Pick<AuditAnchor, 'read'>,
): Promise<AuditVerdict> {
  // The anchor before the files: it never names a row that isn't on the disk, so the snapshot has the row.
  const text = await anchor.read();
  const check = new LogCheck(key, text);
  const snapshot = await openSnapshot(auditFile(folder));
  try {
    for (const file of snapshot.files) for await (const line of file.lines()) check.take(line);
  } finally {
    await snapshot.close();
  }
  return check.verdict();
}

class LogCheck {
  readonly #key: KeyObject;
  readonly #anchorText: string | undefined;
  readonly #anchor: ChainHead | undefined;
  #problem: AuditProblem | undefined;
  #rows = 0;
  #keyedRows = 0;
  #oldRows = 0;
  #tornLines = 0;
  #unproven = 0;
  /** Plain rows since the last row that sealed some. */
  #plainRun = 0;
  #at: ChainHead = noRows;
  /** Where the removed rows at the front ended; undefined if none were removed. */
  #gone: ChainHead | undefined;
  #vouched: 'no' | 'plain' | 'keyed' = 'no';
  #anchorSeen: boolean;
  /** Lines without a link since the last row. */
  #loose = new LineDigest();
  #looseIsWhole = true;

  constructor(key: KeyObject, anchorText: string | undefined) {
    this.#key = key;
    this.#anchorText = anchorText;
    this.#anchor = anchorText === undefined ? undefined : readAnchor(anchorText);
    this.#anchorSeen = this.#anchor?.sequence === 0;
  }

  take({ bytes, isWhole }: LogLine): void {
    const link = readLink(bytes);
    if (!link) {
      this.#loose.add(bytes);
      this.#looseIsWhole = isWhole;
      return;
    }
    if (this.#rows === 0) this.#begin(link);
    this.#checkPlace(link);
    if (!fits(bytes, link, this.#at.head, this.#key)) {
      this.#fault(link.sequence, 'it, or a row before it, was changed');
    }
    this.#checkLoose(link);
    this.#readOwn(link);
    this.#count(link);
    this.#at = { sequence: link.sequence, head: link.head };
  }

  verdict(): AuditVerdict {
    this.#checkEnd();
    this.#checkFront();
    this.#checkAnchor();
    return {
      ok: this.#problem === undefined,
      rows: this.#rows,
      oldRows: this.#oldRows,
      tornLines: this.#tornLines,
      unprovenRows: this.#unproven + this.#plainRun,
      ...(this.#problem ? { firstProblem: this.#problem } : {}),
    };
  }

  /** The chain begins with its own first row, or with the first row of a file after removed ones. */
  #begin({ sequence, row }: LinkedRow): void {
    if (row.event === 'audit' && row.outcome === 'started' && sequence === 1) return;
    this.#gone = { sequence: sequence - 1, head: row.previous ?? '' };
    this.#at = this.#gone;
    if (row.outcome === 'continued') return;
    this.#fault(sequence, 'the log begins in the middle: the rows before it were cut off');
  }

  #checkPlace({ sequence, row }: LinkedRow): void {
    const expected = this.#at.sequence + 1;
    if (sequence > expected) this.#fault(expected, `rows ${expected} to ${sequence - 1} are missing`);
    if (sequence < expected) this.#fault(sequence, 'it stands in the wrong place, or twice');
    if (row.event === 'audit' && row.outcome === 'continued' && row.previous !== this.#at.head) {
      this.#fault(sequence, 'it doesn’t continue the file before it');
    }
  }

  /** Lines without a link must be those that a row of ours describes: those above the chain, torn or foreign ones. */
  #checkLoose({ sequence, row }: LinkedRow): void {
    const isOwn = row.event === 'audit';
    if (isOwn && row.outcome === 'continued') return; // the row that describes them comes next
    const loose = this.#loose;
    const speaks = isOwn && (row.outcome === 'torn' || row.outcome === 'foreign' || sequence === 1);
    const said = speaks ? (row.lines ?? 0) : 0;
    if (said === 0 && loose.lines === 0) return;
    this.#loose = new LineDigest();
    if (loose.lines === 0 && this.#isAtFront(sequence)) {
      // They were in the files that were removed before this one.
      if (sequence === 1) this.#gone = noRows;
      return;
    }
    if (loose.lines !== said || loose.end() !== row.digest) {
      this.#fault(sequence, 'the lines above it that hold no row of the chain were changed, or put there');
    }
    if (row.outcome === 'foreign') this.#fault(sequence, 'something else than this broker wrote above it');
    if (row.outcome === 'started') this.#oldRows = loose.lines;
    if (row.outcome === 'torn') this.#tornLines += loose.lines;
  }

  #isAtFront(sequence: number): boolean {
    return sequence === 1 || (this.#gone !== undefined && sequence === this.#gone.sequence + 2);
  }

  #readOwn({ sequence, keyed, row }: LinkedRow): void {
    if (row.event !== 'audit') return;
    if (row.outcome === 'anchor-broken') {
      this.#fault(sequence, `the log was cut or replaced before it: ${row.what ?? ''}`);
    }
    if (row.outcome === 'removed' && row.through === this.#gone?.sequence && row.head === this.#gone?.head) {
      this.#vouched = keyed ? 'keyed' : 'plain';
    }
    if (row.outcome === 'sealed' && keyed) {
      this.#unproven += Math.max(0, this.#plainRun - (row.plain ?? 0));
      this.#plainRun = 0;
    }
  }

  #count({ sequence, head, keyed }: ChainHead & { readonly keyed: boolean }): void {
    this.#rows += 1;
    if (keyed) this.#keyedRows += 1;
    else this.#plainRun += 1;
    if (sequence === this.#anchor?.sequence && head === this.#anchor.head) this.#anchorSeen = true;
  }

  /** A crash leaves at most one unfinished line. The next run writes a row about it. */
  #checkEnd(): void {
    const { lines } = this.#loose;
    if (lines === 0) return;
    if (this.#rows === 0) this.#oldRows = lines;
    else if (lines === 1 && !this.#looseIsWhole) this.#tornLines += 1;
    else this.#fault(this.#at.sequence, 'below it stand lines that hold no row of the chain');
  }

  #checkFront(): void {
    if (!this.#gone) return;
    const enough = this.#vouched === 'keyed' || (this.#vouched === 'plain' && this.#keyedRows === 0);
    if (enough) return;
    this.#fault(this.#gone.sequence, 'the rows up to it are gone, and no row says that they were removed');
  }

  #checkAnchor(): void {
    if (this.#anchorText === undefined) {
      if (this.#keyedRows > 0) this.#fault(0, 'the vault holds no anchor, though rows are sealed');
      return;
    }
    if (!this.#anchor) this.#fault(0, 'the vault’s anchor can’t be read');
    else if (!this.#anchorSeen) this.#faultOfAnchor(this.#anchor.sequence);
  }

  #faultOfAnchor(sequence: number): void {
    if (sequence > this.#at.sequence) {
      const what = `the vault’s anchor names row ${sequence}: the rows after ${this.#at.sequence} were cut off, or the log is an older copy`;
      this.#fault(this.#at.sequence + 1, what);
    } else this.#fault(sequence, 'it is not the row that the vault’s anchor names');
  }

  #fault(sequence: number, what: string): void {
    this.#problem ??= { sequence, what };
  }
}
