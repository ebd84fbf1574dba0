/**
 * The chain of the audit log: every row ends with a link that covers this row and the link of the row before.
 *
 *   link = HMAC-SHA256(chain key, previous link LF row)   written as "mac", once the vault is open
 *   link = SHA-256(previous link LF row)                  written as "hash", before that
 *
 * Invariant: the link covers the exact bytes of its row. A line with other bytes fails, even if it parses to the same
 * row.
 */
import { createHash, createHmac, createSecretKey, hkdfSync } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { bodyOf, readRow } from './audit-row.ts';
import type { Entry, StoredRow } from './audit-row.ts';

export interface AuditKeys {
  /** Links rows. */
  readonly chain: KeyObject;
  /** Makes fingerprints of tokens. A key of its own, so that a fingerprint says nothing about a link. */
  readonly fingerprint: KeyObject;
}

/** Derives both keys (RFC 5869, SHA-256, 32 bytes each) from the home's master secret. */
export function auditKeys(master: KeyObject): AuditKeys {
  const derive = (info: string): KeyObject =>
    // No salt: the master secret is already uniformly random (RFC 5869 §3.1).
    createSecretKey(Buffer.from(hkdfSync('sha256', master, '', info, 32)));
  return { chain: derive('keyturn/1 audit chain'), fingerprint: derive('keyturn/1 audit fingerprint') };
}

/** Hexadecimal digits of a fingerprint: 64 bits tell a person's tokens apart. */
const fingerprintDigits = 16;

/** 16 hexadecimal digits, the same for one token as long as the home exists. To test a guess, one needs the key. */
export function tokenFingerprint(key: KeyObject, token: string): string {
  return createHmac('sha256', key).update(token).digest('hex').slice(0, fingerprintDigits);
}

/** Where a chain stands: the number of its last row (0: none yet) and that row's link ('' for none). */
export interface ChainHead {
  readonly sequence: number;
  readonly head: string;
}

export const noRows: ChainHead = { sequence: 0, head: '' };

export interface ChainLink extends ChainHead {
  readonly keyed: boolean;
}

/** The next line of the file, line feed included, and where the chain stands after it. */
export function linkRow(
  before: ChainHead,
  entry: Entry,
  key: KeyObject | undefined,
): { readonly line: string; readonly after: ChainHead } {
  const sequence = before.sequence + 1;
  const open = JSON.stringify(bodyOf(sequence, entry)).slice(0, -1);
  const head = linkOver(before.head, open, key);
  return { line: `${open},"${key ? 'mac' : 'hash'}":"${head}"}\n`, after: { sequence, head } };
}

function linkOver(previous: string, open: string | Buffer, key: KeyObject | undefined): string {
  const digest = key ? createHmac('sha256', key) : createHash('sha256');
  return digest.update(`${previous}\n`).update(open).digest('base64url');
}

/** 43 characters of base64url are 32 bytes. */
const linkEnding = /,"(mac|hash)":"([\w-]{43})"\}$/;
/** Bytes of the longer of the two endings. */
const maxEndingLength = ',"hash":""}'.length + 43;
/** 15 digits stay a safe integer. A line that claims more was not written by us. */
const sequenceStart = /^\{"sequence":([1-9]\d{0,14}),/;
/** Bytes that the start above takes at most. */
const maxStartLength = '{"sequence":,'.length + 15;

/** The link of a line, without parsing the row; undefined if the line has none. */
export function peekLink(line: Buffer): ChainLink | undefined {
  const ending = linkEnding.exec(line.toString('latin1', Math.max(0, line.length - maxEndingLength)));
  const start = sequenceStart.exec(line.toString('latin1', 0, maxStartLength));
  if (ending?.[2] === undefined || start === null) return undefined;
  return { sequence: Number(start[1]), head: ending[2], keyed: ending[1] === 'mac' };
}

export interface LinkedRow extends ChainLink {
  readonly row: StoredRow;
}

/** The row and link of a line; undefined if the line isn't a whole row of a chain. */
export function readLink(line: Buffer): LinkedRow | undefined {
  const link = peekLink(line);
  const row = link && readRow(line);
  return row && { ...link, row };
}

/** True if the link is right for this line after the link `previous`. A keyed link needs the key. */
export function fits(line: Buffer, link: ChainLink, previous: string, key: KeyObject | undefined): boolean {
  if (link.keyed && !key) return false;
  const ending = (link.keyed ? ',"mac":""}' : ',"hash":""}').length + link.head.length;
  const open = line.subarray(0, line.length - ending);
  return linkOver(previous, open, link.keyed ? key : undefined) === link.head;
}

const anchorForm = /^keyturn-audit\/1 (\d{1,15}) ([\w-]{43})?$/;

/** The head as the vault keeps it. */
export function anchorText({ sequence, head }: ChainHead): string {
  return `keyturn-audit/1 ${sequence} ${head}`;
}

/** Undefined if the text isn't an anchor of this version. */
export function readAnchor(text: string): ChainHead | undefined {
  const match = anchorForm.exec(text);
  return match ? { sequence: Number(match[1]), head: match[2] ?? '' } : undefined;
}

/** A digest of lines in the file that aren't rows of the chain, each with a line feed. */
export class LineDigest {
  readonly #hash = createHash('sha256');
  lines = 0;

  add(line: Buffer): void {
    this.#hash.update(line).update('\n');
    this.lines += 1;
  }

  /** Base64url. Call it once. */
  end(): string {
    return this.#hash.digest('base64url');
  }
}
