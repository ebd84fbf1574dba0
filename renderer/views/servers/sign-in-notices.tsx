/** What is unusual about a sign-in: the user must sign in again, no new token comes, a refresh is unsettled, it is over. */
import { strings } from '../../base/strings.ts';
import { sanitizeLabel, sanitizeReason } from '../../base/untrusted-text.ts';
import type { SignIn, Trouble, Receipt } from '../../base/views.ts';
import { Notice } from '../../parts/notice.tsx';
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

const receipts = strings.receipts;

export const receiptWords = (kind: string): string =>
  (Object.hasOwn(receipts, kind) ? receipts[kind] : undefined) ?? kind;

type ReceiptTextProps = Pick<Receipt, 'receipt' | 'nextTryAt' | 'triedUntil' | 'liveUntil' | 'endedAt'>;

export function ReceiptText({ receipt, nextTryAt, triedUntil, liveUntil, endedAt }: ReceiptTextProps) {
  return (
    <>
      <span class="receipt">{receiptWords(receipt)}</span>
      <span class="instants small">
        <Instant name="nextTry" at={nextTryAt} />
        <Instant name="triedUntil" at={triedUntil} />
        <Instant name="liveUntil" at={liveUntil} />
        <Instant name="ended" at={endedAt} />
      </span>
    </>
  );
}

function Instant({ name, at }: { readonly name: string; readonly at: number | undefined }) {
  if (at === undefined) return null;
  return (
    <span>
      {receipts[name]} <When at={at} />
    </span>
  );
}
