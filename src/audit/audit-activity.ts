/**
 * Counts what happened, hour by hour, for a chart, and which app used which server.
 *
 * Invariant: counts all rows of its hours, however many there are: a row for repeats counts as many as it stands for.
 * Reads the log as it was at one moment, and at most one file that ended before those hours.
 */
import { readLog } from './audit-files.ts';
import { readRow, type StoredRow } from './audit-row.ts';

const hour = 60 * 60 * 1000;

export interface ActiveHour {
  /** The beginning of the hour: milliseconds since 1970. */
  readonly at: number;
  /** Tokens and API keys that apps got. */
  handedOut: number;
  refused: number;
  refreshed: number;
  failed: number;
}

/** An app that got tokens or API keys for an endpoint. */
export interface Use {
  readonly app: string;
  readonly endpoint: string;
  /** When it last got one: milliseconds since 1970. */
  last: number;
  /** How many it got in each of the hours. */
  readonly handedOut: number[];
}

/** Uses in one answer: more than a window draws, and few enough for one frame of the wire. */
const maxUses = 128;

export interface ActivityCount {
  /** Oldest first; the last one is not over. */
  readonly hours: ActiveHour[];
  /** The most used first. */
  readonly uses: Use[];
}

/** What happened in the last `count` hours before `now` (milliseconds). Throws `file_unreadable`. */
export async function activityOf(folder: string, now: number, count: number): Promise<ActivityCount> {
  const first = (Math.floor(now / hour) - count + 1) * hour;
  const hours: ActiveHour[] = Array.from({ length: count }, (_, index) => ({
    at: first + index * hour,
    handedOut: 0,
    refused: 0,
    refreshed: 0,
    failed: 0,
  }));
  const uses = new Map<string, Use>();
  await readLog(folder, async (files) => {
    for (const lines of files.toReversed()) {
      let isOlder = false;
      for await (const line of lines()) {
        const row = readRow(line);
        if (!row) continue;
        isOlder ||= row.time < first;
        const index = Math.floor((row.time - first) / hour);
        const active = hours[index];
        if (!active) continue;
        tally(active, row);
        if (isHandedOut(row)) noteUse(uses, row, index, count);
      }
      if (isOlder) break;
    }
  });
  return { hours, uses: mostUsed([...uses.values()]) };
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, value) => total + value, 0);

function mostUsed(uses: readonly Use[]): Use[] {
  return uses.toSorted((a, b) => sum(b.handedOut) - sum(a.handedOut)).slice(0, maxUses);
}

const isHandedOut = ({ event, outcome }: StoredRow): boolean =>
  event === 'token' || (event === 'apiKey' && outcome === 'given');

/** `index`: the hour of the row; `length`: how many hours are counted. */
function noteUse(uses: Map<string, Use>, row: StoredRow, index: number, length: number): void {
  const { app, endpoint, time, count = 1 } = row;
  if (app === undefined || endpoint === undefined) return;
  const pair = JSON.stringify([app, endpoint]);
  const use = uses.get(pair) ?? {
    app,
    endpoint,
    last: 0,
    handedOut: Array.from({ length }, () => 0),
  };
  use.last = Math.max(use.last, time);
  use.handedOut[index] = (use.handedOut[index] ?? 0) + count;
  uses.set(pair, use);
}

function tally(active: ActiveHour, row: StoredRow): void {
  const { event, outcome, count = 1 } = row;
  if (isHandedOut(row)) active.handedOut += count;
  if (event === 'refused') active.refused += count;
  if (event === 'refresh' && outcome === 'ok') active.refreshed += count;
  if (event === 'refresh' && outcome !== 'ok') active.failed += count;
}
