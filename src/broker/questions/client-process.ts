/**
 * Who asks, as the system attests it: for the card, for the audit log, and for a lease of one run.
 *
 * Invariant: these facts prove nothing about what a program does. They are read
 * again when the person answers, and a card whose asker has changed by then is void.
 */

/** The process that holds the connection. `verified` false: the system doesn't tell, and nothing else is there. */
export interface ProcessFacts {
  readonly verified: boolean;
  readonly pid?: number;
  /** Path of the executable, as the process sees it; absent where the kernel doesn't tell. */
  readonly executable?: string;
  /**
   * What is known of the file at that path. `attested`: it is the one that runs, and no interpreter. `elsewhere`: it
   * isn't the one that runs. `unreadable`: the kernel doesn't tell which file runs.
   */
  readonly file?: 'attested' | 'interpreter' | 'elsewhere' | 'unreadable';
  /** Who can change that file, or put another in its place, besides the administrator. */
  readonly changeableBy?: 'you' | 'group' | 'others';
  /** What an interpreter says it runs. A process can rewrite this. */
  readonly claim?: {
    readonly script?: string;
    readonly arguments: readonly string[];
    readonly isCut: boolean;
    readonly folder?: string;
  };
  /** What holds the process. Any program can have one under a name of its choice. */
  readonly enclosures?: ReadonlyArray<{
    readonly kind: 'flatpak' | 'snap' | 'container' | 'unit';
    readonly name: string;
  }>;
  /** Names of the processes above it, the nearest first, as they chose them. */
  readonly parents?: readonly string[];
}

/** `changed`: another process than was seen, or one that runs another file. `gone`: its last connection is closed. */
export type ProcessState = 'same' | 'changed' | 'gone';

/** The facts of one moment, and whether they still hold. */
export interface ClientProcessView extends ProcessFacts {
  /** As in `ClientProcess`. */
  readonly run: string;
  readonly standing: () => ProcessState;
}

export interface ClientProcess {
  /** Names one run of a program: all connections of one process; where the system can't tell, one connection. */
  readonly run: string;
  /** Reads the facts now. */
  look(): ClientProcessView;
}
