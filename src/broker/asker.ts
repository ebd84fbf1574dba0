/**
 * Who asks, as the system attests it: for the card, for the audit log, and for a lease of one run.
 *
 * Invariant: these facts prove nothing about what a program does (DESIGN, Authority). They are read
 * again when the person answers, and a card whose asker has changed by then is void.
 */

/** The process that holds the connection. `verified` false: the system doesn't tell, and nothing else is there. */
export interface AskerFacts {
  readonly verified: boolean;
  readonly pid?: number;
  /** Path of the executable; absent where the kernel doesn't tell. */
  readonly executable?: string;
  /** Names of the processes above it, the nearest first, as they chose them. */
  readonly parents?: readonly string[];
}

/** `changed`: another process or program than was seen. `gone`: its last connection is closed. */
export type Standing = 'same' | 'changed' | 'gone';

/** The facts of one moment, and whether they still hold. */
export interface AskerView extends AskerFacts {
  /** As in `Asker`. */
  readonly run: string;
  readonly standing: () => Standing;
}

export interface Asker {
  /** Names one run of a program: all connections of one process; where the system can't tell, one connection. */
  readonly run: string;
  /** Reads the facts now. */
  look(): AskerView;
}
