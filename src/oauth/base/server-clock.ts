/**
 * What the servers' own clocks show, from the `Date` header of their answers.
 *
 * Invariant: an absolute time that a server writes or judges (`exp`, `nbf`, `iat`, the end of a
 * client secret) is compared with that server's clock, so that neither its wrong clock nor ours ends
 * anything. What was learned follows steady time: setting the clock of this machine changes nothing.
 */
import { httpDate } from './http-time.ts';
import type { HttpHeaders } from './http-time.ts';

/** The parts of `Http` that tell the time. */
export interface ServerTimes {
  /** Milliseconds, steady. */
  now(): number;
  /** Milliseconds since the epoch, as this machine's wall clock has them. */
  wall(): number;
  /** Absent: every server's clock counts as right. */
  readonly serverClocks?: ServerClocks;
}

/** Milliseconds. A Date header is cut to the second and travels a while: less is no skew. */
const minSkew = 5000;

export class ServerClocks {
  /** By origin, milliseconds that the server's clock is ahead of steady time. */
  readonly #ahead = new Map<string, number>();

  /** An answer whose head came at `now` (steady). One that lay in a cache on its way tells nothing. */
  note(url: string, headers: HttpHeaders, now: number): void {
    const date = httpDate(headers.get('date'));
    const age = Number(headers.get('age') ?? 0);
    // Not after its real time: a signature dated a second into the future would be refused.
    if (date !== undefined && age === 0) this.#ahead.set(originOf(url), date - now);
  }

  /** Milliseconds that the clock at this URL is ahead of steady time; undefined where it never said. */
  ahead(url: string): number | undefined {
    return this.#ahead.get(originOf(url));
  }
}

/** Where a server's clock is read: the token endpoint, which issues and judges; else the issuer's own origin. */
export interface ServerUrls {
  readonly issuer: string;
  readonly tokenEndpoint?: string;
}

/** Milliseconds since the epoch, as the server has them. */
export function serverTime(times: ServerTimes, places: ServerUrls): number {
  return times.wall() + clockSkew(times, places);
}

/** Milliseconds that the server's clock is ahead of ours; 0 where nothing is known of it. */
export function clockSkew(times: ServerTimes, { issuer, tokenEndpoint = issuer }: ServerUrls): number {
  const clocks = times.serverClocks;
  const ahead = clocks?.ahead(tokenEndpoint) ?? clocks?.ahead(issuer);
  if (ahead === undefined) return 0;
  const skew = times.now() + ahead - times.wall();
  return Math.abs(skew) < minSkew ? 0 : skew;
}

function originOf(url: string): string {
  return URL.parse(url)?.origin ?? url;
}
