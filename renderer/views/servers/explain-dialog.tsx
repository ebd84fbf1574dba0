/** A sign-in's state, what happens next, and what happened: the broker's facts and the log's rows. */
import { useEffect, useState } from 'preact/hooks';
import { eventWords, Outcome } from '../activity/audit-entry.tsx';
import { Dialog, CloseAction } from '../../parts/dialog.tsx';
import { Expiry, When } from '../../parts/when.tsx';
import { Fact, Facts } from '../../parts/facts.tsx';
import { Address, UntrustedText } from '../../parts/untrusted-text.tsx';
import { SignInNotices } from './sign-in-notices.tsx';
import { call } from '../../state/store.ts';
import { useNow } from '../../state/now.ts';
import { Refused } from '../../parts/notice.tsx';
import { SignInState } from '../../parts/state-mark.tsx';
import { strings } from '../../base/strings.ts';
import type { Explanation, SignIn, Refusal } from '../../base/views.ts';
import { formatNumber } from '../../base/format.ts';

const words = strings.explain;

interface ExplainDialogProps {
  readonly signIn: SignIn;
  readonly onClose: () => void;
}

export function ExplainDialog({ signIn: { id, endpoint, issuer }, onClose }: ExplainDialogProps) {
  const { explanation, refusal } = useExplanation(id);
  return (
    <Dialog title={words.title} onClose={onClose}>
      <p>
        <Address url={endpoint} />
        <br />
        <span class="dim small">
          {strings.servers.issuer} <Address url={issuer} />
        </span>
      </p>
      {explanation === undefined && refusal === undefined && <p class="dim">{strings.loading}</p>}
      <Refused refusal={refusal} />
      {explanation && <ExplanationFacts explanation={explanation} />}
      {explanation && <Timeline rows={explanation.timeline} />}
      <CloseAction onClose={onClose} />
    </Dialog>
  );
}

interface ExplanationState {
  readonly explanation?: Explanation | undefined;
  readonly refusal?: Refusal;
}

function useExplanation(signInId: string): ExplanationState {
  const [state, set] = useState<ExplanationState>({});
  useEffect(() => {
    const over = new AbortController();
    const ask = async (): Promise<void> => {
      const answer = await call('signIn.show', { id: signInId });
      if (over.signal.aborted) return;
      set(answer.ok ? { explanation: answer.value.signIns[0] } : { refusal: answer.refusal });
    };
    void ask();
    return () => over.abort();
  }, [signInId]);
  return state;
}

function ExplanationFacts({ explanation }: { readonly explanation: Explanation }) {
  const { signIn, signedInAt, refresh, clockAhead, rejections = [] } = explanation;
  return (
    <>
      <SignInNotices signIn={signIn} />
      <Facts>
        <Fact name={words.now}>
          <SignInState state={signIn.state} isTroubled={signIn.trouble !== undefined} />
        </Fact>
        {refresh && (
          <Fact name={words.expires}>
            <Expiry at={signIn.expires_at} />
          </Fact>
        )}
        <Fact name={words.next}>{refresh ? <NextToken {...refresh} /> : words.nextBy.over}</Fact>
        {clockAhead !== undefined && <Fact name={words.clock}>{clockWords(clockAhead)}</Fact>}
        {rejections.length > 0 && (
          <Fact name={words.rejected}>
            {rejections.map((rejection) => (
              <RejectedTokens key={`${rejection.app} ${rejection.operation ?? ''}`} {...rejection} />
            ))}
          </Fact>
        )}
        <Fact name={words.signedIn}>
          <When at={signedInAt} />
        </Fact>
      </Facts>
    </>
  );
}

function clockWords(ahead: number): string {
  const seconds = formatNumber(Math.abs(ahead));
  return ahead > 0 ? words.clockAhead({ seconds }) : words.clockBehind({ seconds });
}

/** An app whose rejected tokens are not replaced for now. */
function RejectedTokens({ app, operation, until }: NonNullable<Explanation['rejections']>[number]) {
  return (
    <p>
      {words.rejectedOf} <UntrustedText text={app} bound={60} />
      {operation !== undefined && (
        <>
          {' ('}
          <UntrustedText text={operation} bound={120} />)
        </>
      )}
      {'. '}
      {words.rejectedUntil} <When at={until} />.
    </p>
  );
}

function aheadWords(by: NonNullable<Explanation['refresh']>['by']): string {
  if (by === 'request') return words.nextBy.requestAfter;
  return by === 'resume' ? words.nextBy.resumeAfter : words.nextBy[by];
}

function NextToken({ by, after }: NonNullable<Explanation['refresh']>) {
  const isAhead = useNow((now) => after !== undefined && after > now);
  if (after === undefined || !isAhead) return <>{words.nextBy[by === 'timer' ? 'request' : by]}</>;
  return (
    <>
      {aheadWords(by)} <When at={after} />
    </>
  );
}

/** The newest first, as the activity is. */
function Timeline({ rows }: { readonly rows: Explanation['timeline'] }) {
  return (
    <>
      <h3>{words.timeline}</h3>
      {rows.length === 0 && <p class="dim">{words.timelineEmpty}</p>}
      <ol class="timeline">
        {rows.toReversed().map(({ at, event, outcome, app, count = 1 }, index) => (
          <li key={`${at} ${index}`}>
            <strong>{eventWords(event, outcome)}</strong> <Outcome event={event} outcome={outcome} />
            {app !== undefined && <UntrustedText text={app} bound={60} />}
            {count > 1 && <span class="dim">{strings.activity.times({ count: formatNumber(count) })}</span>}
            <span class="dim small">
              <When at={at} />
            </span>
          </li>
        ))}
      </ol>
    </>
  );
}
