/**
 * Signs in to a server that the user names by its URL, with a client that they registered by hand if they have one.
 *
 * Invariant: the client secret is written, never read: it leaves its field with the call, whatever comes of it.
 */
import { useState } from 'preact/hooks';
import { announce } from '../../state/announcement.ts';
import { useAction } from '../../state/store.ts';
import { Field, Form } from '../../parts/field.tsx';
import { sanitizeLabel } from '../../base/untrusted-text.ts';
import { formatList } from '../../base/format.ts';
import { strings } from '../../base/strings.ts';
import type { ParamsOn } from '../../base/views.ts';
import { redirectToRegister, RefusedSignIn, UnderWay } from './sign-in-steps.tsx';
import { SignInOptions } from './sign-in-options.tsx';
import type { Options } from './sign-in-options.tsx';

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
