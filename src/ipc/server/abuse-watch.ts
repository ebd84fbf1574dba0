/**
 * Notices what a well-behaved program doesn't do again and again, so that a person can look at it.
 *
 * Invariant: at most one report a minute for each program, however much it does: a report must not
 * become the flood that it reports. Their executable tells programs apart, for display only.
 */
import type { PeerFacts } from '../peer/peer.ts';

/**
 * `handshakes`: failed, or refused because too many had failed. `connections`: more at once than
 * there are places. `requests`: malformed or not permitted. `unread`: cut off for not reading.
 */
export type Abuse = 'handshakes' | 'connections' | 'requests' | 'unread';

export interface AbuseReport {
  readonly what: Abuse;
  /** The last one of that program. */
  readonly peer: PeerFacts;
  /** How often since counting began or the last report. */
  readonly count: number;
}

/** Times in a minute: a stale key that is tried again by hand or by a start-up script stays below. */
const enough = 20;

/** Milliseconds between two reports of one program, and for which counts are kept. */
const minute = 60_000;

/** Programs watched at once: more than one user runs; the one that was noticed first is forgotten. */
const maxWatched = 256;

interface Watched {
  since: number;
  reportedAt: number;
  readonly counts: Map<Abuse, number>;
}

export class AbuseWatch {
  readonly #now: () => number;
  readonly #report: (report: AbuseReport) => void;
  readonly #watched = new Map<string, Watched>();

  /** `now`: milliseconds. */
  constructor(now: () => number, report: (report: AbuseReport) => void) {
    this.#now = now;
    this.#report = report;
  }

  note(what: Abuse, peer: PeerFacts): void {
    const now = this.#now();
    const watched = this.#watch(programOf(peer), now);
    // A clock that was set back must not silence the watch until it has caught up.
    if (now < watched.since) watched.reportedAt = Number.NEGATIVE_INFINITY;
    if (now < watched.since || now - watched.since >= minute) expire(watched, now);
    const count = (watched.counts.get(what) ?? 0) + 1;
    watched.counts.set(what, count);
    if (count < enough || now - watched.reportedAt < minute) return;
    watched.counts.delete(what);
    watched.since = now;
    watched.reportedAt = now;
    this.#report({ what, peer, count });
  }

  #watch(program: string, now: number): Watched {
    const known = this.#watched.get(program);
    if (known) return known;
    const oldest = this.#watched.keys().next();
    if (this.#watched.size >= maxWatched && !oldest.done) this.#watched.delete(oldest.value);
    const watched = { since: now, reportedAt: Number.NEGATIVE_INFINITY, counts: new Map() };
    this.#watched.set(program, watched);
    return watched;
  }
}

/** A few in a long time aren't many in a minute; what already is enough waits for its report. */
function expire(watched: Watched, now: number): void {
  for (const [what, count] of watched.counts) if (count < enough) watched.counts.delete(what);
  watched.since = now;
}

function programOf(peer: PeerFacts): string {
  if (peer.kind === 'unverified') return 'unverified';
  return peer.executable ?? `pid ${peer.pid}`;
}
