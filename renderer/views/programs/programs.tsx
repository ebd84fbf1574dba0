/** Every local client, with what it may reach. */
import { useMemo, useState } from 'preact/hooks';
import { commandName } from '../../cards/lease-choices.ts';
import { CardList } from '../../lists/card-list.tsx';
import { FilterField } from '../../lists/filter-field.tsx';
import { ListFrame } from '../../lists/list-frame.tsx';
import { ProgramCard } from './program-card.tsx';
import { useList } from '../../state/store.ts';
import { strings } from '../../base/strings.ts';
import type { LocalClient } from '../../base/views.ts';
import { ViewHead } from '../../parts/view-head.tsx';
import { formatCount } from '../../base/format.ts';

const words = strings.programs;

export function Programs() {
  const loaded = useList('client.list');
  const [filter, setFilter] = useState('');
  const clients = loaded.value?.clients;
  // The command is no program until it was given something: alone and empty it would only puzzle.
  const programs = useMemo(
    () => clients?.filter(({ name, permissions }) => name !== commandName || permissions.length > 0) ?? [],
    [clients],
  );
  const fitting = useMemo(() => programs.filter((program) => matches(program, filter)), [programs, filter]);
  return (
    <>
      <ViewHead title={words.title} lead={words.lead} />
      <ListFrame
        loaded={loaded}
        isEmpty={programs.length === 0}
        emptyTitle={words.emptyTitle}
        empty={words.empty}
      >
        <FilterField
          label={words.filter}
          value={filter}
          onInput={setFilter}
          count={formatCount(fitting.length, 'programs')}
        />
        <CardList
          items={fitting}
          keyOf={(program) => program.clientId}
          show={(program) => <ProgramCard program={program} />}
        />
      </ListFrame>
    </>
  );
}

function matches({ name, executable = '', permissions }: LocalClient, filter: string): boolean {
  const text = [name, executable, ...permissions.flatMap((p) => [p.resource, p.scope ?? ''])].join(' ');
  return text.toLowerCase().includes(filter.trim().toLowerCase());
}
