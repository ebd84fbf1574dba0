/**
 * Connects the apps on this computer that reach servers by themselves: shows what would change, and changes what the
 * person ticked.
 *
 * Invariant: nothing is changed before a press, and only what stood on the screen. The main process has the files.
 */
import { useEffect, useState } from 'preact/hooks';
import { useAction } from '../../state/store.ts';
import { formatCount, formatList } from '../../base/format.ts';
import { announce } from '../../state/announcement.ts';
import { ConfirmedAction } from '../../parts/confirmed-action.tsx';
import { CopyText } from '../../parts/copy-text.tsx';
import { Refused } from '../../parts/refused.tsx';
import { strings } from '../../base/strings.ts';
import type { LookedAt, SetupResult, SetupUndone } from '../../base/views.ts';
import { ClientEntries } from './client-entries.tsx';
import { Applied, Undone } from './setup-results.tsx';

const words = strings.setup;

/** Apps that the button names. */
const maxNames = 3;

type Outcome = { readonly applied: readonly SetupResult[] } | { readonly undone: SetupUndone };

export function ConnectClients() {
  const looking = useAction();
  const work = useAction();
  const [found, find] = useState<LookedAt>();
  /** Ids of the entries that the user took the tick from. */
  const [left, leave] = useState<ReadonlySet<string>>(new Set());
  const [outcome, tell] = useState<Outcome>();
  const look = async (): Promise<void> => {
    const value = await looking.run('setup.look', {});
    if (!value) return;
    leave(new Set());
    find(value);
  };
  useEffect(() => void look(), []);
  if (!found) {
    return looking.refusal ? <Refused refusal={looking.refusal} /> : <p class="dim">{words.looking}</p>;
  }
  const entries = found.clients.flatMap(switchesOf).filter((id) => !left.has(id));
  const apps = found.clients.filter((client) => switchesOf(client).some((id) => !left.has(id)));
  const names =
    apps.length > maxNames ? formatCount(apps.length, 'apps') : formatList(apps.map(({ title }) => title));
  const connect = async (): Promise<void> => {
    const done = await work.run('setup.apply', { look: found.look, entries });
    if (done) {
      tell({ applied: done.results });
      announce(words.changed);
    }
    await look();
  };
  const undone = async (value: SetupUndone): Promise<void> => {
    tell({ undone: value });
    await look();
  };
  return (
    <div class="setup">
      {found.command === undefined ? <NoCommand /> : <Found found={found} left={left} onLeave={leave} />}
      {outcome &&
        ('applied' in outcome ? <Applied results={outcome.applied} /> : <Undone of={outcome.undone} />)}
      <Refused refusal={work.refusal ?? looking.refusal} />
      <div class="actions">
        {entries.length > 0 && (
          <button type="button" class="primary" aria-disabled={work.isBusy} onClick={() => void connect()}>
            {work.isBusy ? words.connecting : words.connect({ names })}
          </button>
        )}
        <button type="button" aria-disabled={looking.isBusy} onClick={() => void look()}>
          {words.again}
        </button>
        {found.runs > 0 && <UndoButton onDone={undone} />}
      </div>
    </div>
  );
}

/** Ids of what a press would change. */
const switchesOf = ({ entries, left }: LookedAt['clients'][number]): readonly string[] =>
  left === undefined ? entries.flatMap(({ id, kind }) => (kind === 'switch' ? [id] : [])) : [];

/** What was found of each app. */
function Found({ found, left, onLeave }: FoundProps) {
  if (found.clients.length === 0) return <p>{words.none}</p>;
  const toggle = (id: string, isOn: boolean): void => {
    const next = new Set(left);
    if (isOn) next.delete(id);
    else next.add(id);
    onLeave(next);
  };
  return found.clients.map((client) => (
    <ClientEntries key={client.file} client={client} left={left} onToggle={toggle} />
  ));
}

interface FoundProps {
  readonly found: LookedAt;
  readonly left: ReadonlySet<string>;
  readonly onLeave: (left: ReadonlySet<string>) => void;
}

/** The app brings no command along that an entry could start. */
function NoCommand() {
  return (
    <>
      <p>{words.noCommand}</p>
      <CopyText text={words.install} />
    </>
  );
}

function UndoButton({ onDone }: { readonly onDone: (value: SetupUndone) => Promise<void> }) {
  return (
    <ConfirmedAction
      isMild
      button={words.undo}
      label={words.undo}
      title={words.undoTitle}
      what={words.undoWhat}
      confirm={words.undo}
      done={words.undone}
      run={async (action) => {
        const value = await action.run('setup.undo', {});
        if (value) void onDone(value);
        return value;
      }}
    >
      {undefined}
    </ConfirmedAction>
  );
}
