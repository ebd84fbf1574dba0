/** The audit log: filtered, drawn, exported. */
import { useMemo, useState } from 'preact/hooks';
import { ActivityChart } from './activity-chart.tsx';
import { ActivityFilter, choicesOf, filterItem, filterOf, isShown } from './activity-filter.tsx';
import type { RowFilter } from './activity-filter.tsx';
import { announce } from '../../state/announcement.ts';
import { AuditEntry } from './audit-entry.tsx';
import { useAction, useList } from '../../state/store.ts';
import { ListFrame } from '../../lists/list-frame.tsx';
import { Refused } from '../../parts/refused.tsx';
import { ShowMore } from '../../lists/show-more.tsx';
import { goTo } from '../../state/route.ts';
import { strings } from '../../base/strings.ts';
import type { AuditRow } from '../../base/views.ts';
import { ViewHead } from '../view-head.tsx';

const words = strings.activity;

/** Rows at first and with each further step: several windows full. */
const pageSize = 60;

export function Activity({ item }: { readonly item?: string }) {
  const loaded = useList('audit.tail');
  const filter = useMemo(() => filterOf(item), [item]);
  const setFilter = (chosen: RowFilter): void => goTo('activity', filterItem(chosen));
  const { rows: read, skipped = 0 } = loaded.value ?? {};
  const rows = useMemo(() => read?.toReversed() ?? [], [read]);
  const choices = useMemo(() => choicesOf(rows), [rows]);
  const fitting = useMemo(() => rows.filter((row) => isShown(row, filter)), [rows, filter]);
  return (
    <>
      <ViewHead title={words.title} lead={words.lead} />
      <ListFrame
        loaded={loaded}
        isEmpty={rows.length === 0}
        emptyTitle={words.emptyTitle}
        empty={words.empty}
      >
        <ActivityChart />
        <ActivityFilter choices={choices} filter={filter} onFilter={setFilter} />
        <div class="rows-head">
          <p class="dim small" role="status">
            {words.newest({ count: fitting.length })}
            {skipped > 0 && ` ${words.skipped({ count: skipped })}`}
          </p>
          <Export />
        </div>
        <Rows rows={fitting} />
      </ListFrame>
    </>
  );
}

function Rows({ rows }: { readonly rows: readonly AuditRow[] }) {
  const [count, setCount] = useState(pageSize);
  if (rows.length === 0) return <p class="empty dim">{strings.noMatch}</p>;
  return (
    <>
      <ul class="rows">
        {rows.slice(0, count).map((row, index) => (
          <li key={index}>
            <AuditEntry row={row} />
          </li>
        ))}
      </ul>
      {rows.length > count && <ShowMore onMore={() => setCount((shown) => shown + pageSize)} />}
    </>
  );
}

function Export() {
  const action = useAction();
  const save = async (format: 'csv' | 'jsonl'): Promise<void> => {
    const { rows, skipped = 0 } = (await action.run('audit.export', { format })) ?? {};
    if (rows === undefined) return;
    const exported = words.exported({ count: rows });
    announce(skipped > 0 ? `${exported} ${words.skipped({ count: skipped })}` : exported);
  };
  return (
    <>
      <div class="actions" role="group" aria-label={words.export}>
        <button type="button" onClick={() => void save('csv')}>
          {words.exportCsv}
        </button>
        <button type="button" onClick={() => void save('jsonl')}>
          {words.exportJsonl}
        </button>
      </div>
      <Refused refusal={action.refusal} />
    </>
  );
}
