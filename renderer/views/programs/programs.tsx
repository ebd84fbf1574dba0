/** Every local client, with what it may reach. */
import { useMemo } from 'preact/hooks';
import { commandName } from '../../cards/lease-choices.ts';
import { FilteredList } from '../../lists/filtered-list.tsx';
import { ProgramCard } from './program-card.tsx';
import { useList } from '../../state/store.ts';
import { strings } from '../../base/strings.ts';
import type { LocalClient } from '../../base/views.ts';
import { ViewHead } from '../../parts/view-head.tsx';

const words = strings.programs;

export function Programs() {
  const loaded = useList('client.list');
  const clients = loaded.value?.clients;
  // The command stands in the list only while it may reach something.
  const programs = useMemo(
    () => clients?.filter(({ name, permissions }) => name !== commandName || permissions.length > 0) ?? [],
    [clients],
  );
  return (
    <>
      <ViewHead title={words.title} lead={words.lead} />
      <FilteredList
        loaded={loaded}
        items={programs}
        words={words}
        unit="programs"
        keyOf={(program) => program.clientId}
        textOf={textOf}
        show={(program) => <ProgramCard program={program} />}
      />
    </>
  );
}

function textOf({ name, executable = '', permissions }: LocalClient): string {
  return [name, executable, ...permissions.flatMap((p) => [p.resource, p.scope ?? ''])].join(' ');
}
