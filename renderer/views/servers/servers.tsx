/** Every grant, with what can be done about it; and a first sign-in. */
import { useMemo, useState } from 'preact/hooks';
import { ApiKeys } from './api-keys.tsx';
import { announce } from '../../state/announcement.ts';
import { useAction } from '../../state/action.ts';
import { Field } from '../../parts/field.tsx';
import { FilteredList } from '../../lists/filtered-list.tsx';
import { sanitizeLabel } from '../../base/untrusted-text.ts';
import { GrantCard } from './grant-card.tsx';
import { Refused } from '../../parts/refused.tsx';
import { useList } from '../../state/store.ts';
import { Form } from '../../parts/form.tsx';
import { strings } from '../../base/strings.ts';
import type { Grant } from '../../base/views.ts';
import { ViewHead } from '../../parts/view-head.tsx';

const words = strings.servers;

export function Servers() {
  const loaded = useList('grant.list');
  const [isAdding, add] = useState(false);
  const grants = loaded.value?.grants;
  const items = useMemo(() => sorted(grants ?? []), [grants]);
  return (
    <>
      <ViewHead title={words.title} lead={words.lead}>
        <button type="button" aria-expanded={isAdding} onClick={() => add(!isAdding)}>
          {words.add}
        </button>
      </ViewHead>
      {isAdding && <SignInForm onDone={() => add(false)} />}
      <FilteredList
        loaded={loaded}
        items={items}
        words={words}
        unit="grants"
        keyOf={(grant) => grant.id}
        textOf={textOf}
        show={(grant) => <GrantCard grant={grant} />}
      />
      <ApiKeys />
    </>
  );
}

/** Those that need the person first, those that are over last; else by name, so that nothing jumps. */
function sorted(grants: readonly Grant[]): Grant[] {
  const rank = ({ state }: Grant): number => (state === 'loginRequired' ? 0 : state === 'revoked' ? 2 : 1);
  return grants.toSorted((a, b) => rank(a) - rank(b) || (a.endpoint < b.endpoint ? -1 : 1));
}

function textOf({ endpoint, issuer, account = '', scope, clients }: Grant): string {
  return [endpoint, issuer, account, scope, ...clients].join(' ');
}

function SignInForm({ onDone }: { readonly onDone: () => void }) {
  const [resource, set] = useState('');
  const action = useAction();
  const submit = async (): Promise<void> => {
    if (!(await action.run('login.start', { resource: resource.trim() }))) return;
    announce(words.signedIn(sanitizeLabel(resource.trim())));
    onDone();
  };
  return (
    <section class="card" aria-label={words.add}>
      <Form onSubmit={submit}>
        <div class="row">
          <Field
            label={words.addLabel}
            type="url"
            hint={words.addHint}
            value={resource}
            onInput={set}
            isRequired
            isFirst
          />
          <button type="submit" class="primary" aria-disabled={action.isBusy}>
            {action.isBusy ? words.signingIn : words.signIn}
          </button>
        </div>
        <Refused refusal={action.refusal} />
      </Form>
    </section>
  );
}
