/**
 * Connects the apps on this computer that reach servers by themselves: shows what would change, and changes what the
 * user ticked.
 *
 * Invariant: nothing is changed before a press, and only what stood on the screen. The main process has the files.
 */
import { useEffect, useState, useId } from 'preact/hooks';
import { formatCount, formatList } from '../../base/format.ts';
import { strings } from '../../base/strings.ts';
import { sanitizeLabel, sanitizeReason, sanitizeSentence } from '../../base/untrusted-text.ts';
import type { LookedAt, SetupResult, SetupUndone, SetupClient, SetupEntry } from '../../base/views.ts';
import { Button } from '../../parts/button.tsx';
import { ConfirmedAction } from '../../parts/confirmed-action.tsx';
import { CopyText } from '../../parts/copy-text.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Refused } from '../../parts/notice.tsx';
import { Address, UntrustedText, Name } from '../../parts/untrusted-text.tsx';
import { useAction } from '../../state/store.ts';

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
    const done = await work.run('setup.apply', { look: found.look, entries }, words.changed);
    if (done) tell({ applied: done.results });
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
          <Button
            text={work.isBusy ? words.connecting : words.connect({ names })}
            class="primary"
            isBusy={work.isBusy}
            onPress={connect}
          />
        )}
        <Button text={words.again} isBusy={looking.isBusy} onPress={look} />
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
    />
  );
}

interface ClientEntriesProps {
  readonly client: SetupClient;
  /** Ids of the entries without a tick. */
  readonly left: ReadonlySet<string>;
  readonly onToggle: (id: string, isOn: boolean) => void;
}

function ClientEntries({ client, left, onToggle }: ClientEntriesProps) {
  const title = useId();
  return (
    <section class="client" aria-labelledby={title}>
      <h3 id={title}>{client.title}</h3>
      <p class="dim small">
        <UntrustedText text={client.file} />
      </p>
      {client.left !== undefined && <p>{sanitizeReason(client.left)}</p>}
      <ul class="entries">
        {client.entries.map((entry) => (
          <li key={entry.id}>
            {entry.kind === 'switch' && client.left === undefined ? (
              <Switched entry={entry} isOn={!left.has(entry.id)} onToggle={onToggle} />
            ) : (
              <Standing entry={entry} />
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

interface SwitchedProps {
  readonly entry: SetupEntry;
  readonly isOn: boolean;
  readonly onToggle: ClientEntriesProps['onToggle'];
}

function Switched({ entry, isOn, onToggle }: SwitchedProps) {
  const { id, name, endpoint = '', change = [], exposed } = entry;
  return (
    <>
      <label class="tick">
        <input
          type="checkbox"
          checked={isOn}
          onChange={(event) => onToggle(id, event.currentTarget.checked)}
        />
        <span>
          <Name text={name} /> <Address url={endpoint} />
        </span>
      </label>
      {exposed.length > 0 && (
        <p class="notice warn small">
          <Icon name="warn" /> {words.exposed({ header: namesOf(exposed) })}
        </p>
      )}
      <details class="disclosure">
        <summary>{words.change}</summary>
        {/* A line each, as it will stand in the file; a screen reader says which goes and which comes. */}
        <ul class="change">
          {change.map((line, at) => (
            <li key={at} class={line.startsWith('+') ? 'comes' : 'goes'}>
              <code>{sanitizeSentence(line)}</code>
            </li>
          ))}
        </ul>
      </details>
    </>
  );
}

const namesOf = (headers: readonly string[]): string =>
  formatList(headers.map((name) => sanitizeLabel(name)));

/** One that stays as it is, and why. */
function Standing({ entry: { name, kind, why, exposed } }: { readonly entry: SetupEntry }) {
  return (
    <>
      <p>
        <Name text={name} />{' '}
        <span class="dim">
          {kind === 'bridge' ? words.already : words.left} {why !== undefined && sanitizeReason(why)}
        </span>
      </p>
      {exposed.length > 0 && kind === 'left' && (
        <p class="notice warn small">
          <Icon name="warn" /> {words.exposedLeft({ header: namesOf(exposed) })}
        </p>
      )}
    </>
  );
}

function Applied({ results }: { readonly results: readonly SetupResult[] }) {
  const isChanged = results.some(({ outcome }) => outcome === 'switched');
  return (
    <section class="notice info" aria-label={words.resultTitle}>
      <div>
        {isChanged && <p>{words.restart}</p>}
        <ul>
          {results.map(({ file, entry, outcome, why, secret, exposed = '' }) => (
            <li key={`${file} ${entry}`}>
              <Name text={entry} />
              {': '}
              {outcome === 'switched' ? words.switched : words.left}{' '}
              {why !== undefined && sanitizeReason(why)}
              {secret !== undefined && words.secret[secret]({ header: sanitizeLabel(exposed) })}
            </li>
          ))}
        </ul>
      </div>
    </section>
  );
}

function Undone({ of: { lines, keys } }: { readonly of: SetupUndone }) {
  return (
    <section class="notice info" aria-label={words.resultTitle}>
      <div>
        <ul>
          {lines.map((line) => (
            <li key={line}>{sanitizeSentence(line)}</li>
          ))}
          {keys.map((key) => (
            <li key={key}>{words.keyStays({ server: sanitizeLabel(key) })}</li>
          ))}
        </ul>
      </div>
    </section>
  );
}
