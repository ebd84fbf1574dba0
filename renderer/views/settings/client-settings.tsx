/** How issuers know Keyturn: by a document that it hosts, or as a client that was registered there. */
import { useLayoutEffect, useState } from 'preact/hooks';
import { formatNumber } from '../../base/format.ts';
import { strings } from '../../base/strings.ts';
import { sanitize, sanitizeLabel } from '../../base/untrusted-text.ts';
import type { SettingDetail, OAuthClient } from '../../base/views.ts';
import { ListRow } from '../../lists/list-row.tsx';
import { LongList } from '../../lists/long-list.tsx';
import { ConfirmedAction } from '../../parts/confirmed-action.tsx';
import { CopyText } from '../../parts/copy-text.tsx';
import { AddressFact, Fact, Facts, TextFact } from '../../parts/facts.tsx';
import { Field, Form } from '../../parts/field.tsx';
import { Refused } from '../../parts/notice.tsx';
import { Address } from '../../parts/untrusted-text.tsx';
import { When } from '../../parts/when.tsx';
import { announce } from '../../state/announcement.ts';
import { useAction, useList } from '../../state/store.ts';
import { RegistrationForm } from './registration-form.tsx';
import { NextStart, savedWords } from './setting-choice.tsx';

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

const registered = strings.registered;

function RegisteredClients() {
  const { value, refusal } = useList('oauthClient.list');
  const all = value?.oauthClients ?? [];
  const entered = all.filter(({ source }) => source === 'preregistered');
  const automatic = all.filter(({ source }) => source !== 'preregistered');
  return (
    <section class="card" aria-labelledby="registered-title">
      <h3 id="registered-title">{registered.title}</h3>
      <p class="dim small">{registered.hint}</p>
      <Refused refusal={refusal} />
      {entered.length > 0 && <Clients clients={entered} />}
      {value !== undefined && entered.length === 0 && <p class="dim">{registered.none}</p>}
      {automatic.length > 0 && (
        <details class="disclosure">
          <summary>{registered.automatic({ count: formatNumber(automatic.length) })}</summary>
          <Clients clients={automatic} />
        </details>
      )}
    </section>
  );
}

function Clients({ clients }: { readonly clients: readonly OAuthClient[] }) {
  return (
    <LongList
      class="permissions"
      items={clients}
      // Of one id at one issuer there may be an older one, of another time.
      keyOf={({ issuer, clientId, registeredAt }) => `${issuer} ${clientId} ${registeredAt}`}
      show={(client) => <Client client={client} />}
    />
  );
}

function Client({ client }: { readonly client: OAuthClient }) {
  const { issuer, clientId, redirectUri, registeredAt, source } = client;
  return (
    <ListRow head={<Address url={issuer} />} actions={<Removal client={client} />}>
      <Facts>
        <TextFact name={registered.clientId} text={clientId} />
        <Fact name={registered.proof}>{strings.registration.proofs[client.authMethod]}</Fact>
        <Fact name={registered.use}>{registered.uses[client.grantType ?? 'signIns']}</Fact>
        {redirectUri !== undefined && (
          <Fact name={registered.redirectUri}>
            <CopyText text={sanitize(redirectUri).text} />
          </Fact>
        )}
        <Fact name={source === 'preregistered' ? registered.entered : registered.registered}>
          <When at={registeredAt} /> {source === 'metadata_document' && registered.byDocument}
        </Fact>
      </Facts>
    </ListRow>
  );
}

function Removal({ client: { issuer, clientId } }: { readonly client: OAuthClient }) {
  return (
    <div class="actions">
      <ConfirmedAction
        button={registered.remove}
        label={registered.removeAt({ clientId: sanitizeLabel(clientId), issuer: sanitizeLabel(issuer) })}
        title={registered.removeTitle}
        what={registered.removeWhat}
        confirm={registered.removeConfirm}
        done={registered.removed({ issuer: sanitizeLabel(issuer) })}
        run={(action) => action.run('oauthClient.remove', { issuer, clientId })}
      >
        <Facts>
          <AddressFact name={strings.servers.issuer} url={issuer} />
          <TextFact name={registered.clientId} text={clientId} />
        </Facts>
      </ConfirmedAction>
    </div>
  );
}
