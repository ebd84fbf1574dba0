/**
 * The clocks of the servers, as the `Date` headers of their responses show them.
 *
 * Invariant: an absolute time that a server writes or checks (`exp`, `nbf`, `iat`, the end of a client secret) is
 * compared with that server's clock. So a wrong clock on either side ends nothing too early. The difference is measured
 * against steady time, so it stays right if somebody sets this machine's clock.
 */
import { httpDate, type HttpHeaders } from './http-time.ts';

export interface ServerTimes {
  /** Milliseconds, steady. */
  now(): number;
  /** Milliseconds since 1970, by this machine's wall clock. */
  wall(): number;
  /** If it is absent, every server's clock counts as right. */
  readonly serverClocks?: ServerClocks;
}

/** Milliseconds. A Date header counts whole seconds and takes time to arrive, so a smaller difference is ignored. */
const minSkew = 5000;

export class ServerClocks {
  /** By origin: the milliseconds by which the server's clock is ahead of steady time. */
  readonly #ahead = new Map<string, number>();

  /** `now`: when the head of the response came (steady). Ignores a response from a cache, whose date is old. */
  note(url: string, headers: HttpHeaders, now: number): void {
    const date = httpDate(headers.get('date'));
    const age = Number(headers.get('age') ?? 0);
    // A Date header drops fractions and arrives late, so this is never ahead of the server's real clock: the server
    // would refuse an assertion that is dated in its future.
    if (date !== undefined && age === 0) this.#ahead.set(originOf(url), date - now);
  }

  /** The milliseconds by which the clock at this URL is ahead of steady time; undefined if no response showed it. */
  ahead(url: string): number | undefined {
    return this.#ahead.get(originOf(url));
  }
}

/** The URLs whose clock counts: the token endpoint, which dates and checks tokens; else the issuer. */
export interface ServerUrls {
  readonly issuer: string;
  readonly tokenEndpoint?: string;
}

/** Milliseconds since 1970, by the server's clock. */
export function serverTime(times: ServerTimes, places: ServerUrls): number {
  return times.wall() + clockSkew(times, places);
}

/** The milliseconds by which the server's clock is ahead of ours; 0 if that is not known. */
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
