/** How issuers know Keyturn: by a document that it hosts, or as a client that was registered there. */
import { useLayoutEffect, useState } from 'preact/hooks';
import { announce } from '../../state/announcement.ts';
import { useAction } from '../../state/store.ts';
import { Field, Form } from '../../parts/field.tsx';
import { Refused } from '../../parts/refused.tsx';
import { RegisteredClients } from './registered-clients.tsx';
import { RegistrationForm } from './registration-form.tsx';
import { NextStart, savedWords } from './setting-choice.tsx';
import { strings } from '../../base/strings.ts';
import type { SettingDetail } from '../../base/views.ts';

const words = strings.settings;

export function ClientSettings({ details }: { readonly details: readonly SettingDetail[] }) {
  const detail = details.find(({ name }) => name === 'clientMetadataUrl');
  return (
    <>
      {detail && <MetadataUrl detail={detail} />}
      <RegisteredClients />
      <RegistrationForm />
    </>
  );
}

function MetadataUrl({ detail: { value, appliesImmediately: live } }: { readonly detail: SettingDetail }) {
  const url = typeof value === 'string' ? value : '';
  const [text, set] = useState(url);
  const action = useAction();
  // An effect after the drawing would take back what the user typed meanwhile.
  useLayoutEffect(() => set(url), [url]);
  const save = async (): Promise<void> => {
    const typed = text.trim() === '' ? null : text.trim();
    const done = await action.run('settings.set', { name: 'clientMetadataUrl', value: typed });
    if (done) announce(savedWords(done.inForce));
  };
  return (
    <section class="card" aria-labelledby="metadata-title">
      <h3 id="metadata-title">
        {words.clientMetadata} <NextStart isLive={live} />
      </h3>
      <Form onSubmit={save}>
        <div class="row">
          <Field
            label={words.clientMetadataUrl}
            hint={words.clientMetadataHint}
            type="url"
            value={text}
            onInput={set}
          />
          <button type="submit" disabled={text.trim() === url}>
            {strings.save}
          </button>
        </div>
        <Refused refusal={action.refusal} />
      </Form>
    </section>
  );
}
