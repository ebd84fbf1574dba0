/** What happened lately with one server or one app: a line of its use, the newest rows, the way to all of them. */
import { sumOf, useUses } from '../../state/uses.ts';
import { useMemo } from 'preact/hooks';
import { formatCount } from '../../base/format.ts';
import { strings } from '../../base/strings.ts';
import { Button } from '../../parts/button.tsx';
import { goTo } from '../../state/route.ts';
import { useList } from '../../state/store.ts';
import { filterItem, isShown, noFilter } from './activity-filter.tsx';
import { AuditEntry } from './audit-entry.tsx';

const words = strings.activity;

/** Rows. */
const shownRows = 5;

interface RecentActivityProps {
  /** By which the activity filters, too. */
  readonly of: { readonly server: string } | { readonly app: string };
}

export function RecentActivity({ of }: RecentActivityProps) {
  const filter = { ...noFilter, ...of };
  const { server, app } = filter;
  const uses = useUses();
  const { hours, total } = useMemo(
    () => sumOf(uses, server === '' ? { app } : { endpoint: server }),
    [uses, server, app],
  );
  const rows = useList('audit.tail').value?.rows;
  const newest = useMemo(
    () =>
      (rows ?? [])
        .filter((row) => isShown(row, { ...noFilter, server, app }))
        .slice(-shownRows)
        .toReversed(),
    [rows, server, app],
  );
  return (
    <section class="card recent" aria-labelledby="recent-title">
      <header>
        <h3 id="recent-title">{words.recent}</h3>
        <Button text={words.showAll} class="quiet" onPress={() => goTo('activity', filterItem(of))} />
      </header>
      <p class="use-line dim small">
        <Sparkline values={hours} />
        <span>{words.chartText({ counts: formatCount(total, 'handedOut') })}</span>
      </p>
      {newest.length === 0 ? (
        <p class="dim">{words.recentEmpty}</p>
      ) : (
        <ul class="recent-rows">
          {newest.map((row, index) => (
            <li key={index}>
              <AuditEntry row={row} />
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

/** Of the drawing, in its own units. */
const height = 10;
const slot = 3;
const barWidth = 2;

/** An hour with one use is seen beside one with hundreds. */
const least = 1.5;

export function Sparkline({ values }: { readonly values: readonly number[] }) {
  const top = Math.max(1, ...values);
  return (
    <svg
      class="sparkline"
      viewBox={`0 0 ${Math.max(1, values.length) * slot} ${height}`}
      preserveAspectRatio="none"
      aria-hidden="true"
      focusable="false"
    >
      <rect class="ground" x={0} y={height - 0.5} width={values.length * slot} height={0.5} />
      {values.map((value, at) => {
        const size = value === 0 ? 0 : Math.max(least, (value / top) * height);
        return <rect key={at} class="use" x={at * slot} y={height - size} width={barWidth} height={size} />;
      })}
    </svg>
  );
}
