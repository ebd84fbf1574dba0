/** The entries of one app: what each would say, with a box for each that can change. */
import { useId } from 'preact/hooks';
import { Icon } from '../../parts/icon.tsx';
import { Address, UntrustedText } from '../../parts/untrusted-text.tsx';
import { formatList } from '../../base/format.ts';
import { sanitizeLabel, sanitizeReason, sanitizeSentence } from '../../base/untrusted-text.ts';
import { strings } from '../../base/strings.ts';
import type { SetupClient, SetupEntry } from '../../base/views.ts';

const words = strings.setup;

interface ClientEntriesProps {
  readonly client: SetupClient;
  /** Ids of the entries without a tick. */
  readonly left: ReadonlySet<string>;
  readonly onToggle: (id: string, isOn: boolean) => void;
}

export function ClientEntries({ client, left, onToggle }: ClientEntriesProps) {
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
          <strong>
            <UntrustedText text={name} />
          </strong>{' '}
          <Address url={endpoint} />
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
        <strong>
          <UntrustedText text={name} />
        </strong>{' '}
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
