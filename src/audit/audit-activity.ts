/**
 * Counts what happened, hour by hour, for a chart.
 *
 * Invariant: counts all rows of its hours, however many there are: a row for repeats counts as many as it stands for.
 * Reads the log as it was at one moment, and no file that ended before those hours.
 */
import { auditFile, openSnapshot } from './audit-files.ts';
import { readRow } from './audit-row.ts';
import type { StoredRow } from './audit-row.ts';

const hour = 60 * 60 * 1000;

/** What happened within one hour. */
export interface ActiveHour {
  /** The beginning of the hour: milliseconds since 1970. */
  readonly at: number;
  /** Tokens and API keys that programs got. */
  handedOut: number;
  /** Requests of programs that were refused. */
  refused: number;
  /** Tokens that were refreshed. */
  refreshed: number;
  /** Refreshes that failed. */
  failed: number;
}

/** The last `count` hours, oldest first; the last one is not over at `now` (milliseconds). Throws `file_unreadable`. */
export async function activityOf(
  folder: string,
  now: number,
  count: number,
): Promise<readonly Readonly<ActiveHour>[]> {
  const first = (Math.floor(now / hour) - count + 1) * hour;
  const hours: ActiveHour[] = Array.from({ length: count }, (_, index) => ({
    at: first + index * hour,
    handedOut: 0,
    refused: 0,
    refreshed: 0,
    failed: 0,
  }));
  const snapshot = await openSnapshot(auditFile(folder));
  try {
    for (const file of snapshot.files.toReversed()) {
      let isOlder = false;
      for await (const { bytes } of file.lines()) {
        const row = readRow(bytes);
        if (!row) continue;
        isOlder ||= row.time < first;
        const active = hours[Math.floor((row.time - first) / hour)];
        if (active) tally(active, row);
      }
      if (isOlder) break;
    }
  } finally {
    await snapshot.close();
  }
  return hours;
}

function tally(active: ActiveHour, { event, outcome, count = 1 }: StoredRow): void {
  if (event === 'token' || (event === 'key' && outcome === 'given')) active.handedOut += count;
  if (event === 'refused') active.refused += count;
  if (event === 'refresh' && outcome === 'ok') active.refreshed += count;
  if (event === 'refresh' && outcome !== 'ok') active.failed += count;
}
