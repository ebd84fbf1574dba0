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
import { announce } from '../../state/announcement.ts';
import type { Undo } from '../../state/announcement.ts';
import { useApprovalDelay, useScopesSeen, useTakesKeys } from './approval-delay.ts';
import { ChangedNotice } from './changed-notice.tsx';
import { useAction } from '../../state/action.ts';
import type { Action } from '../../state/action.ts';
import { Refused } from '../../parts/refused.tsx';
import { strings } from '../../base/strings.ts';
import type { ParamsOn, Question } from '../../base/views.ts';

/** A card's question, and what to do once it is answered. */
export interface CardProps {
  readonly question: Question;
  readonly onDone: () => void;
}

type Answer = 'yes' | 'no' | 'later';

/** The answer to one question. */
export type AnswerParams = ParamsOn<'interaction.answer'>;

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

interface FormProps {
  readonly words: ConsentWords;
  readonly children: ComponentChildren;
  readonly onDone: () => void;
}

/** The form of a card whose content is its question and nothing else. */
export function QuestionForm({ question, ...props }: FormProps & CardProps) {
  const approvals = (): AnswerParams[] => [{ id: question.id, answer: 'yes' }];
  return (
    <ConsentForm {...props} ids={[question.id]} content={JSON.stringify(question)} approvals={approvals} />
  );
}

interface ConsentFormProps extends FormProps {
  /** Of the questions. */
  readonly ids: readonly string[];
  /** All that the card says, as text; undefined until that is complete: before that nothing may be approved. */
  readonly content: string | undefined;
  /** The answer to each question, if the person approves; undefined where nothing may be approved. */
  readonly approvals: () => readonly AnswerParams[] | undefined;
  /** Why nothing may be approved as the card stands now. */
  readonly obstacle?: string | undefined;
  /** Takes back a denial that is remembered. */
  readonly undo?: Undo | undefined;
}

export function ConsentForm({
  ids,
  onDone,
  words,
  content,
  approvals,
  obstacle,
  undo,
  children,
}: ConsentFormProps) {
  const takesKeys = useTakesKeys(content);
  const scopes = useScopesSeen(content);
  const action = useAction();
  const give = async (answer: Answer, answers = ids.map((id): AnswerParams => ({ id, answer }))) => {
    if (!(await send(action, answers))) return;
    announce(words.answered[answer], answer === 'no' ? undo : undefined);
    onDone();
  };
  useEscape(takesKeys, () => void give('later'));
  const approve = (): void => {
    const answers = approvals();
    if (answers) void give('yes', [...answers]);
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
        <Help obstacle={obstacle} isUnseen={content !== undefined && !scopes.isSeen} help={words.help} />
        <Answers
          ids={ids}
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

interface HelpProps extends Pick<ConsentFormProps, 'obstacle'> {
  readonly isUnseen: boolean;
  /** What it says in the end. It has its room from the first drawing on, so that no button moves from under a press. */
  readonly help: string;
}

function Help({ obstacle, isUnseen, help }: HelpProps) {
  const shown = obstacle ?? (isUnseen ? strings.card.unseenScopes : help);
  return (
    <div class="help">
      <p class="dim small" id="card-help">
        {shown}
      </p>
      {shown !== help && (
        <p class="dim small" aria-hidden="true">
          {help}
        </p>
      )}
    </div>
  );
}

/** False where it was refused. */
async function send(action: Action, answers: AnswerParams[]): Promise<boolean> {
  const [first, ...others] = answers;
  if (!first) return false;
  const done =
    others.length === 0
      ? await action.run('interaction.answer', first)
      : await action.run('card.answer', { answers });
  return done !== undefined;
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
  readonly ids: readonly string[];
  readonly confirm: string;
  readonly deny: string;
  readonly isBusy: boolean;
  readonly onDeny: () => void;
  readonly onApprove: () => void;
}

function Answers({ ids, confirm, deny, content, isBusy, onDeny, onApprove }: AnswersProps) {
  const canApprove = useApprovalDelay(ids, content);
  const later = useRef<HTMLButtonElement>(null);
  // In the moment it is drawn: a later focus could take it from where the person went meanwhile. Without scrolling: a
  // card that is longer than its window is read from its beginning.
  useLayoutEffect(() => later.current?.focus({ preventScroll: true }), []);
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
