/**
 * The format of a sealed log: segments, and records that are encrypted under their segment's key.
 *
 *   segment  magic 4 | base 1 | sequence 8 | salt 32 | tag 16
 *   record   head: magic 4 | body's length 4 | sequence 8 | kind 1 | id 128 | tag 16
 *            body: ciphertext | tag 16
 *
 * Invariants: a segment's keys come from the log's key and a random salt (HKDF), so no two segments share a key. Within
 * a segment the sequence number is the nonce, and is used once. The head has a tag of its own: if only the body is
 * damaged, the head still shows which item is lost and where the next record begins. So ids are not encrypted. They
 * are no secrets, and the grants' records contain them too.
 */
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import type { LogKey } from './sealed-key.ts';
import { maxSecretLength } from '../base/vault.ts';

export const recordMagic = Buffer.from('KTr1');
export const segmentMagic = Buffer.from('KTs1');
const magicLength = 4;

/** Bytes of each tag: GCM's full one, and HMAC-SHA-256 cut to the same strength. */
export const tagLength = 16;
const saltLength = 32;
/**
 * Bytes: the longest id that a vault accepts. The size is fixed, so that the tag of the head is always at one offset.
 */
const idLength = 128;

const segmentTagAt = magicLength + 1 + 8 + saltLength;
export const segmentLength = segmentTagAt + tagLength;
const idAt = magicLength + 4 + 8 + 1;
const headTagAt = idAt + idLength;
export const headLength = headTagAt + tagLength;

/** A record sets or removes an item. A probe has no item: it only proves that the log can be written. */
const kinds = { value: 1, removal: 2, probe: 3 } as const;
export type RecordKind = keyof typeof kinds;

export interface Segment {
  readonly header: Buffer;
  /** True for the first segment of a file. Older records, with lower sequence numbers, were removed on purpose. */
  readonly isBase: boolean;
  /** The sequence number of its first record. */
  readonly sequence: number;
  readonly logId: Buffer;
  /** Encrypts the bodies of records. */
  readonly bodyKey: KeyObject;
  /** Makes the tags of the segment's header and of its records' heads. */
  readonly headKey: KeyObject;
}

export interface Head {
  readonly kind: RecordKind;
  readonly id: string;
  readonly sequence: number;
  /** Of head and body, in bytes. */
  readonly length: number;
}

/** A segment that begins with `sequence`, with a new random salt. */
export function newSegment(log: LogKey, sequence: number, isBase: boolean): Segment {
  const header = Buffer.alloc(segmentLength);
  segmentMagic.copy(header);
  header.writeUInt8(isBase ? 1 : 0, magicLength);
  header.writeBigUInt64BE(BigInt(sequence), magicLength + 1);
  const salt = randomBytes(saltLength);
  salt.copy(header, segmentTagAt - saltLength);
  const segment = { header, isBase, sequence, ...segmentKeys(log, salt) };
  tag(segment.headKey, header.subarray(0, segmentTagAt)).copy(header, segmentTagAt);
  return segment;
}

/** The segment that begins at `offset`; undefined if there is none, or its tag fails. */
export function segmentAt(bytes: Buffer, offset: number, log: LogKey): Segment | undefined {
  const header = bytes.subarray(offset, offset + segmentLength);
  if (header.length < segmentLength || !startsWith(header, segmentMagic)) return undefined;
  const keys = segmentKeys(log, header.subarray(segmentTagAt - saltLength, segmentTagAt));
  if (!hasTag(keys.headKey, header, segmentTagAt)) return undefined;
  return {
    // A copy, since a view would keep the whole file in memory as long as the segment.
    header: Buffer.from(header),
    isBase: header.readUInt8(magicLength) === 1,
    sequence: Number(header.readBigUInt64BE(magicLength + 1)),
    ...keys,
  };
}

