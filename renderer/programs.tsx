/** Every local client, with what it may reach. */
import { useState } from 'preact/hooks';
import { commandName } from './allowance.ts';
import { ListFrame, pageSize, ShowMore } from './list-frame.tsx';
import { ProgramCard } from './program-card.tsx';
import { Filter, ViewHead } from './servers.tsx';
import { useList } from './store.ts';
import { strings } from './strings.ts';
import type { LocalClient } from './views.ts';
import { counted } from './words.ts';

const words = strings.programs;

export function Programs() {
  const loaded = useList('client.list');
  const [filter, setFilter] = useState('');
  const [shown, setShown] = useState(pageSize);
  // The command is no program until it was given something: alone and empty it would only puzzle.
  const programs: readonly LocalClient[] = (loaded.value?.clients ?? []).filter(
    ({ name, permissions }) => name !== commandName || permissions.length > 0,
  );
  const fitting = programs.filter((program) => matches(program, filter));
  return (
    <>
      <ViewHead title={words.title} lead={words.lead} />
      <ListFrame
        loaded={loaded}
        isEmpty={programs.length === 0}
        emptyTitle={words.emptyTitle}
        empty={words.empty}
      >
        <Filter value={filter} onInput={setFilter} count={counted(fitting.length, 'programs')} />
        {fitting.length === 0 && <p class="empty dim">{strings.noMatch}</p>}
        <ul class="cards">
          {fitting.slice(0, shown).map((program) => (
            <li key={program.clientId}>
              <ProgramCard program={program} />
            </li>
          ))}
        </ul>
        <ShowMore count={fitting.length} shown={shown} onMore={setShown} />
      </ListFrame>
    </>
  );
}

function matches({ name, executable = '', permissions }: LocalClient, filter: string): boolean {
  const text = [name, executable, ...permissions.flatMap((p) => [p.resource, p.scope ?? ''])].join(' ');
  return text.toLowerCase().includes(filter.trim().toLowerCase());
}
