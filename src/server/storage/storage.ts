/**
 * Where the authorization server keeps what it must remember: one contract for every kind of store.
 *
 * Invariant: an id is unique within a kind. Of several who ask at the same time, in whatever process, one succeeds
 * to `add` an id, to `consume` an item, and to `replace` a payload.
 */

/** One thing that is kept, as JSON. Times are seconds since 1970. */
export interface StoredItem {
  readonly payload: Readonly<Record<string, unknown>>;
  /** Absent: it never expires. */
  readonly expiresAt?: number;
  /** When it was used up. */
  readonly consumedAt?: number;
  /** Everything that one consent led to ends together. */
  readonly grantId?: string;
  /** A second name, such as that of a session. */
  readonly uid?: string;
}

export interface NamedItem {
  readonly id: string;
  readonly item: StoredItem;
}

export interface PlacedItem extends NamedItem {
  readonly kind: string;
}

export interface Storage {
  /** What a thief of the place where it lies can read. `nothing`: it lies nowhere, and ends with the process. */
  readonly atRest: 'nothing' | 'readable' | 'sealed';
  /** False, and no change: the id is taken, also by an expired item. */
  add(kind: string, id: string, item: StoredItem): Promise<boolean>;
  /** Replaces what had this id. */
  put(kind: string, id: string, item: StoredItem): Promise<void>;
  /** Answers an expired item too, until `removeExpired`: the caller compares times. */
  get(kind: string, id: string): Promise<StoredItem | undefined>;
  getByUid(kind: string, uid: string): Promise<NamedItem | undefined>;
  /**
   * Puts another payload in the place of this one, and changes nothing else. False, and no change: the item is gone, or
   * its payload is another by now.
   */
  replace(
    kind: string,
    id: string,
    before: StoredItem['payload'],
    after: StoredItem['payload'],
  ): Promise<boolean>;
  /** Moves its end, in seconds since 1970. Nothing where it is gone. */
  extend(kind: string, id: string, expiresAt: number): Promise<void>;
  /** True for the first call only. */
  consume(kind: string, id: string, at: number): Promise<boolean>;
  remove(kind: string, id: string): Promise<void>;
  /** Everything of one kind that belongs to a grant. */
  removeGrant(kind: string, grantId: string): Promise<void>;
  /** Every item of a kind, with its id. For kinds with a few items only, such as signing keys. */
  list(kind: string): Promise<readonly NamedItem[]>;
  /** The ids of a kind, also of items that can't be read. */
  ids(kind: string): Promise<readonly string[]>;
  /** The items of all kinds behind this one, in an order that stays the same: a page of them, empty at the end. */
  scan(after?: { readonly kind: string; readonly id: string }): Promise<readonly PlacedItem[]>;
  /** Removes what expired before `now`. */
  removeExpired(now: number): Promise<void>;
  close(): Promise<void>;
}
