/**
 * A client that the user registered at an issuer by hand (MCP, Preregistration).
 *
 * Invariant: secret and key are written, never read: they leave their fields with the call, whatever
 * comes of it.
 */
import { useState } from 'preact/hooks';
import { CopyText } from '../../parts/copy-text.tsx';
import { useAction } from '../../state/store.ts';
import { Choice, Field, FoldedForm } from '../../parts/field.tsx';
import { sanitize, sanitizeLabel } from '../../base/untrusted-text.ts';
import { Notice } from '../../parts/notice.tsx';
import { strings } from '../../base/strings.ts';
import type { ParamsOn } from '../../base/views.ts';

const words = strings.registration;

const proofs = ['none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt'] as const;
type Proof = (typeof proofs)[number];

const algorithms = ['ES256', 'RS256', 'PS256', 'EdDSA'] as const;

interface Entry {
  readonly issuer: string;
  readonly clientId: string;
  readonly proof: Proof;
  /** The client secret or the private key. */
  readonly secret: string;
  readonly alg: (typeof algorithms)[number];
  readonly redirectUri: string;
}

const blank: Entry = { issuer: '', clientId: '', proof: 'none', secret: '', alg: 'ES256', redirectUri: '' };

const hasSecret = (proof: Proof): boolean => proof.startsWith('client_secret');

function paramsOf({ issuer, clientId, proof, secret, alg, redirectUri }: Entry): ParamsOn<'oauthClient.add'> {
  return {
    issuer: issuer.trim(),
    clientId: clientId.trim(),
    authMethod: proof,
    ...(hasSecret(proof) ? { clientSecret: secret } : {}),
    ...(proof === 'private_key_jwt' ? { privateKey: secret, alg } : {}),
    ...(redirectUri.trim() === '' ? {} : { redirectUri: redirectUri.trim() }),
  };
}

export function RegistrationForm() {
  const [entry, setEntry] = useState(blank);
  const [redirectUri, setRedirectUri] = useState<string>();
  const action = useAction();
  const change = (changed: Partial<Entry>): void => setEntry((before) => ({ ...before, ...changed }));
  const submit = async (): Promise<void> => {
    const params = paramsOf(entry);
    change({ secret: '' });
    const done = words.entered({ issuer: sanitizeLabel(params.issuer) });
    const answer = await action.run('oauthClient.add', params, done);
    if (!answer) return;
    setRedirectUri(answer.redirectUri);
    setEntry(blank);
  };
  return (
    <section class="card" aria-labelledby="registration-title">
      <h3 id="registration-title">{words.title}</h3>
      <p class="dim small">{words.hint}</p>
      {redirectUri !== undefined && (
        <Notice kind="info" icon="check">
          <p>{words.registerThis}</p>
          <CopyText text={sanitize(redirectUri).text} />
        </Notice>
      )}
      <FoldedForm title={words.add} submit={words.submit} class="primary" action={action} onSubmit={submit}>
        <EntryFields entry={entry} onChange={change} />
      </FoldedForm>
    </section>
  );
}

interface EntryFieldsProps {
  readonly entry: Entry;
  readonly onChange: (changed: Partial<Entry>) => void;
}

function EntryFields({ entry, onChange }: EntryFieldsProps) {
  const { issuer, clientId, proof, redirectUri } = entry;
  return (
    <>
      <div class="pair">
        <Field
          label={words.issuer}
          type="url"
          value={issuer}
          onInput={(text) => onChange({ issuer: text })}
          isRequired
        />
        <Field
          label={words.clientId}
          value={clientId}
          onInput={(text) => onChange({ clientId: text })}
          isRequired
        />
        <Choice
          label={words.proof}
          value={proof}
          options={proofs.map((value) => ({ value, label: words.proofs[value] }))}
          onChoose={(chosen) =>
            onChange({ proof: proofs.find((known) => known === chosen) ?? 'none', secret: '' })
          }
        />
        <Field
          label={words.redirect}
          type="url"
          value={redirectUri}
          onInput={(text) => onChange({ redirectUri: text })}
        />
      </div>
      <ProofFields entry={entry} onChange={onChange} />
    </>
  );
}

function ProofFields({ entry: { proof, secret, alg }, onChange }: EntryFieldsProps) {
  if (proof === 'none') return null;
  const isKey = proof === 'private_key_jwt';
  return (
    <>
      <Field
        label={isKey ? words.key : words.secret}
        hint={words.secretHint}
        type="password"
        {...(isKey ? { rows: 4 } : {})}
        value={secret}
        onInput={(text) => onChange({ secret: text })}
        isRequired
      />
      {isKey && (
        <Choice
          label={words.alg}
          value={alg}
          options={algorithms.map((value) => ({ value, label: value }))}
          onChoose={(chosen) => onChange({ alg: algorithms.find((known) => known === chosen) ?? alg })}
        />
      )}
    </>
  );
}
