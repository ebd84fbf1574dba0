/** A server in the list: where, its state, as whom, or for how many apps. */
import { formatCount } from '../../base/format.ts';
import { strings } from '../../base/strings.ts';
import type { SignIn, ListedApiKey } from '../../base/views.ts';
import { SignInState, Mark } from '../../parts/state-mark.tsx';
import { Address, UntrustedText } from '../../parts/untrusted-text.tsx';
import { unnamed } from '../../parts/account-name.tsx';

const words = strings.servers;

export function SignInRow({ signIn }: { readonly signIn: SignIn }) {
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

export function ApiKeyRow({ listed }: { readonly listed: ListedApiKey }) {
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
