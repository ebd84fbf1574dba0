/**
 * Reads the bytes of a sealed log into the items that they hold. Pure functions.
 *
 * Invariant: a record counts only if it is authentic and follows the base segment in unbroken sequence. Otherwise:
 *
 *   the file ends within a record         torn: a write that was never acknowledged
 *   a body fails under a valid head       that item is lost until it is written or removed again
 *   anything else                         doubt: the damaged piece may have held any item, so an item that no
 *                                         later record names is neither known nor absent
 *
 * "Absent" is the answer only if there is no doubt. An older copy of the file, or a file that was cut off after a whole
 * record, can't be detected here: its bytes are valid. If the keychain holds the head (sealed-head.ts), the record that
 * it names is then missing.
 */
import type { LogKey } from './sealed-key.ts';
import {
  headAt,
  headLength,
  openRecord,
  recordMagic,
  segmentAt,
  segmentLength,
  segmentMagic,
  tagLength,
  tagOf,
} from './sealed-record.ts';
import type { Head, Segment } from './sealed-record.ts';
import { maxSecretLength } from '../base/vault.ts';

/** The place of a value in the file. */
export interface Place {
  readonly state: 'live';
  readonly segment: Segment;
  readonly sequence: number;
  /** Bytes. */
  readonly offset: number;
  readonly length: number;
}

/** `removed` is noted only after doubt. Without doubt, an id that isn't in the map is absent. */
export type Item = Place | { readonly state: 'lost' } | { readonly state: 'removed' };

export interface Contents {
  readonly items: Map<string, Item>;
  /** True if an id that is missing in `items` may have been in an unreadable piece. */
  doubt: boolean;
  /** The sequence number of the next record. */
  sequence: number;
  /** The tag of the newest record that isn't a probe, or of the base segment; undefined after damage. */
  newest: string | undefined;
}

export interface Replayed extends Contents {
  /** The bytes from the beginning that stay. The rest of the file is a torn tail. */
  readonly whole: number;
  /** The sought tags whose records the file holds. */
  readonly foundTags: ReadonlySet<string>;
}

/** A whole segment header or record with a valid tag of its head. The body of a record may be damaged. */
type Unit =
  | { readonly segment: Segment; readonly sequence: number; readonly length: number }
  | { readonly head: Head; readonly sequence: number; readonly length: number };

/** Bytes of the longest write: a segment and a record. A longer tail of zeros can't come from one torn write. */
const maxWriteLength = segmentLength + headLength + maxSecretLength + tagLength;

/** `bytes`: the whole file. `start`: where its log begins. `sought`: the tags to look for. */
export function replay(bytes: Buffer, start: number, log: LogKey, sought: readonly string[] = []): Replayed {
  const contents: Contents = { items: new Map(), doubt: false, sequence: 0, newest: undefined };
  const foundTags = new Set<string>();
  const note = (tag: string): void => {
    contents.newest = tag;
    if (sought.includes(tag)) foundTags.add(tag);
  };
  const base = segmentAt(bytes, start, log);
  if (base?.isBase) {
    contents.sequence = base.sequence;
    note(tagOf(base.header));
  } else enterDoubt(contents);
  let segment = base?.isBase ? base : undefined;
  let offset = segment ? start + segmentLength : start;
  while (offset < bytes.length) {
    const unit = unitAt(bytes, offset, log, segment);
    if (!unit) {
      const next = nextUnit(bytes, offset + 1, log, segment);
      if (next === undefined && segment && isTorn(bytes.subarray(offset), segment))
        return { ...contents, whole: offset, foundTags };
      enterDoubt(contents);
      offset = next ?? bytes.length;
      continue;
    }
    if (isNext(contents, unit)) {
      if ('segment' in unit) segment = unit.segment;
      else if (segment) {
        const record = bytes.subarray(offset, offset + unit.length);
        const isLast = offset + unit.length === bytes.length;
        if (!take(contents, record, { segment, offset, head: unit.head }, isLast))
          return { ...contents, whole: offset, foundTags };
        if (unit.head.kind !== 'probe') note(tagOf(record));
      }
    }
    offset += unit.length;
  }
  return { ...contents, whole: bytes.length, foundTags };
}

