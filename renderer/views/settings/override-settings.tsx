/** Rules that the person waived for single servers; each can be kept again with one press. */
import { useState } from 'preact/hooks';
import { announce } from '../../state/announcement.ts';
import { useDeed } from '../../state/deed.ts';
import { Choice, Field } from '../../parts/field.tsx';
import { Address } from '../../parts/foreign.tsx';
import { fitLabel, overriddenPlace } from '../../base/foreign-text.ts';
import { Notice } from '../../parts/notice.tsx';
import { Refused } from '../../parts/refused.tsx';
import { Mark } from '../../parts/state-mark.tsx';
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

export function OverrideSettings({ status: { overrides } }: { readonly status: Status }) {
  const inForce = overrides.flatMap(({ server, names: waived }) => waived.map((name) => ({ server, name })));
  return (
    <section class="card" aria-labelledby="overrides-title">
      <h3 id="overrides-title">{words.overrides}</h3>
      <p class="dim small">{words.overridesHint}</p>
      {inForce.length === 0 && <p class="dim">{words.overridesNone}</p>}
      <ul class="permissions">
        {inForce.map(({ server, name }) => (
          <li key={`${name} ${server}`}>
            <Waived server={server} name={name} />
          </li>
        ))}
      </ul>
      <WaiveForm />
    </section>
  );
}

function Waived({ server, name }: { readonly server: string; readonly name: OverrideName }) {
  const deed = useDeed();
  const rule = words.overrideNames[name] ?? name;
  const place = overriddenPlace(server, name);
  const end = async (): Promise<void> => {
    if (await deed.run('override.set', { server, name, on: false })) {
      announce(words.overrideEnded(fitLabel(place)));
    }
  };
  return (
    <div class="permission">
      <div class="permission-what">
        <p class="permission-head">
          <Address url={place} />
          <Mark tone="warn" icon="warn">
            {name}
          </Mark>
        </p>
        <p>{rule}</p>
        <p class="small">{words.overrideDangers[name]}</p>
      </div>
      <div class="actions">
        <button
          type="button"
          aria-label={words.overrideEndFor(rule, fitLabel(place))}
          onClick={() => void end()}
        >
          {words.overrideEnd}
        </button>
      </div>
      <Refused refusal={deed.refusal} />
    </div>
  );
}

function WaiveForm() {
  const [server, setServer] = useState('');
  const [name, setName] = useState<OverrideName>('issuer-mismatch');
  const deed = useDeed();
  const submit = async (): Promise<void> => {
    if (!(await deed.run('override.set', { server: server.trim(), name, on: true }))) return;
    announce(words.overridden(fitLabel(server.trim())));
    setServer('');
  };
  return (
    <details class="disclosure">
      <summary>{words.overrideAdd}</summary>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
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
        <Refused refusal={deed.refusal} />
        <div class="actions">
          <button type="submit" class="danger">
            {words.overrideAdd}
          </button>
        </div>
      </form>
    </details>
  );
}
