/**
 * Our OAuth clients at issuers: those that the user entered, and apart from them what was registered by
 * itself. Each can be removed while no sign-in needs it; the broker says when one does.
 */
import { ListRow } from '../../lists/list-row.tsx';
import { CardList } from '../../lists/card-list.tsx';
import { CopyText } from '../../parts/copy-text.tsx';
import { ConfirmedAction } from '../../parts/confirmed-action.tsx';
import { AddressFact, Fact, Facts, TextFact } from '../../parts/facts.tsx';
import { Address } from '../../parts/untrusted-text.tsx';
import { sanitize, sanitizeLabel } from '../../base/untrusted-text.ts';
import { Refused } from '../../parts/refused.tsx';
import { useList } from '../../state/store.ts';
import { strings } from '../../base/strings.ts';
import type { OAuthClient } from '../../base/views.ts';
import { When } from '../../parts/when.tsx';
import { formatNumber } from '../../base/format.ts';

const words = strings.registered;

export function RegisteredClients() {
  const { value, refusal } = useList('oauthClient.list');
  const all = value?.oauthClients ?? [];
  const entered = all.filter(({ source }) => source === 'preregistered');
  const automatic = all.filter(({ source }) => source !== 'preregistered');
  return (
    <section class="card" aria-labelledby="registered-title">
      <h3 id="registered-title">{words.title}</h3>
      <p class="dim small">{words.hint}</p>
      <Refused refusal={refusal} />
      {entered.length > 0 && <Clients clients={entered} />}
      {value !== undefined && entered.length === 0 && <p class="dim">{words.none}</p>}
      {automatic.length > 0 && (
        <details class="disclosure">
          <summary>{words.automatic({ count: formatNumber(automatic.length) })}</summary>
          <Clients clients={automatic} />
        </details>
      )}
    </section>
  );
}

function Clients({ clients }: { readonly clients: readonly OAuthClient[] }) {
  return (
    <CardList
      kind="permissions"
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
        <TextFact name={words.clientId} text={clientId} />
        <Fact name={words.proof}>{strings.registration.proofs[client.authMethod]}</Fact>
        <Fact name={words.use}>{words.uses[client.grantType ?? 'signIns']}</Fact>
        {redirectUri !== undefined && (
          <Fact name={words.redirectUri}>
            <CopyText text={sanitize(redirectUri).text} />
          </Fact>
        )}
        <Fact name={source === 'preregistered' ? words.entered : words.registered}>
          <When at={registeredAt} /> {source === 'metadata_document' && words.byDocument}
        </Fact>
      </Facts>
    </ListRow>
  );
}

function Removal({ client: { issuer, clientId } }: { readonly client: OAuthClient }) {
  return (
    <div class="actions">
      <ConfirmedAction
        button={words.remove}
        label={words.removeAt({ clientId: sanitizeLabel(clientId), issuer: sanitizeLabel(issuer) })}
        title={words.removeTitle}
        what={words.removeWhat}
        confirm={words.removeConfirm}
        done={words.removed({ issuer: sanitizeLabel(issuer) })}
        run={(action) => action.run('oauthClient.remove', { issuer, clientId })}
      >
        <Facts>
          <AddressFact name={strings.servers.issuer} url={issuer} />
          <TextFact name={words.clientId} text={clientId} />
        </Facts>
      </ConfirmedAction>
    </div>
  );
}
