/**
 * What is out of the ordinary about a sign-in: it must be renewed, no new token comes, a refresh is unsettled, it is over.
 */
import { sanitizeLabel, sanitizeReason } from '../../base/untrusted-text.ts';
import { Notice } from '../../parts/notice.tsx';
import { ReceiptText } from './receipt.tsx';
import { strings } from '../../base/strings.ts';
import type { SignIn, Trouble } from '../../base/views.ts';
import { When } from '../../parts/when.tsx';

const words = strings.servers;

export function SignInNotices({ signIn }: { readonly signIn: SignIn }) {
  const { why, trouble, lostRefresh, receipt } = signIn;
  return (
    <>
      {why !== undefined && (
        <Notice kind="warn" icon="user">
          {words.why} {sanitizeReason(why)}
        </Notice>
      )}
      {trouble && <TroubleNotice trouble={trouble} />}
      {lostRefresh && (
        <Notice kind="warn" icon="refresh">
          {words.lostRefresh[lostRefresh.cause]} {words.lostRefreshStarted}{' '}
          <When at={lostRefresh.startedAt} />.
        </Notice>
      )}
      {receipt !== undefined && (
        <Notice kind="info" icon={receipt === 'confirmed' ? 'check' : 'clock'}>
          <ReceiptText {...signIn} receipt={receipt} />
        </Notice>
      )}
    </>
  );
}

function TroubleNotice({ trouble: { reason, since, nextTryAt } }: { readonly trouble: Trouble }) {
  const known = Object.hasOwn(words.troubles, reason) ? words.troubles[reason] : undefined;
  return (
    <Notice kind="warn">
      {words.trouble({ reason: known ?? sanitizeLabel(reason) })} {words.troubleSince} <When at={since} />,{' '}
      {words.nextTry} <When at={nextTryAt} />.
    </Notice>
  );
}
