/**
 * Signs in to a server that the user names by its URL, with a client that they registered by hand if they have one.
 *
 * Invariant: the client secret is written, never read: it leaves its field with the call, whatever comes of it.
 */
import { useState } from 'preact/hooks';
import { formatList } from '../../base/format.ts';
import { strings } from '../../base/strings.ts';
import { sanitizeLabel, sanitize } from '../../base/untrusted-text.ts';
import type { ParamsOn, Refusal } from '../../base/views.ts';
import { SignInCard } from '../../cards/sign-in-card.tsx';
import { CopyText } from '../../parts/copy-text.tsx';
import { Field, Form, Switch } from '../../parts/field.tsx';
import { Notice, Refused } from '../../parts/notice.tsx';
import { announce } from '../../state/announcement.ts';
import { useAction, useList } from '../../state/store.ts';

const words = strings.servers;

interface SignInFormProps {
  /** Gets the sign-in's id. */
  readonly onDone: (signInId: string) => void;
  /** Has the focus as soon as it is there. */
  readonly isFirst: boolean;
}

const none: Options = { clientId: '', clientSecret: '', scope: '', isDevice: false };

function paramsOf(typed: string, options: Options): ParamsOn<'signIn.start'> {
  const { clientSecret, isDevice } = options;
  const [resource, clientId, scope] = [typed, options.clientId, options.scope].map((text) => text.trim());
  return {
    resource: resource ?? '',
    ...(clientId ? { clientId } : {}),
    ...(clientSecret === '' ? {} : { clientSecret }),
    ...(scope ? { scope } : {}),
    ...(isDevice ? { method: 'device' as const } : {}),
  };
}

export function SignInForm({ onDone, isFirst }: SignInFormProps) {
  const [resource, set] = useState('');
  const [options, setOptions] = useState(none);
  const [isOpen, open] = useState(false);
  /** What was sent last. */
  const [sent, send] = useState<ParamsOn<'signIn.start'>>();
  const action = useAction();
  const change = (changed: Partial<Options>): void => setOptions((before) => ({ ...before, ...changed }));
  const submit = async (): Promise<void> => {
    if (action.isBusy) return;
    const { clientSecret, ...shown } = paramsOf(resource, options);
    change({ clientSecret: '' });
    send(shown);
    const done = await action.run('signIn.start', {
      ...shown,
      clientSecret,
    });
    if (!done) return;
    setOptions(none);
    const server = sanitizeLabel(shown.resource);
    const exceptions = done.signIn.exceptions.map((name) => strings.settings.exceptionNames[name] ?? name);
    announce(
      exceptions.length === 0
        ? words.signedIn({ server })
        : words.signedInWith({ server, exceptions: formatList(exceptions) }),
    );
    onDone(done.signIn.id);
  };
  const waiting = sent?.method === 'device' ? words.signingInElsewhere : words.signingIn;
  const needsClient = redirectToRegister(action.refusal) !== undefined;
  return (
    <>
      <Form onSubmit={submit}>
        <div class="row">
          <Field
            label={words.addLabel}
            type="url"
            hint={words.addHint}
            value={resource}
            onInput={set}
            isRequired
            isFirst={isFirst}
          />
          <button type="submit" class="primary" aria-disabled={action.isBusy}>
            {action.isBusy ? waiting : words.signIn}
          </button>
        </div>
        <RefusedSignIn refusal={action.refusal} />
        <SignInOptions options={options} onChange={change} isOpen={isOpen || needsClient} onToggle={open} />
      </Form>
      {sent && action.isBusy && <UnderWay of={sent} />}
    </>
  );
}

const optionWords = strings.signInOptions;

interface Options {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly scope: string;
  /** With a code on another device. */
  readonly isDevice: boolean;
}

interface SignInOptionsProps {
  readonly options: Options;
  readonly onChange: (changed: Partial<Options>) => void;
  readonly isOpen: boolean;
  readonly onToggle: (isOpen: boolean) => void;
}

function SignInOptions({ options, onChange, isOpen, onToggle }: SignInOptionsProps) {
  const { clientId, clientSecret, scope, isDevice } = options;
  return (
    <details class="disclosure" open={isOpen} onToggle={(event) => onToggle(event.currentTarget.open)}>
      <summary>{optionWords.title}</summary>
      <div class="pair">
        <Field
          label={strings.registration.clientId}
          hint={optionWords.clientIdHint}
          value={clientId}
          onInput={(text) => onChange({ clientId: text })}
          isRequired={clientSecret !== ''}
        />
        <Field
          label={strings.registration.secret}
          hint={strings.registration.secretHint}
          type="password"
          value={clientSecret}
          onInput={(text) => onChange({ clientSecret: text })}
        />
        <Field
          label={optionWords.scope}
          hint={optionWords.scopeHint}
          value={scope}
          onInput={(text) => onChange({ scope: text })}
        />
      </div>
      {clientId.trim() !== '' && <Notice kind="warn">{optionWords.exceptions}</Notice>}
      <Switch
        label={optionWords.device}
        hint={optionWords.deviceHint}
        isOn={isDevice}
        onSwitch={async (isOn) => {
          onChange({ isDevice: isOn });
          return {};
        }}
      />
    </details>
  );
}

/** The redirect URI in a hint that says how to sign in with a client registered by hand. */
function redirectToRegister(refusal: Refusal | undefined): string | undefined {
  const [, redirectUri] = / redirect URI (http:\S+)\. Then: /.exec(refusal?.hint ?? '') ?? [];
  return redirectUri;
}

/** The hint names a command; here the fields below do the same. */
function RefusedSignIn({ refusal }: { readonly refusal: Refusal | undefined }) {
  const redirectUri = redirectToRegister(refusal);
  if (refusal === undefined || redirectUri === undefined) return <Refused refusal={refusal} />;
  const { hint: _, ...rest } = refusal;
  return (
    <>
      <Refused refusal={rest} />
      <Notice kind="info">
        <p>{strings.signInOptions.register}</p>
        <CopyText text={sanitize(redirectUri).text} />
      </Notice>
    </>
  );
}

/** What two spellings of one server's URL share. */
function placeOf(url: string): string | undefined {
  const parsed = URL.parse(url);
  return parsed ? parsed.origin + parsed.pathname : undefined;
}

/** Shown while the sign-in waits. */
function UnderWay({ of: { resource, clientId, method } }: { readonly of: ParamsOn<'signIn.start'> }) {
  const registrations = useList('oauthClient.list').value?.oauthClients ?? [];
  const questions = useList('request.list').value?.requests ?? [];
  if (method === 'device') {
    const code = questions.find(
      (one) => one.kind === 'device' && placeOf(one.resource ?? '') === placeOf(resource),
    );
    return code ? <SignInCard question={code} onDone={() => undefined} /> : null;
  }
  const redirectUri = registrations.findLast(
    (one) => one.source === 'preregistered' && one.clientId === clientId,
  )?.redirectUri;
  if (redirectUri === undefined) return null;
  return (
    <Notice kind="info">
      <p>{strings.signInOptions.isRegistered}</p>
      <CopyText text={sanitize(redirectUri).text} />
    </Notice>
  );
}
