/** The last 24 hours of the desk in example-desk.ts, as the broker counts them. */
import type { ResultOn } from '../../../electron/bridge/channels.ts';

/** Seconds. */
const hour = 3600;

/** A day at the desk, from eleven to ten: nothing at night, a server that could not be reached in the morning. */
const hoursBefore = (now: number): ResultOn<'audit.activity'>['hours'] =>
  Array.from({ length: 24 }, (_, index) => ({
    at: (Math.floor(now / hour) - 23 + index) * hour * 1000,
    handedOut:
      index < 11 ? 20 + ((index * 7) % 19) : ([0, 0, 0, 0, 0, 0, 0, 2, 9, 18, 27, 31, 24][index - 11] ?? 0),
    refused: index === 4 || index === 22 ? 3 : 0,
    refreshed: index < 11 || index > 17 ? 2 + (index % 3) : 0,
    failed: index > 20 ? 2 : 0,
  }));

type Use = ResultOn<'audit.activity'>['uses'][number];

interface ExampleUse {
  readonly app: string;
  readonly endpoint: string;
  /** Seconds since 1970. */
  readonly last: number;
  /** Of what all programs got together. */
  readonly share: number;
}

/** `now`: seconds since 1970. */
export function exampleActivity(now: number, used: readonly ExampleUse[]): ResultOn<'audit.activity'> {
  const hours = hoursBefore(now);
  const uses: Use[] = used.map(({ app, endpoint, last, share }) => ({
    app,
    endpoint,
    last: last * 1000,
    handedOut: hours.map(({ at, handedOut }) => (at > last * 1000 ? 0 : Math.round(handedOut * share))),
  }));
  return { hours, uses };
}
