/** Rules that the person waived for single servers; each can be kept again with one press. */
import { useState } from 'preact/hooks';
import { Caution } from '../../cards/base/requesting-program.tsx';
import { announce } from '../../state/announcement.ts';
import { useAction } from '../../state/store.ts';
import { ListRow } from '../../lists/list-row.tsx';
import { Choice, Field } from '../../parts/field.tsx';
import { Address } from '../../parts/untrusted-text.tsx';
import { sanitizeLabel, overrideTarget } from '../../base/untrusted-text.ts';
import { Notice } from '../../parts/notice.tsx';
import { Refused } from '../../parts/refused.tsx';
import { Form } from '../../parts/form.tsx';
import { strings } from '../../base/strings.ts';
import type { OverrideName, Status } from '../../base/views.ts';

const words = strings.settings;

const names: readonly OverrideName[] = [
  'issuer-mismatch',
  'no-resource',
  'no-pkce-metadata',
  'audience',
  'private-address',
];

export function OverrideSettings({ status: { exceptions } }: { readonly status: Status }) {
  const all = exceptions.flatMap(({ server, names: waived }) => waived.map((name) => ({ server, name })));
  return (
    <section class="card" aria-labelledby="overrides-title">
      <h3 id="overrides-title">{words.overrides}</h3>
      <p class="dim small">{words.overridesHint}</p>
      {all.length === 0 && <p class="dim">{words.overridesNone}</p>}
      <ul class="permissions">
        {all.map(({ server, name }) => (
          <li key={`${name} ${server}`}>
            <KnownOverride server={server} name={name} />
          </li>
        ))}
      </ul>
      <OverrideForm />
    </section>
  );
}

interface KnownOverrideProps {
  readonly server: string;
  readonly name: OverrideName;
}

function KnownOverride({ server, name }: KnownOverrideProps) {
  const action = useAction();
  const rule = words.overrideNames[name] ?? name;
  const place = overrideTarget(server, name);
  const end = async (): Promise<void> => {
    if (await action.run('exception.set', { server, name, on: false })) {
      announce(words.overrideEnded({ server: sanitizeLabel(place) }));
    }
  };
  return (
    <ListRow
      head={<Address url={place} />}
      actions={
        <>
          <div class="actions">
            <button
              type="button"
              aria-label={words.overrideEndFor({ rule, server: sanitizeLabel(place) })}
              onClick={() => void end()}
            >
              {words.overrideEnd}
            </button>
          </div>
          <Refused refusal={action.refusal} />
        </>
      }
    >
      <p>{rule}</p>
      <Caution>{words.overrideDangers[name]}</Caution>
    </ListRow>
  );
}

function OverrideForm() {
  const [server, setServer] = useState('');
  const [name, setName] = useState<OverrideName>('issuer-mismatch');
  const action = useAction();
  const submit = async (): Promise<void> => {
    if (!(await action.run('exception.set', { server: server.trim(), name, on: true }))) return;
    announce(words.overridden({ server: sanitizeLabel(server.trim()) }));
    setServer('');
  };
  return (
    <details class="disclosure">
      <summary>{words.overrideAdd}</summary>
      <Form onSubmit={submit}>
        <div class="pair">
          <Field label={words.overrideServer} type="url" value={server} onInput={setServer} isRequired />
          <Choice
            label={words.overrideName}
            value={name}
            options={names.map((value) => ({ value, label: words.overrideNames[value] ?? value }))}
            onChoose={(chosen) => setName(names.find((known) => known === chosen) ?? name)}
          />
        </div>
        <Notice kind="warn">{words.overrideDangers[name]}</Notice>
        <Refused refusal={action.refusal} />
        <div class="actions">
          <button type="submit" class="danger">
            {words.overrideAdd}
          </button>
        </div>
      </Form>
    </details>
  );
}
