/** What happened lately with one server or one app: a line of its use, the newest rows, the way to all of them. */
import { useMemo } from 'preact/hooks';
import { formatCount } from '../../base/format.ts';
import { strings } from '../../base/strings.ts';
import { Sparkline } from './sparkline.tsx';
import { goTo } from '../../state/route.ts';
import { useList } from '../../state/store.ts';
import { useSumOf } from '../../state/uses.ts';
import { AuditEntry } from './audit-entry.tsx';
import { filterItem, isShown, noFilter } from './activity-filter.tsx';

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
  const { hours, total } = useSumOf(server === '' ? { app } : { endpoint: server });
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
        <button type="button" class="quiet" onClick={() => goTo('activity', filterItem(of))}>
          {words.showAll}
        </button>
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
