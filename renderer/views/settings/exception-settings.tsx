/** Rules that the user waived for single servers; each can be kept again with one press. */
import { useState } from 'preact/hooks';
import { Button } from '../../parts/button.tsx';
import { Caution } from '../../cards/base/requesting-app.tsx';
import { useAction } from '../../state/store.ts';
import { ListRow } from '../../lists/list-row.tsx';
import { Choice, Field, FoldedForm } from '../../parts/field.tsx';
import { Address } from '../../parts/untrusted-text.tsx';
import { sanitizeLabel, exceptionTarget } from '../../base/untrusted-text.ts';
import { Notice, Refused } from '../../parts/notice.tsx';
import { strings } from '../../base/strings.ts';
import type { ExceptionName, Status } from '../../base/views.ts';

const words = strings.settings;

const names = Object.keys(words.exceptionNames) as ExceptionName[];

export function ExceptionSettings({ status: { exceptions } }: { readonly status: Status }) {
  const all = exceptions.flatMap(({ server, names: waived }) => waived.map((name) => ({ server, name })));
  return (
    <section class="card" aria-labelledby="exceptions-title">
      <h3 id="exceptions-title">{words.exceptions}</h3>
      <p class="dim small">{words.exceptionsHint}</p>
      {all.length === 0 && <p class="dim">{words.exceptionsNone}</p>}
      <ul class="permissions">
        {all.map(({ server, name }) => (
          <li key={`${name} ${server}`}>
            <KnownException server={server} name={name} />
          </li>
        ))}
      </ul>
      <ExceptionForm />
    </section>
  );
}

function KnownException({ server, name }: { readonly server: string; readonly name: ExceptionName }) {
  const action = useAction();
  const rule = words.exceptionNames[name] ?? name;
  const place = exceptionTarget(server, name);
  const label = sanitizeLabel(place);
  const end = () =>
    action.run('exception.set', { server, name, on: false }, words.exceptionEnded({ server: label }));
  return (
    <ListRow
      head={<Address url={place} />}
      actions={
        <>
          <div class="actions">
            <Button
              text={words.exceptionEnd}
              label={words.exceptionEndFor({ rule, server: label })}
              onPress={end}
            />
          </div>
          <Refused refusal={action.refusal} />
        </>
      }
    >
      <p>{rule}</p>
      <Caution>{words.exceptionDangers[name]}</Caution>
    </ListRow>
  );
}

function ExceptionForm() {
  const [server, setServer] = useState('');
  const [name, setName] = useState<ExceptionName>('issuer-mismatch');
  const action = useAction();
  const submit = async (): Promise<void> => {
    const place = server.trim();
    const done = words.overridden({ server: sanitizeLabel(place) });
    if (await action.run('exception.set', { server: place, name, on: true }, done)) setServer('');
  };
  return (
    <FoldedForm
      title={words.exceptionAdd}
      submit={words.exceptionAdd}
      class="danger"
      action={action}
      onSubmit={submit}
    >
      <div class="pair">
        <Field label={words.exceptionServer} type="url" value={server} onInput={setServer} isRequired />
        <Choice
          label={words.exceptionName}
          value={name}
          options={names.map((value) => ({ value, label: words.exceptionNames[value] ?? value }))}
          onChoose={(chosen) => setName(names.find((known) => known === chosen) ?? name)}
        />
      </div>
      <Notice kind="warn">{words.exceptionDangers[name]}</Notice>
    </FoldedForm>
  );
}
