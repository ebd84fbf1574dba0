/**
 * A client that the person registered at an issuer by hand (spec, Client registration 1).
 *
 * Invariant: secret and key are written, never read: they leave their fields with the call, whatever
 * comes of it.
 */
import { useState } from 'preact/hooks';
import { announce } from './announcement.ts';
import { useDeed } from './deed.ts';
import { Choice, Field } from './field.tsx';
import { Foreign } from './foreign.tsx';
import { fitLabel } from './foreign-text.ts';
import { Refused } from './refused.tsx';
import { strings } from './strings.ts';
import type { ParamsOn } from './views.ts';

const words = strings.registration;

const proofs = ['none', 'secret', 'key'] as const;
type Proof = (typeof proofs)[number];

interface Entry {
  readonly issuer: string;
  readonly clientId: string;
  readonly proof: Proof;
  /** The client secret or the private key. */
  readonly secret: string;
  readonly redirectUri: string;
}

const blank: Entry = { issuer: '', clientId: '', proof: 'none', secret: '', redirectUri: '' };

function paramsOf({ issuer, clientId, proof, secret, redirectUri }: Entry): ParamsOn<'registration.set'> {
  return {
    issuer: issuer.trim(),
    clientId: clientId.trim(),
    ...(proof === 'secret' ? { clientSecret: secret } : {}),
    ...(proof === 'key' ? { privateKey: secret } : {}),
    ...(redirectUri.trim() === '' ? {} : { redirectUri: redirectUri.trim() }),
  };
}

export function RegistrationForm() {
  const [entry, setEntry] = useState(blank);
  const [redirectUri, setRedirectUri] = useState<string>();
  const deed = useDeed();
  const change = (changed: Partial<Entry>): void => setEntry((before) => ({ ...before, ...changed }));
  const submit = async (): Promise<void> => {
    const params = paramsOf(entry);
    change({ secret: '' });
    const answer = await deed.run('registration.set', params);
    if (!answer) return;
    setRedirectUri(answer.redirectUri);
    setEntry(blank);
    announce(words.entered(fitLabel(params.issuer)));
  };
  return (
    <section class="card">
      <h3>{words.title}</h3>
      <p class="dim">{words.hint}</p>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <EntryFields entry={entry} onChange={change} />
        <Refused refusal={deed.refusal} />
        {redirectUri !== undefined && (
          <p>
            {words.registerThis}{' '}
            <code>
              <Foreign text={redirectUri} />
            </code>
          </p>
        )}
        <div class="actions">
          <button type="submit" class="primary" aria-disabled={deed.isBusy}>
            {words.submit}
          </button>
        </div>
      </form>
    </section>
  );
}

interface EntryFieldsProps {
  readonly entry: Entry;
  readonly onChange: (changed: Partial<Entry>) => void;
}

function EntryFields({ entry, onChange }: EntryFieldsProps) {
  const { issuer, clientId, proof, secret, redirectUri } = entry;
  return (
    <>
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
      {proof !== 'none' && (
        <Field
          label={proof === 'secret' ? words.secret : words.key}
          hint={words.secretHint}
          type="password"
          {...(proof === 'key' ? { rows: 4 } : {})}
          value={secret}
          onInput={(text) => onChange({ secret: text })}
          isRequired
        />
      )}
      <Field
        label={words.redirect}
        type="url"
        value={redirectUri}
        onInput={(text) => onChange({ redirectUri: text })}
      />
    </>
  );
}
