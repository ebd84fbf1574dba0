/**
 * Groups repeats of one answer: the first gets a row at once, its repeats within the next minute share one row.
 *
 * Invariant: every request counts in exactly one row: a row of its own, a row with a count, or the row that counts lost
 * ones. A request costs about a microsecond, and memory is bounded, however much apps ask.
 */
import type { AuditRow, Entry } from './audit-row.ts';

/** Milliseconds that one row may stand for. A minute is as exact as a user reads a log. */
export const repeatWindow = 60_000;
/** Groups at once. Far more than one user needs; this bounds memory and what a flood of requests can write. */
const maxGroups = 1000;

interface Group {
  readonly row: AuditRow;
  readonly since: number;
  count: number;
  first: number;
  last: number;
}

export class RepeatGroups {
  readonly #groups = new Map<string, Group>();

  get isEmpty(): boolean {
    return this.#groups.size === 0;
  }

  /** The rows to write now; none for a repeat; undefined if the row is lost because there are too many groups. */
  take(row: AuditRow, now: number): readonly Entry[] | undefined {
    const key = keyOf(row);
    const group = this.#groups.get(key);
    if (group && isOpen(group, now)) {
      if (group.count === 0) group.first = now;
      group.count += 1;
      group.last = now;
      return [];
    }
    const ended = group || this.#groups.size >= maxGroups ? this.end(now) : [];
    if (this.#groups.size >= maxGroups) return undefined; // none had ended
    this.#groups.set(key, { row, since: now, count: 0, first: now, last: now });
    return [...ended, { time: now, row }];
  }

  /** Ends the groups whose minute is over, or without `now` all of them, and returns their rows. */
  end(now?: number): Entry[] {
    const rows: Entry[] = [];
    for (const [key, group] of this.#groups) {
      if (now !== undefined && isOpen(group, now)) continue;
      this.#groups.delete(key);
      const { row, count, first, last } = group;
      if (count > 0) rows.push({ time: last, row, repeats: { count, first, last } });
    }
    return rows;
  }
}

/** A clock that was set back ends the group too. Otherwise its minute would last until the clock caught up. */
function isOpen({ since }: Group, now: number): boolean {
  return now >= since && now - since < repeatWindow;
}

/** As JSON, so that different fields never give one key, whatever characters they hold. */
function keyOf({ event, outcome, app, endpoint, signIn, scope, fingerprint }: AuditRow): string {
  return JSON.stringify([event, outcome, app, endpoint, signIn, scope, fingerprint]);
}
