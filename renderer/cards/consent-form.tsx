/**
 * The form of every card that asks for approval: deny, not now, and an approval that takes a real press.
 *
 * Invariants: "Not now" is the default: Enter presses it wherever the focus is, and so does Escape in the card's own
 * window. No key counts in a card's first second, nor one that was down before: it was meant for another window.
 * Neither Enter nor Escape ever approves or denies. Approval takes a trusted click or the space bar on a card that may
 * be approved (approval-delay.ts): it has said all that it has to say. One that says something else later says so.
 */
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { announce } from '../state/announcement.ts';
import type { Undo } from '../state/announcement.ts';
import { useApprovalDelay, useScopesSeen, useTakesKeys } from './approval-delay.ts';
import { ChangedNotice } from './changed-notice.tsx';
import { useAction } from '../state/action.ts';
import { Refused } from '../parts/refused.tsx';
import { strings } from '../base/strings.ts';
import type { Question } from '../base/views.ts';

/** A card's question, and what to do once it is answered. */
export interface CardProps {
  readonly question: Question;
  readonly onDone: () => void;
}

type Answer = 'yes' | 'no' | 'later';

/** What a card says around its content. */
export interface ConsentWords {
  readonly title: ComponentChildren;
  /** How to answer, and what each answer leads to. */
  readonly help: string;
  /** On the button that approves. */
  readonly confirm: string;
  /** On the button that denies, where "Deny" says too much. */
  readonly deny?: string;
  /** Announced after each answer. */
  readonly answered: Readonly<Record<Answer, string>>;
}

interface QuestionFormProps extends CardProps {
  readonly words: ConsentWords;
  readonly children: ComponentChildren;
}

/** The form of a card whose content is its question and nothing else. */
export function QuestionForm(props: QuestionFormProps) {
  return <ConsentForm {...props} content={JSON.stringify(props.question)} />;
}

interface ConsentFormProps extends QuestionFormProps {
  /** All that the card says, as text; undefined until that is complete: before that nothing may be approved. */
  readonly content: string | undefined;
  /**
   * What goes with a yes; answers undefined where nothing may be approved. Nothing goes with it where this is left out.
   */
  readonly approvalParams?: () => object | undefined;
  /** Why nothing may be approved as the card stands now. */
  readonly obstacle?: string | undefined;
  /** Takes back a denial that is remembered. */
  readonly undo?: Undo | undefined;
}

const noParams = (): object => ({});

export function ConsentForm({
  question: { id },
  onDone,
  words,
  content,
  approvalParams = noParams,
  obstacle,
  undo,
  children,
}: ConsentFormProps) {
  const takesKeys = useTakesKeys(content);
  const scopes = useScopesSeen(content);
  const action = useAction();
  const give = async (answer: Answer, params = {}): Promise<void> => {
    if (!(await action.run('interaction.answer', { id, answer, ...params }))) return;
    announce(words.answered[answer], answer === 'no' ? undo : undefined);
    onDone();
  };
  useEscape(takesKeys, () => void give('later'));
  const approve = (): void => {
    const params = approvalParams();
    if (params) void give('yes', params);
  };
  return (
    <form
      class="question"
      ref={scopes.card}
      data-takes-keys={takesKeys}
      onKeyDown={(event) => {
        const isAnswer = event.key === 'Enter' || event.key === ' ';
        if (isAnswer && (!takesKeys || event.repeat)) event.preventDefault();
      }}
      onSubmit={(event) => {
        event.preventDefault();
        void give('later');
      }}
    >
      <h3>{words.title}</h3>
      <ChangedNotice content={content} />
      {children}
      <Refused refusal={action.refusal} />
      <footer>
        <p class="dim small" id="card-help">
          {obstacle ?? (content === undefined || scopes.isSeen ? words.help : strings.card.unseenScopes)}
        </p>
        <Answers
          id={id}
          confirm={words.confirm}
          deny={words.deny ?? strings.card.deny}
          content={scopes.isSeen && obstacle === undefined ? content : undefined}
          isBusy={action.isBusy}
          onDeny={() => void give('no')}
          onApprove={approve}
        />
      </footer>
    </form>
  );
}

/** Where a dialog is open, Escape closes that, and the question waits on. */
function useEscape(takesKeys: boolean, onEscape: () => void): void {
  useEffect(() => {
    const over = new AbortController();
    window.addEventListener(
      'keydown',
      ({ key, repeat }) => {
        if (key !== 'Escape' || repeat || !takesKeys) return;
        if (document.querySelector('dialog[open]') === null) onEscape();
      },
      { signal: over.signal },
    );
    return () => over.abort();
  });
}

interface AnswersProps extends Pick<ConsentFormProps, 'content'> {
  readonly id: string;
  readonly confirm: string;
  readonly deny: string;
  readonly isBusy: boolean;
  readonly onDeny: () => void;
  readonly onApprove: () => void;
}

function Answers({ id, confirm, deny, content, isBusy, onDeny, onApprove }: AnswersProps) {
  const canApprove = useApprovalDelay(id, content);
  const later = useRef<HTMLButtonElement>(null);
  // In the moment it is drawn: a later focus could take it from where the person went meanwhile. Without scrolling: a
  // card that is longer than its window is read from its beginning.
  useLayoutEffect(() => later.current?.focus({ preventScroll: true }), [id]);
  return (
    <div class="actions" aria-busy={isBusy}>
      <button type="button" class="danger" aria-describedby="card-help" onClick={onDeny}>
        {deny}
      </button>
      <button type="submit" ref={later} aria-describedby="card-help">
        {strings.card.later}
      </button>
      <button
        type="button"
        class="primary"
        disabled={!canApprove}
        aria-describedby="card-help"
        onKeyDown={(event) => {
          if (event.key === 'Enter') event.preventDefault();
        }}
        onClick={(event) => {
          // A script can click too; only a person's own act counts.
          if (event.isTrusted && canApprove) onApprove();
        }}
      >
        {confirm}
      </button>
    </div>
  );
}
