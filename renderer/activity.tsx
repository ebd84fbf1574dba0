/** The audit trail: filtered, drawn, exported, checked. */
import { useState } from 'preact/hooks';
import { ActivityChart } from './activity-chart.tsx';
import { ActivityFilter, choicesOf, isShown, noFilter } from './activity-filter.tsx';
import type { Shown } from './activity-filter.tsx';
import { announce } from './announcement.ts';
import { AuditEntry } from './audit-entry.tsx';
import { useDeed } from './deed.ts';
import { fitLabel } from './foreign-text.ts';
import { ListFrame, pageSize, ShowMore } from './list-frame.tsx';
import { Refused } from './refused.tsx';
import { ViewHead } from './servers.tsx';
import { useList } from './store.ts';
import { strings } from './strings.ts';
import { counted, number } from './words.ts';

const words = strings.activity;

export function Activity() {
  const loaded = useList('audit.tail');
  const [filter, setFilter] = useState<Shown>(noFilter);
  const [count, setCount] = useState(pageSize);
  const rows = loaded.value?.rows.toReversed() ?? [];
  const fitting = rows.filter((row) => isShown(row, filter));
  return (
    <>
      <ViewHead title={words.title} lead={words.lead} />
      <ListFrame
        loaded={loaded}
        isEmpty={rows.length === 0}
        emptyTitle={words.emptyTitle}
        empty={words.empty}
      >
        <ActivityChart rows={rows} />
        <ActivityFilter choices={choicesOf(rows)} filter={filter} onFilter={setFilter} />
        <div class="rows-head">
          <p class="dim" role="status">
            {words.newest(counted(fitting.length, 'rows'))}
          </p>
          <Export />
        </div>
        {fitting.length === 0 && <p class="empty dim">{strings.noMatch}</p>}
        <ul class="rows">
          {fitting.slice(0, count).map((row, index) => (
            <li key={row.sequence ?? -index}>
              <AuditEntry row={row} />
            </li>
          ))}
        </ul>
        <ShowMore count={fitting.length} shown={count} onMore={setCount} />
      </ListFrame>
    </>
  );
}

function Export() {
  const deed = useDeed();
  const save = async (format: 'csv' | 'jsonl'): Promise<void> => {
    const rows = (await deed.run('audit.export', { format }))?.rows;
    if (rows !== undefined) announce(words.exported(counted(rows, 'rows')));
  };
  const verify = async (): Promise<void> => {
    const verdict = await deed.run('audit.verify', {});
    if (!verdict) return;
    const { firstProblem: problem, rows } = verdict;
    announce(
      problem === undefined
        ? words.verified(counted(rows, 'rows'))
        : words.broken(number(problem.sequence), fitLabel(problem.what)),
    );
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
        <button type="button" onClick={() => void verify()}>
          {words.verify}
        </button>
      </div>
      <Refused refusal={deed.refusal} />
    </>
  );
}
