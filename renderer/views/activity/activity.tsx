/** The audit log: filtered, drawn, exported. */
import { useMemo } from 'preact/hooks';
import { Button } from '../../parts/button.tsx';
import { ActivityChart } from './activity-chart.tsx';
import { ActivityFilter, choicesOf, filterItem, filterOf, isShown } from './activity-filter.tsx';
import type { RowFilter } from './activity-filter.tsx';
import { announce } from '../../state/announcement.ts';
import { AuditEntry } from './audit-entry.tsx';
import { useAction, useList } from '../../state/store.ts';
import { ListFrame } from '../../lists/list-frame.tsx';
import { LongList } from '../../lists/long-list.tsx';
import { Refused } from '../../parts/notice.tsx';
import { goTo } from '../../state/route.ts';
import { strings } from '../../base/strings.ts';
import { ViewHead } from '../../parts/view-head.tsx';

const words = strings.activity;

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
      <ListFrame loaded={loaded} isEmpty={rows.length === 0} words={words}>
        <ActivityChart />
        <ActivityFilter choices={choices} filter={filter} onFilter={setFilter} />
        <div class="rows-head">
          <p class="dim small" role="status">
            {words.newest({ count: fitting.length })}
            {skipped > 0 && ` ${words.skipped({ count: skipped })}`}
          </p>
          <Export />
        </div>
        <LongList
          class="rows"
          pageSize={60}
          items={fitting}
          keyOf={(_, at) => String(at)}
          show={(row) => <AuditEntry row={row} />}
        />
      </ListFrame>
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
        <Button text={words.exportCsv} onPress={() => save('csv')} />
        <Button text={words.exportJsonl} onPress={() => save('jsonl')} />
      </div>
      <Refused refusal={action.refusal} />
    </>
  );
}
