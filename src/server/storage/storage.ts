/**
 * Where the authorization server keeps what it must remember: one contract for every kind of store.
 *
 * Invariant: an id is unique within a kind. `consume` succeeds once for an item, however many ask at the same time.
 */

/** One thing that is kept, as JSON. Times are seconds since the epoch. */
export interface StoredItem {
  readonly payload: Readonly<Record<string, unknown>>;
  /** Absent: it never expires. */
  readonly expiresAt?: number;
  /** When it was used up. */
  readonly consumedAt?: number;
  /** Everything that one consent led to ends together. */
  readonly grantId?: string;
  /** A second name: sessions have one. */
  readonly uid?: string;
}

export interface Storage {
  /** Replaces what had this id. */
  put(kind: string, id: string, item: StoredItem): Promise<void>;
  /** Answers an expired item too, until the sweep: the caller compares times. */
  get(kind: string, id: string): Promise<StoredItem | undefined>;
  getByUid(kind: string, uid: string): Promise<StoredItem | undefined>;
  /** True for the first call only. */
  consume(kind: string, id: string, at: number): Promise<boolean>;
  remove(kind: string, id: string): Promise<void>;
  /** Everything of one kind that belongs to a grant. */
  removeGrant(kind: string, grantId: string): Promise<void>;
  /** Every item of a kind, with its id. For kinds with a few items only, such as signing keys. */
  list(kind: string): Promise<readonly { readonly id: string; readonly item: StoredItem }[]>;
  /** Removes what expired before `now`. */
  sweep(now: number): Promise<void>;
  close(): Promise<void>;
}
