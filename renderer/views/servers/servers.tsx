/** Every sign-in and every API key, with what can be done about it; and the form for a new sign-in. */
import type { ComponentChildren } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { formatCount } from '../../base/format.ts';
import { strings } from '../../base/strings.ts';
import type { SignIn, ListedApiKey } from '../../base/views.ts';
import { MasterDetail } from '../../lists/master-detail.tsx';
import { unnamed } from '../../parts/facts.tsx';
import { Refused } from '../../parts/notice.tsx';
import { SignInState, Mark } from '../../parts/state-mark.tsx';
import { Address, UntrustedText } from '../../parts/untrusted-text.tsx';
import { goTo } from '../../state/route.ts';
import { useList } from '../../state/store.ts';
import { RecentActivity } from '../activity/recent-activity.tsx';
import { ApiKey, keyItem } from './api-key.tsx';
import { SignInForm } from './sign-in-form.tsx';
import { SignInPanel } from './sign-in-panel.tsx';
import { ViewHead } from '../../parts/view-head.tsx';

const words = strings.servers;

/** The item that opens the form for a new sign-in. None has this id. */
export const addItem = 'add';

/** A sign-in, or an API key. */
type Server = { readonly key: string } & ({ readonly signIn: SignIn } | { readonly listed: ListedApiKey });

export function Servers({ item }: { readonly item?: string }) {
  const loaded = useList('signIn.list');
  const { value: keys, refusal } = useList('apiKey.list');
  const [isAdding, add] = useState(item === addItem);
  const items = useMemo(
    () => [
      ...sorted(loaded.value?.signIns ?? []).map((signIn) => ({ key: signIn.id, signIn })),
      ...(keys?.apiKeys ?? []).map((listed) => ({ key: keyItem(listed.resource), listed })),
    ],
    [loaded.value, keys],
  );
  return (
    <>
      <ViewHead title={words.title} lead={words.lead}>
        <button type="button" aria-expanded={isAdding} onClick={() => add(!isAdding)}>
          {words.add}
        </button>
      </ViewHead>
      {isAdding && (
        <section class="card" aria-label={words.add}>
          <SignInForm
            isFirst
            onDone={(signInId) => {
              add(false);
              goTo('servers', signInId);
            }}
          />
        </section>
      )}
      {/* What keeps both lists from being read is said once. */}
      {loaded.refusal === undefined && <Refused refusal={refusal} />}
      <MasterDetail<Server>
        tab="servers"
        chosen={item}
        loaded={loaded}
        items={items}
        words={words}
        keyOf={keyOf}
        textOf={textOf}
        row={rowOf}
        detail={detailOf}
      />
    </>
  );
}

const keyOf = ({ key }: Server): string => key;

const rowOf = (server: Server): ComponentChildren =>
  'signIn' in server ? <SignInRow signIn={server.signIn} /> : <ApiKeyRow listed={server.listed} />;

const detailOf = (server: Server): ComponentChildren => (
  <>
    {'signIn' in server ? <SignInPanel signIn={server.signIn} /> : <ApiKey of={server.listed} />}
    <RecentActivity of={{ server: 'signIn' in server ? server.signIn.endpoint : server.listed.resource }} />
  </>
);

/** Those that need the user first, those that are over last; else by name, so that nothing jumps. */
function sorted(signIns: readonly SignIn[]): SignIn[] {
  const rank = ({ state }: SignIn): number => (state === 'signInRequired' ? 0 : state === 'revoked' ? 2 : 1);
  return signIns.toSorted((a, b) => rank(a) - rank(b) || (a.endpoint < b.endpoint ? -1 : 1));
}

function textOf(server: Server): string {
  if ('listed' in server) return [server.listed.resource, ...server.listed.apps].join(' ');
  const { endpoint, issuer, account = '', scope, apps } = server.signIn;
  return [endpoint, issuer, account, scope, ...apps].join(' ');
}

function SignInRow({ signIn }: { readonly signIn: SignIn }) {
  const { endpoint, account, state, trouble, apps } = signIn;
  const isNamed = account !== undefined && account !== unnamed;
  return (
    <>
      <span class="pick-name">
        <Address url={endpoint} />
      </span>
      <span class="pick-state">
        <SignInState state={state} isTroubled={trouble !== undefined} />
      </span>
      <span class="pick-more dim small">
        {isNamed ? <UntrustedText text={account} bound={60} /> : formatCount(apps.length, 'apps')}
      </span>
    </>
  );
}

function ApiKeyRow({ listed }: { readonly listed: ListedApiKey }) {
  const { resource, apps, rejectedAt } = listed;
  return (
    <>
      <span class="pick-name">
        <Address url={resource} />
      </span>
      <span class="pick-state">
        <Mark tone={rejectedAt === undefined ? 'good' : 'warn'} icon="key">
          {words.apiKey}
        </Mark>
      </span>
      <span class="pick-more dim small">{formatCount(apps.length, 'apps')}</span>
    </>
  );
}
