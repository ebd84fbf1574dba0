/** Every grant, with what can be done about it; and a first sign-in. */
import { useState } from 'preact/hooks';
import { announce } from './announcement.ts';
import { useDeed } from './deed.ts';
import { Field } from './field.tsx';
import { fitLabel } from './foreign-text.ts';
import { GrantCard } from './grant-card.tsx';
import { ListFrame, pageSize, ShowMore } from './list-frame.tsx';
import { Refused } from './refused.tsx';
import { useList } from './store.ts';
import { strings } from './strings.ts';
import type { Grant } from './views.ts';
import { counted } from './words.ts';

const words = strings.servers;

export function Servers() {
  const loaded = useList('grant.list');
  const [filter, setFilter] = useState('');
  const [shown, setShown] = useState(pageSize);
  const grants: readonly Grant[] = loaded.value?.grants ?? [];
  const fitting = sorted(grants).filter((grant) => matches(grant, filter));
  return (
    <>
      <ViewHead title={words.title} lead={words.lead} />
      <SignInForm />
      <ListFrame
        loaded={loaded}
        isEmpty={grants.length === 0}
        emptyTitle={words.emptyTitle}
        empty={words.empty}
      >
        <Filter value={filter} onInput={setFilter} count={counted(fitting.length, 'grants')} />
        {fitting.length === 0 && <p class="empty dim">{strings.noMatch}</p>}
        <ul class="cards">
          {fitting.slice(0, shown).map((grant) => (
            <li key={grant.id}>
              <GrantCard grant={grant} />
            </li>
          ))}
        </ul>
        <ShowMore count={fitting.length} shown={shown} onMore={setShown} />
      </ListFrame>
    </>
  );
}

export function ViewHead({ title, lead }: { readonly title: string; readonly lead: string }) {
  return (
    <div class="view-head">
      <h2>{title}</h2>
      <p class="dim">{lead}</p>
    </div>
  );
}

interface FilterProps {
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly count: string;
}

export function Filter({ value, onInput, count }: FilterProps) {
  return (
    <div class="filter">
      <Field label={strings.filter} type="search" value={value} onInput={onInput} />
      <p class="dim" role="status">
        {count}
      </p>
    </div>
  );
}

/** Those that need the person first, those that are over last; else by name, so that nothing jumps. */
function sorted(grants: readonly Grant[]): Grant[] {
  const rank = ({ state }: Grant): number => (state === 'loginRequired' ? 0 : state === 'revoked' ? 2 : 1);
  return grants.toSorted((a, b) => rank(a) - rank(b) || (a.endpoint < b.endpoint ? -1 : 1));
}

function matches(grant: Grant, filter: string): boolean {
  const { endpoint, issuer, account = '', scope, clients } = grant;
  const text = [endpoint, issuer, account, scope, ...clients].join(' ').toLowerCase();
  return text.includes(filter.trim().toLowerCase());
}

function SignInForm() {
  const [resource, set] = useState('');
  const deed = useDeed();
  const submit = async (): Promise<void> => {
    if (!(await deed.run('login.start', { resource: resource.trim() }))) return;
    announce(words.signedIn(fitLabel(resource.trim())));
    set('');
  };
  return (
    <details class="disclosure">
      <summary>{words.add}</summary>
      <form
        class="row"
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <Field
          label={words.addLabel}
          type="url"
          hint={words.addHint}
          value={resource}
          onInput={set}
          isRequired
        />
        <button type="submit" class="primary" aria-disabled={deed.isBusy}>
          {deed.isBusy ? words.signingIn : words.signIn}
        </button>
      </form>
      <Refused refusal={deed.refusal} />
    </details>
  );
}
