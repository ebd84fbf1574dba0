/**
 * How much of each file of the audit log is proven. An old file may go only if the newer ones hold enough proven bytes.
 *
 * Invariant: a byte counts once, and only in a row that follows from the row before and is keyed, or that a keyed row
 * vouches for. Otherwise a program could put files beside the log, or split or pad files, until the broker
 * removes old rows, and then take its own bytes away without a trace.
 */
import type { KeyObject } from 'node:crypto';
import { fits, peekLink, readLink } from './audit-chain.ts';
import type { ChainHead } from './audit-chain.ts';
import type { SnapshotFile } from './audit-files.ts';

/** Proven bytes of each file, oldest file first. Without a key every row that follows from the row before counts. */
export async function provenBytes(
  files: readonly SnapshotFile[],
  key: KeyObject | undefined,
): Promise<readonly number[]> {
  const proven = files.map(() => 0);
  /** Rows without a key that no keyed row has vouched for yet. */
  let plain: { readonly file: number; readonly bytes: number }[] = [];
  let at: ChainHead | undefined;
  let counted = 0;
  for (const [file, one] of files.entries()) {
    for await (const { bytes } of one.lines()) {
      const link = peekLink(bytes);
      if (!link) continue;
      const before = at ?? startOf(bytes);
      at = link;
      const follows = link.sequence === before.sequence + 1 && link.sequence > counted;
      if (!follows || !fits(bytes, link, before.head, key)) continue;
      counted = link.sequence;
      if (key && !link.keyed) plain.push({ file, bytes: bytes.length });
      else proven[file] = (proven[file] ?? 0) + bytes.length + 1;
      const vouched = key && link.keyed ? vouchedIn(bytes) : undefined;
      if (vouched === undefined) continue;
      if (vouched >= plain.length)
        for (const row of plain) proven[row.file] = (proven[row.file] ?? 0) + row.bytes + 1;
      plain = [];
    }
  }
  return proven;
}

/** Where the chain stood before the first row of the oldest file: the row itself says so. */
function startOf(line: Buffer): ChainHead {
  const first = readLink(line);
  return { sequence: (first?.sequence ?? 1) - 1, head: first?.row.previous ?? '' };
}

/** How many plain rows above it a `sealed` row vouches for; undefined for any other row. */
function vouchedIn(line: Buffer): number | undefined {
  if (!line.includes('"sealed"')) return undefined;
  const row = readLink(line)?.row;
  return row?.event === 'audit' && row.outcome === 'sealed' ? (row.plain ?? 0) : undefined;
}
