/**
 * What happened in the last day, hour by hour: bars for the eye, a table for everybody.
 *
 * Invariant: what the bars show is in the table as numbers. The broker counts, over all rows of the log.
 */
import { strings } from '../../base/strings.ts';
import { useList } from '../../state/store.ts';
import type { ActiveHour } from '../../base/views.ts';
import { formatCount, formatHour, formatList, formatNumber, formatTime } from '../../base/format.ts';
import { Refused } from '../../parts/notice.tsx';

const words = strings.activity;

/** Hours between two marks of the axis. */
const axisStep = 6;

/** Of the drawing, in its own units. */
const height = 60;
const slot = 10;
const barWidth = 4;

/** What is counted: two bars, each with its failures on top. */
const bars = [
  { x: 0, good: 'handedOut', bad: 'refused' },
  { x: barWidth, good: 'refreshed', bad: 'failed' },
] as const;

const columns = ['handedOut', 'refused', 'refreshed', 'failed'] as const;

const sum = (numbers: readonly number[]): number => numbers.reduce((total, value) => total + value, 0);

export function ActivityChart() {
  const { value, refusal } = useList('audit.activity');
  const hours = value?.hours ?? [];
  const total = (column: (typeof columns)[number]): string =>
    formatCount(sum(hours.map((hour) => hour[column])), column);
  const text = words.chartText({ counts: formatList(columns.map(total)) });
  return (
    <figure class="card chart">
      <figcaption>
        <h3>{words.chart}</h3>
        <p class="legend dim">
          <span class="key handedOut" aria-hidden="true" /> {words.handedOut}
          <span class="key refreshed" aria-hidden="true" /> {words.refreshed}
          <span class="key failed" aria-hidden="true" /> {words.bad}
        </p>
      </figcaption>
      <Refused refusal={refusal} />
      <Bars hours={hours} label={text} />
      <p class="dim small">{text}</p>
      <details class="disclosure">
        <summary>{words.chartList}</summary>
        <List hours={hours} />
      </details>
    </figure>
  );
}

interface HoursProps {
  readonly hours: readonly ActiveHour[];
}

function Bars({ hours, label }: HoursProps & { readonly label: string }) {
  const top = Math.max(1, ...hours.flatMap((hour) => bars.map(({ good, bad }) => hour[good] + hour[bad])));
  const sizeOf = (value: number): number => (value / top) * height;
  return (
    <div class="plot">
      {/* The highest bar, and the ground line. */}
      <span class="scale dim small" aria-hidden="true">
        <span>{words.perHour({ count: formatNumber(top) })}</span>
        <span>{formatNumber(0)}</span>
      </span>
      <svg
        role="img"
        aria-label={label}
        viewBox={`0 0 ${slot * Math.max(1, hours.length)} ${height + 1}`}
        preserveAspectRatio="none"
      >
        {hours.map((hour, index) => (
          <g key={hour.at}>
            <title>{textOf(hour)}</title>
            {/* So that an hour of low bars, or of none, is as easy to point at. */}
            <rect class="slot" x={index * slot} y={0} width={slot} height={height} />
            {bars.flatMap(({ x, good, bad }) => {
              const below = sizeOf(hour[good]);
              const above = sizeOf(hour[bad]);
              const place = { x: index * slot + x, width: barWidth };
              return [
                <rect key={good} class={good} {...place} y={height - below} height={below} />,
                <rect key={bad} class={bad} {...place} y={height - below - above} height={above} />,
              ];
            })}
          </g>
        ))}
        <rect class="ground" x={0} y={height} width={slot * hours.length} height={1} />
      </svg>
      <Axis hours={hours} />
    </div>
  );
}

/** When the hours were, every sixth; the table has those in which something happened. */
function Axis({ hours }: HoursProps) {
  return (
    <div class="axis dim small" aria-hidden="true">
      {hours
        .filter((_, index) => index % axisStep === 0)
        .map(({ at }) => (
          <span key={at}>{formatTime(at / 1000)}</span>
        ))}
    </div>
  );
}

function List({ hours }: HoursProps) {
  const busy = hours.filter((hour) => columns.some((column) => hour[column] > 0));
  if (busy.length === 0) return <p class="dim small">{words.chartNothing}</p>;
  return (
    <table class="hours">
      <thead>
        <tr>
          <th scope="col">{words.hour}</th>
          {columns.map((column) => (
            <th key={column} scope="col">
              {words[column]}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {busy.map((hour) => (
          <tr key={hour.at}>
            <th scope="row">{formatHour(hour.at / 1000)}</th>
            {columns.map((column) => (
              <td key={column}>{formatNumber(hour[column])}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** One hour with what happened in it. */
function textOf(hour: ActiveHour): string {
  const happened = columns.filter((column) => hour[column] > 0);
  const counts = happened.map((column) => formatCount(hour[column], column));
  return words.chartHour({
    hour: formatHour(hour.at / 1000),
    counts: counts.length === 0 ? words.chartNothing : formatList(counts),
  });
}
