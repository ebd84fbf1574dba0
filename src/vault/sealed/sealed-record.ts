/**
 * What a sealed log is made of: segments, and records sealed under a segment's key.
 *
 *   segment  magic 4 | base 1 | sequence 8 | salt 32 | tag 16
 *   record   head: magic 4 | body's length 4 | sequence 8 | kind 1 | id 128 | tag 16
 *            body: ciphertext | tag 16
 *
 * Invariants: a segment's keys come from the log's key and a random salt (HKDF), so no two openings
 * share one; within a segment the sequence is the nonce and is used once. The head has a tag of its own,
 * so that a damaged body still tells whose it was, and a head that passes tells where its record ends.
 * Ids therefore stand in the clear, as they do in the grants' own records: they are names, not secrets.
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
/** Bytes: the longest id that a vault takes. Of fixed size, so that no damaged length misplaces the head's tag. */
const idLength = 128;

const segmentTagAt = magicLength + 1 + 8 + saltLength;
export const segmentLength = segmentTagAt + tagLength;
const headTagAt = magicLength + 4 + 8 + 1 + idLength;
export const headLength = headTagAt + tagLength;

/** What a record says of its id. A probe says nothing: it proves that the log takes a record. */
const kinds = { value: 1, removal: 2, probe: 3 } as const;
export type RecordKind = keyof typeof kinds;

export interface Segment {
  readonly header: Buffer;
  /** The first segment of a file: what came before it is gone on purpose. */
  readonly isBase: boolean;
  /** Of its first record. */
  readonly sequence: number;
  readonly logId: Buffer;
  readonly sealing: KeyObject;
  readonly heading: KeyObject;
}

export interface Head {
  readonly kind: RecordKind;
  readonly id: string;
  readonly sequence: number;
  /** Bytes of head and body. */
  readonly length: number;
}

/** A segment that begins with `sequence`, under a salt never used before. */
export function newSegment(log: LogKey, sequence: number, isBase: boolean): Segment {
  const header = Buffer.alloc(segmentLength);
  segmentMagic.copy(header);
  header.writeUInt8(isBase ? 1 : 0, magicLength);
  header.writeBigUInt64BE(BigInt(sequence), magicLength + 1);
  const salt = randomBytes(saltLength);
  salt.copy(header, segmentTagAt - saltLength);
  const segment = { header, isBase, sequence, ...segmentKeys(log, salt) };
  tag(segment.heading, header.subarray(0, segmentTagAt)).copy(header, segmentTagAt);
  return segment;
}

/** The segment that begins at `offset`; undefined where none does, or its tag fails. */
export function segmentAt(bytes: Buffer, offset: number, log: LogKey): Segment | undefined {
  const header = bytes.subarray(offset, offset + segmentLength);
  if (header.length < segmentLength || !startsWith(header, segmentMagic)) return undefined;
  const keys = segmentKeys(log, header.subarray(segmentTagAt - saltLength, segmentTagAt));
  if (!hasTag(keys.heading, header, segmentTagAt)) return undefined;
  return {
    // A copy: a view would keep the whole file in memory for as long as the segment is known.
    header: Buffer.from(header),
    isBase: header.readUInt8(magicLength) === 1,
    sequence: Number(header.readBigUInt64BE(magicLength + 1)),
    ...keys,
  };
}

/** A record, ready to be appended. `secret` is empty for a removal and a probe. */
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
  head.write(id, magicLength + 13, idLength, 'latin1');
  const named = head.subarray(0, headTagAt);
  tag(segment.heading, named).copy(head, headTagAt);
  const cipher = createCipheriv('aes-256-gcm', segment.sealing, nonce(sequence));
  cipher.setAAD(Buffer.concat([segment.logId, named]));
  const record = Buffer.concat([head, cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]);
  plaintext.fill(0);
  return record;
}

/** The head that begins at `offset`; undefined where none of this segment does. Its body may be cut off. */
export function headAt(bytes: Buffer, offset: number, segment: Segment): Head | undefined {
  const head = bytes.subarray(offset, offset + headLength);
  if (head.length < headLength || !startsWith(head, recordMagic)) return undefined;
  if (!hasTag(segment.heading, head, headTagAt)) return undefined;
  const body = head.readUInt32BE(magicLength);
  const kind = kindOf(head.readUInt8(magicLength + 12));
  if (!kind || body < tagLength || body > maxSecretLength + tagLength) return undefined;
  const id = head.toString('latin1', magicLength + 13, headTagAt);
  return {
    kind,
    id: id.slice(0, idEnd(id)),
    sequence: Number(head.readBigUInt64BE(magicLength + 4)),
    length: headLength + body,
  };
}

/** What tells a segment or a record from every other: the tag of its head, base64url. `bytes` begins with it. */
export function tagOf(bytes: Buffer): string {
  const at = startsWith(bytes, segmentMagic) ? segmentTagAt : headTagAt;
  return bytes.subarray(at, at + tagLength).toString('base64url');
}

/** The plaintext of a whole record; undefined where it fails authentication. The caller clears it. */
export function openRecord(record: Buffer, segment: Segment, sequence: number): Buffer | undefined {
  const tagAt = record.length - tagLength;
  if (tagAt < headLength) return undefined;
  const decipher = createDecipheriv('aes-256-gcm', segment.sealing, nonce(sequence), {
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

function segmentKeys(log: LogKey, salt: Buffer): Pick<Segment, 'logId' | 'sealing' | 'heading'> {
  const context = Buffer.concat([Buffer.from('keyturn/1 sealed-file segment\n'), log.id]);
  const keys = Buffer.from(hkdfSync('sha256', log.key, salt, context, 64));
  const sealing = createSecretKey(keys.subarray(0, 32));
  const heading = createSecretKey(keys.subarray(32));
  keys.fill(0);
  return { logId: log.id, sealing, heading };
}

/** Twelve bytes, NIST SP 800-38D §8.2.1: no other segment has this key, so the counter is the whole nonce. */
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
  return bytes.subarray(0, magicLength).equals(magic);
}

function kindOf(number: number): RecordKind | undefined {
  if (number === kinds.value) return 'value';
  if (number === kinds.removal) return 'removal';
  return number === kinds.probe ? 'probe' : undefined;
}

function idEnd(padded: string): number {
  const end = padded.indexOf('\0');
  return end === -1 ? padded.length : end;
}
