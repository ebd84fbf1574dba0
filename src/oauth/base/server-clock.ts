/**
 * The clocks of the servers, as the `Date` headers of their responses show them.
 *
 * Invariant: an absolute time that a server writes or judges (`exp`, `nbf`, `iat`, the end of a
 * client secret) is compared with that server's clock, so that a wrong
 * clock on either side ends nothing. The difference is kept in steady time: setting this machine's clock changes nothing.
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

/** Milliseconds. A Date header has no fractions of a second and takes time to arrive: a smaller difference is no skew. */
const minSkew = 5000;

export class ServerClocks {
  /** By origin, milliseconds that the server's clock is ahead of steady time. */
  readonly #ahead = new Map<string, number>();

  /** `now` (steady): when the head of the response came. A response from a cache doesn't show the server's clock. */
  note(url: string, headers: HttpHeaders, now: number): void {
    const date = httpDate(headers.get('date'));
    const age = Number(headers.get('age') ?? 0);
    // Not after its real time: a signature dated a second into the future would be refused.
    if (date !== undefined && age === 0) this.#ahead.set(originOf(url), date - now);
  }

  /** Milliseconds that the clock at this URL is ahead of steady time; undefined if no response showed it. */
  ahead(url: string): number | undefined {
    return this.#ahead.get(originOf(url));
  }
}

/** The URLs whose clock counts: the token endpoint, which issues and checks; else the issuer. */
export interface ServerUrls {
  readonly issuer: string;
  readonly tokenEndpoint?: string;
}

/** Milliseconds since the epoch, as the server has them. */
export function serverTime(times: ServerTimes, places: ServerUrls): number {
  return times.wall() + clockSkew(times, places);
}

/** Milliseconds that the server's clock is ahead of ours; 0 if it is not known. */
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