function unitAt(bytes: Buffer, offset: number, log: LogKey, current: Segment | undefined): Unit | undefined {
  const head = current && headAt(bytes, offset, current);
  if (head) {
    const { sequence, length } = head;
    return offset + length <= bytes.length ? { head, sequence, length } : undefined;
  }
  const segment = segmentAt(bytes, offset, log);
  return segment && { segment, sequence: segment.sequence, length: segmentLength };
}

/** The offset of the first valid unit from `from` on, after a damaged piece; undefined if there is none. */
function nextUnit(
  bytes: Buffer,
  from: number,
  log: LogKey,
  current: Segment | undefined,
): number | undefined {
  const find = (magic: Buffer, at: number): number => {
    const found = bytes.indexOf(magic, at);
    return found === -1 ? Infinity : found;
  };
  let record = find(recordMagic, from);
  let segment = find(segmentMagic, from);
  while (record !== segment) {
    const at = Math.min(record, segment);
    if (unitAt(bytes, at, log, current)) return at;
    if (at === record) record = find(recordMagic, at + 1);
    else segment = find(segmentMagic, at + 1);
  }
  return undefined;
}

/**
 * True if `unit` is in sequence, or follows a gap, which is doubt. A repeated unit or a second base is doubt and
 * skipped.
 */
function isNext(contents: Contents, unit: Unit): boolean {
  const isOld = unit.sequence < contents.sequence || ('segment' in unit && unit.segment.isBase);
  if (isOld || unit.sequence > contents.sequence) enterDoubt(contents);
  if (isOld) return false;
  contents.sequence = unit.sequence + ('segment' in unit ? 0 : 1);
  return true;
}

/** Applies a record to `contents`. False if it is the last one and torn. */
function take(
  contents: Contents,
  record: Buffer,
  { segment, offset, head }: { segment: Segment; offset: number; head: Head },
  isLast: boolean,
): boolean {
  const plaintext = openRecord(record, segment, head.sequence);
  plaintext?.fill(0);
  if (!plaintext && isLast && endsUnwritten(record)) {
    contents.sequence = head.sequence;
    return false;
  }
  if (head.kind === 'probe') return true;
  const { sequence, length } = head;
  if (!plaintext) contents.items.set(head.id, { state: 'lost' });
  else if (head.kind === 'value')
    contents.items.set(head.id, { state: 'live', segment, sequence, offset, length });
  else noteRemoved(contents, head.id);
  return true;
}

/** From now on the item is certainly absent. */
export function noteRemoved(contents: Contents, id: string): void {
  if (contents.doubt) contents.items.set(id, { state: 'removed' });
  else contents.items.delete(id);
}

function enterDoubt(contents: Contents): void {
  contents.items.clear();
  contents.doubt = true;
  contents.newest = undefined;
}

/** True if a crash can leave these last bytes of a write: its beginning, or zeros in its place. */
function isTorn(rest: Buffer, segment: Segment): boolean {
  const head = headAt(rest, 0, segment);
  if (head) return rest.length < head.length;
  if (rest.length < headLength && beginsAs(rest, recordMagic)) return true;
  if (rest.length < segmentLength && beginsAs(rest, segmentMagic)) return true;
  return rest.length <= maxWriteLength && endsUnwritten(rest);
}

function beginsAs(rest: Buffer, magic: Buffer): boolean {
  const length = Math.min(rest.length, magic.length);
  return rest.subarray(0, length).equals(magic.subarray(0, length));
}

/**
 * A file system may lengthen a file before it writes the bytes. A whole record ends with a tag, never with 16 zeros.
 */
function endsUnwritten(bytes: Buffer): boolean {
  return bytes.subarray(-tagLength).every((byte) => byte === 0);
}
