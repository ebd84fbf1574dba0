/**
 * The process that asks, as the system attests it: for the card, the audit log and a permission for one run.
 *
 * Invariant: these facts prove nothing about what a program does. They are read again when the user answers, and
 * the card is void if the process has changed by then.
 */

/** The process that holds the connection. If `verified` is false, the system says nothing, and nothing else is set. */
export interface ProcessFacts {
  readonly verified: boolean;
  readonly pid?: number;
  /** Path of the executable, as the process sees it; absent if the kernel doesn't give it. */
  readonly executable?: string;
  /**
   * The file at that path. `attested`: the process runs it, and it is no interpreter. `elsewhere`: the process runs
   * another file. `unreadable`: the kernel doesn't say which file runs.
   */
  readonly file?: 'attested' | 'interpreter' | 'elsewhere' | 'unreadable';
  /** Who can change or replace that file, besides the administrator. */
  readonly changeableBy?: 'you' | 'group' | 'others';
  /** The script that an interpreter claims to run. A process can rewrite this. */
  readonly claim?: {
    readonly script?: string;
    readonly arguments: readonly string[];
    readonly isCut: boolean;
    readonly folder?: string;
  };
  /** The containers or sandboxes around the process. Any program can create one under any name. */
  readonly enclosures?: ReadonlyArray<{
    readonly kind: 'flatpak' | 'snap' | 'container' | 'unit';
    readonly name: string;
  }>;
  /** Names of the parent processes, nearest first. They prove nothing: a process can choose its name. */
  readonly parents?: readonly string[];
}

/** `changed`: another process, or the same process with another file. `gone`: its last connection is closed. */
export type ProcessState = 'same' | 'changed' | 'gone';

/** The facts at one moment, and whether they still hold. */
export interface AppProcessView extends ProcessFacts {
  readonly run: string;
  readonly nowIs: () => ProcessState;
}

export interface AppProcess {
  /** Names one run of an app: all connections of one process; where the system can't tell, one connection. */
  readonly run: string;
  currentFacts(): AppProcessView;
}
