/**
 * Requests and refreshes of the last day, hour by hour: bars for the eye, a table for everybody.
 *
 * Invariant: what the bars show stands in the table as numbers.
 */
import { useNow } from '../../state/now.ts';
import { strings } from '../../base/strings.ts';
import type { AuditRow } from '../../base/views.ts';
import { formatCount, formatHour, formatNumber, formatTime } from '../../base/format.ts';

const words = strings.activity;

/** Seconds. */
const hour = 3600;
const hoursShown = 24;
/** Hours between two marks of the axis. */
const axisStep = 6;

/** Of the drawing, in its own units. */
const height = 60;
const slot = 10;
const barWidth = 4;

interface Bucket {
  /** Seconds since 1970. */
  readonly at: number;
  readonly requests: number;
  readonly refreshes: number;
}

export function bucketsOf(rows: readonly AuditRow[], now: number): Bucket[] {
  const first = (Math.floor(now / hour) - hoursShown + 1) * hour;
  const buckets = Array.from({ length: hoursShown }, (_, index) => ({
    at: first + index * hour,
    requests: 0,
    refreshes: 0,
  }));
  for (const { event, time, count = 1 } of rows) {
    const bucket = buckets[Math.floor((time / 1000 - first) / hour)];
    if (bucket === undefined) continue;
    if (event === 'refresh') bucket.refreshes += count;
    if (event === 'token' || event === 'refused') bucket.requests += count;
  }
  return buckets;
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, value) => total + value, 0);

export function ActivityChart({ rows }: { readonly rows: readonly AuditRow[] }) {
  const thisHour = useNow((now) => Math.floor(now / hour));
  const buckets = bucketsOf(rows, thisHour * hour);
  const text = words.chartText(
    formatCount(sum(buckets.map(({ requests }) => requests)), 'requests'),
    formatCount(sum(buckets.map(({ refreshes }) => refreshes)), 'refreshes'),
  );
  return (
    <figure class="card chart">
      <figcaption>
        <h3>{words.chart}</h3>
        <p class="legend dim">
          <span class="key requests" aria-hidden="true" /> {words.requests}
          <span class="key refreshes" aria-hidden="true" /> {words.refreshes}
        </p>
      </figcaption>
      <Bars buckets={buckets} label={text} />
      <Axis buckets={buckets} />
      <p class="dim small">{text}</p>
      <details class="disclosure">
        <summary>{words.chartTable}</summary>
        <Table buckets={buckets} />
      </details>
    </figure>
  );
}

function Bars({ buckets, label }: { readonly buckets: readonly Bucket[]; readonly label: string }) {
  const top = Math.max(1, ...buckets.flatMap(({ requests, refreshes }) => [requests, refreshes]));
  const bar = (value: number, x: number, kind: string) => {
    const size = (value / top) * height;
    return <rect class={kind} x={x} y={height - size} width={barWidth} height={size} />;
  };
  return (
    <svg
      role="img"
      aria-label={label}
      viewBox={`0 0 ${slot * hoursShown} ${height + 1}`}
      preserveAspectRatio="none"
    >
      {buckets.map(({ at, requests, refreshes }, index) => (
        <g key={at}>
          <title>{words.chartHour(formatHour(at), formatNumber(requests), formatNumber(refreshes))}</title>
          {/* So that an hour of low bars, or of none, is as easy to point at. */}
          <rect class="slot" x={index * slot} y={0} width={slot} height={height} />
          {bar(requests, index * slot, 'requests')}
          {bar(refreshes, index * slot + barWidth, 'refreshes')}
        </g>
      ))}
      <rect class="ground" x={0} y={height} width={slot * hoursShown} height={1} />
    </svg>
  );
}

/** When the hours were, every sixth; the table has them all. */
function Axis({ buckets }: { readonly buckets: readonly Bucket[] }) {
  return (
    <div class="axis dim small" aria-hidden="true">
      {buckets
        .filter((_, index) => index % axisStep === 0)
        .map(({ at }) => (
          <span key={at}>{formatTime(at)}</span>
        ))}
    </div>
  );
}

function Table({ buckets }: { readonly buckets: readonly Bucket[] }) {
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">{words.hour}</th>
          <th scope="col">{words.requests}</th>
          <th scope="col">{words.refreshes}</th>
        </tr>
      </thead>
      <tbody>
        {buckets.map(({ at, requests, refreshes }) => (
          <tr key={at}>
            <th scope="row">{formatHour(at)}</th>
            <td>{formatNumber(requests)}</td>
            <td>{formatNumber(refreshes)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
