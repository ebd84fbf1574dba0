/**
 * Compares the index of grants with the vault, once for each grant in a run.
 *
 * Invariants: if they differ, the vault's values are written into the index before anything uses the grant, and the
 * difference is reported in the audit log, the broker's log and `status`. A value that only the index has counts for
 * nothing.
 */
import { quoted } from '../../base/errors.ts';
import type { Audit } from '../../audit/audit.ts';
import { compared } from './grant-binding.ts';
import type { VaultFacts } from './grant-binding.ts';
import type { Grant, Grants } from '../records/grant.ts';

export interface ComparisonParts {
  readonly grants: Grants;
  readonly audit: Audit;
  /** Gets lines for the broker's log. */
  readonly report?: (line: string) => void;
}

/** What was wrong with a grant's line. */
export interface Difference {
  readonly grant: string;
  /** A sentence; holds no text of the index. */
  readonly what: string;
}

/** `vouched`: the index says what the vault says. `absent`: the vault has no such item. */
type ComparisonState = 'vouched' | 'absent';

/** As many as a person reads; others are only counted. A program could write thousands of lines. */
const maxTold = 50;

export class VaultComparison {
  readonly #parts: ComparisonParts;
  readonly #states = new Map<string, ComparisonState>();
  readonly #told = new Map<string, string>();
  #untold = 0;

  constructor(parts: ComparisonParts) {
    this.#parts = parts;
  }

  /** Grants that were compared in this run. */
  get checked(): number {
    return this.#states.size;
  }

  /** For each grant whose line was wrong: its last difference. */
  get differences(): readonly Difference[] {
    return [...this.#told].map(([grant, what]) => ({ grant, what }));
  }

  /** How many more there are. */
  get untold(): number {
    return this.#untold;
  }

  isCompared(grantId: string): boolean {
    return this.#states.has(grantId);
  }

  areCompared(grants: readonly Grant[]): boolean {
    return grants.every(({ id }) => this.#states.has(id));
  }

  /** The vault has the grant's tokens, and the index agrees with the vault. */
  isVouched(grantId: string): boolean {
    return this.#states.get(grantId) === 'vouched';
  }

  /** The vault was asked, and certainly has no item of the grant. */
  isLost(grantId: string): boolean {
    return this.#states.get(grantId) === 'absent';
  }

  /** The vault was just written; the index will be written next. */
  written(grantId: string): void {
    this.#states.set(grantId, 'vouched');
  }

  /** The index was not written: the next use compares again. */
  failed(grantId: string): void {
    this.#states.delete(grantId);
  }

  /** The vault has these facts. Throws `file_unreadable` if the index can't be mended; the grant is not used then. */
  async compare(grantId: string, facts: VaultFacts): Promise<void> {
    const { grants } = this.#parts;
    if (this.#states.get(grantId) === 'vouched') return;
    const before = grants.byId(grantId);
    const verdict = compared(grantId, before, facts);
    if (verdict.differing.length > 0) {
      await grants.mend(verdict.record, verdict.generation);
      const what = before
        ? `The index named another ${verdict.differing.join(', ')}. The vault's value counts, and the index was corrected.`
        : 'The index had lost it. It was put back from the vault.';
      this.#tell(grantId, before ? `mended: ${verdict.differing.join(' ')}` : 'mended: line', what);
    }
    this.#states.set(grantId, 'vouched');
  }

  /** The vault certainly has no such item. */
  missed(grantId: string): void {
    if (this.#states.get(grantId) === 'absent') return;
    this.#states.set(grantId, 'absent');
    const grant = this.#parts.grants.byId(grantId);
    // A sign-in that was not finished, or a grant that ended, has none.
    if (grant?.state.kind !== 'active') return;
    this.#tell(
      grantId,
      'refused: absent',
      'The index lists it, but the vault does not have it. No program can get a token of it.',
    );
  }

  #tell(grantId: string, outcome: string, what: string): void {
    const { audit, report } = this.#parts;
    if (this.#told.has(grantId) || this.#told.size < maxTold) this.#told.set(grantId, what);
    else this.#untold += 1;
    audit.note({ event: 'index', outcome, grant: grantId });
    report?.(`grant ${quoted(grantId)}: ${what}`);
  }
}
