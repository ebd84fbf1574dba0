/**
 * What the bytes of a sealed log say. Pure.
 *
 * Invariants: only what authenticates, in unbroken sequence from the base segment, counts.
 *
 *   the file's end cuts a record short    torn: a write that nobody was told had succeeded
 *   a body fails under a good head        that id is lost until it is written or removed again
 *   anything else                         doubt: it may have held any id, so of the ids that no later
 *                                         record names nothing is known any more
 *
 * "Absent" is said only where there is no doubt. A whole record cut off at the end, or the whole file put
 * back to an older one, can't be seen here: the bytes are those of an honest, earlier time. Where the
 * keychain holds the head (sealed-head.ts), the tag that it names is missing then.
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

/** Where a value lies. */
export interface Place {
  readonly state: 'live';
  readonly segment: Segment;
  readonly sequence: number;
  /** Bytes. */
  readonly offset: number;
  readonly length: number;
}

/** `removed` is noted only in doubt, where silence no longer means absent. */
export type Item = Place | { readonly state: 'lost' } | { readonly state: 'removed' };

export interface Contents {
  readonly items: Map<string, Item>;
  /** An id that `items` doesn't name may have been in a piece that can't be read. */
  doubt: boolean;
  /** Of the next record. */
  sequence: number;
  /** The tag of the newest record that says something, or of the base segment; undefined after damage. */
  newest: string | undefined;
}

export interface Replayed extends Contents {
  /** Bytes from the beginning that stay; what follows is a torn tail. */
  readonly whole: number;
  /** Which of the sought tags it holds. */
  readonly foundTags: ReadonlySet<string>;
}

/** A whole piece of the log, whose segment tag or head passes; a record's body need not. */
type Unit =
  | { readonly segment: Segment; readonly sequence: number; readonly length: number }
  | { readonly head: Head; readonly sequence: number; readonly length: number };

/** Bytes of the longest write: a segment and a record. A tail of zeros beyond it is no torn write. */
const maxWriteLength = segmentLength + headLength + maxSecretLength + tagLength;

/** `bytes` is the whole file, `start` where its log begins; `sought` are tags that may be in it. */
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

/** Where the log goes on after a damaged piece. */
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

/** True for what the log goes on with. A gap is doubt; what was there before, or a second base, is passed over. */
function isNext(contents: Contents, unit: Unit): boolean {
  const isOld = unit.sequence < contents.sequence || ('segment' in unit && unit.segment.isBase);
  if (isOld || unit.sequence > contents.sequence) enterDoubt(contents);
  if (isOld) return false;
  contents.sequence = unit.sequence + ('segment' in unit ? 0 : 1);
  return true;
}

/** Notes what a record says; false for one that the file's end shows to be torn. */
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

/** Absent from now on, and known to be. */
export function noteRemoved(contents: Contents, id: string): void {
  if (contents.doubt) contents.items.set(id, { state: 'removed' });
  else contents.items.delete(id);
}

function enterDoubt(contents: Contents): void {
  contents.items.clear();
  contents.doubt = true;
  contents.newest = undefined;
}

/** Whether the file's last bytes are what a crash leaves of a write: its beginning, or zeros in its place. */
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

/** A file system may grow a file before it writes the bytes. A record ends with a tag, which is never all zeros. */
function endsUnwritten(bytes: Buffer): boolean {
  return bytes.subarray(-tagLength).every((byte) => byte === 0);
}
