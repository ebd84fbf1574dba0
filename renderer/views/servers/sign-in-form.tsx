/** Signs in to a server that the person names by its URL. */
import { useState } from 'preact/hooks';
import { announce } from '../../state/announcement.ts';
import { useAction } from '../../state/action.ts';
import { Field } from '../../parts/field.tsx';
import { Form } from '../../parts/form.tsx';
import { Refused } from '../../parts/refused.tsx';
import { sanitizeLabel } from '../../base/untrusted-text.ts';
import { strings } from '../../base/strings.ts';

const words = strings.servers;

interface SignInFormProps {
  /** Gets the grant's id. */
  readonly onDone: (grant: string) => void;
  /** Has the focus as soon as it is there. */
  readonly isFirst: boolean;
}

export function SignInForm({ onDone, isFirst }: SignInFormProps) {
  const [resource, set] = useState('');
  const action = useAction();
  const submit = async (): Promise<void> => {
    const done = await action.run('login.start', { resource: resource.trim() });
    if (!done) return;
    announce(words.signedIn({ server: sanitizeLabel(resource.trim()) }));
    onDone(done.grant.id);
  };
  return (
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
          {action.isBusy ? words.signingIn : words.signIn}
        </button>
      </div>
      <Refused refusal={action.refusal} />
    </Form>
  );
}