/** The bytes of a record. `secret` is empty for a removal and a probe. */
export function sealRecord(
  segment: Segment,
  { kind, id, sequence }: Omit<Head, 'length'>,
  secret: string,
): Buffer {
  const plaintext = Buffer.from(secret, 'utf8');
  const head = Buffer.alloc(headLength);
  recordMagic.copy(head);
  head.writeUInt32BE(plaintext.length + tagLength, magicLength);
  head.writeBigUInt64BE(BigInt(sequence), magicLength + 4);
  head.writeUInt8(kinds[kind], magicLength + 12);
  head.write(id, idAt, idLength, 'latin1');
  const named = head.subarray(0, headTagAt);
  tag(segment.headKey, named).copy(head, headTagAt);
  const cipher = createCipheriv('aes-256-gcm', segment.bodyKey, nonce(sequence));
  cipher.setAAD(Buffer.concat([segment.logId, named]));
  const record = Buffer.concat([head, cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]);
  plaintext.fill(0);
  return record;
}

/** The head of this segment's record at `offset`; undefined if there is none. The record's body may be cut off. */
export function headAt(bytes: Buffer, offset: number, segment: Segment): Head | undefined {
  const head = bytes.subarray(offset, offset + headLength);
  if (head.length < headLength || !startsWith(head, recordMagic)) return undefined;
  if (!hasTag(segment.headKey, head, headTagAt)) return undefined;
  const body = head.readUInt32BE(magicLength);
  const kind = kindOf(head.readUInt8(magicLength + 12));
  if (!kind || body < tagLength || body > maxSecretLength + tagLength) return undefined;
  return {
    kind,
    id: head.toString('latin1', idAt, idEnd(head)),
    sequence: Number(head.readBigUInt64BE(magicLength + 4)),
    length: headLength + body,
  };
}

/** The tag of the segment or record that `bytes` begins with, base64url. No two segments or records share one. */
export function tagOf(bytes: Buffer): string {
  const at = startsWith(bytes, segmentMagic) ? segmentTagAt : headTagAt;
  return bytes.toString('base64url', at, at + tagLength);
}

/** The plaintext of a whole record; undefined if it fails authentication. The caller clears it. */
export function openRecord(record: Buffer, segment: Segment, sequence: number): Buffer | undefined {
  const tagAt = record.length - tagLength;
  if (tagAt < headLength) return undefined;
  const decipher = createDecipheriv('aes-256-gcm', segment.bodyKey, nonce(sequence), {
    authTagLength: tagLength,
  });
  decipher.setAAD(Buffer.concat([segment.logId, record.subarray(0, headTagAt)]));
  decipher.setAuthTag(record.subarray(tagAt));
  const plaintext = decipher.update(record.subarray(headLength, tagAt));
  try {
    decipher.final();
  } catch {
    plaintext.fill(0);
    return undefined;
  }
  return plaintext;
}

function segmentKeys(log: LogKey, salt: Buffer): Pick<Segment, 'logId' | 'bodyKey' | 'headKey'> {
  const context = Buffer.concat([Buffer.from('keyturn/1 sealed-file segment\n'), log.id]);
  const keys = Buffer.from(hkdfSync('sha256', log.key, salt, context, 64));
  const bodyKey = createSecretKey(keys.subarray(0, 32));
  const headKey = createSecretKey(keys.subarray(32));
  keys.fill(0);
  return { logId: log.id, bodyKey, headKey };
}

/** Twelve bytes. No other segment has this key, so a counter suffices as nonce (NIST SP 800-38D §8.2.1). */
function nonce(sequence: number): Buffer {
  const bytes = Buffer.alloc(12);
  bytes.writeBigUInt64BE(BigInt(sequence), 4);
  return bytes;
}

function tag(key: KeyObject, bytes: Buffer): Buffer {
  return createHmac('sha256', key).update(bytes).digest().subarray(0, tagLength);
}

function hasTag(key: KeyObject, bytes: Buffer, at: number): boolean {
  return timingSafeEqual(tag(key, bytes.subarray(0, at)), bytes.subarray(at, at + tagLength));
}

function startsWith(bytes: Buffer, magic: Buffer): boolean {
  return bytes.compare(magic, 0, magicLength, 0, magicLength) === 0;
}

function kindOf(number: number): RecordKind | undefined {
  if (number === kinds.value) return 'value';
  if (number === kinds.removal) return 'removal';
  return number === kinds.probe ? 'probe' : undefined;
}

/** Only these bytes become the id: a piece of a longer string would keep all of it in memory. */
function idEnd(head: Buffer): number {
  const end = head.indexOf(0, idAt);
  return end === -1 || end > headTagAt ? headTagAt : end;
}
