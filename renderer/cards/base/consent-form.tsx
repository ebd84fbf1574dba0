/**
 * The form of every card that asks for approval: a button that refuses, and one that approves by a real press.
 *
 * Invariants: refusing is the default: Enter presses that button wherever the focus is, and Escape puts the request off.
 * A refusal is remembered only if the user ticked the box for that. No key is valid in a card's first second, nor one
 * that was down before: it was meant for another window. Neither Enter nor Escape ever approves. Approval takes a
 * trusted click or the space bar on a card that may be approved (approval-delay.ts): it is complete and was in view.
 * A card that changes says so.
 */
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { strings } from '../../base/strings.ts';
import type { ParamsOn, Question } from '../../base/views.ts';
import { useApprovalDelay, useScopesSeen, useTakesKeys, useHasChanged } from './approval-delay.ts';
import { Notice, Refused } from '../../parts/notice.tsx';
import { announce, type Undo } from '../../state/announcement.ts';
import { useAction, type Action } from '../../state/store.ts';

/** A card's question, and what to do once it is answered. */
export interface CardProps {
  readonly question: Question;
  readonly onDone: () => void;
}

type Answer = 'approve' | 'deny' | 'dismiss';

/** The answer to one question. */
export type AnswerParams = ParamsOn<'request.answer'>;

/** What a card says around its content. */
export interface ConsentWords {
  readonly title: ComponentChildren;
  /** What an answer leads to, if the buttons don't say it. */
  readonly help?: string;
  /** On the button that approves. */
  readonly confirm: string;
  /** On the button that refuses. */
  readonly refuse?: string;
  /** What a refusal that is remembered leads to, if the card offers one. */
  readonly remembered?: string;
  /** Announced after each answer. */
  readonly answered: Readonly<Partial<Record<Answer, string>> & Record<'approve' | 'dismiss', string>>;
}

interface FormProps {
  readonly words: ConsentWords;
  readonly children: ComponentChildren;
  readonly onDone: () => void;
}

/** The form of a card whose content is its question and nothing else. */
export function QuestionForm({
  question,
  ...props
}: FormProps & CardProps & Pick<ConsentFormProps, 'refusal'>) {
  const approvals = (): AnswerParams[] => [{ id: question.id, answer: 'approve' }];
  return (
    <ConsentForm {...props} ids={[question.id]} content={JSON.stringify(question)} approvals={approvals} />
  );
}

interface ConsentFormProps extends FormProps {
  /** Of the questions. */
  readonly ids: readonly string[];
  /** All that the card says, as text; undefined until that is complete: before that nothing may be approved. */
  readonly content: string | undefined;
  /** The answer to each question, if the user approves; undefined if nothing may be approved. */
  readonly approvals: () => readonly AnswerParams[] | undefined;
  /** Why nothing may be approved as the card is now. */
  readonly obstacle?: string | undefined;
  /** The answer that the refusing button gives. */
  readonly refusal?: Exclude<Answer, 'approve'>;
  /** Ends a denial that is remembered. */
  readonly undo?: Undo | undefined;
}

export function ConsentForm({
  ids,
  onDone,
  words,
  content,
  approvals,
  obstacle,
  refusal = 'dismiss',
  undo,
  children,
}: ConsentFormProps) {
  const takesKeys = useTakesKeys(content);
  const scopes = useScopesSeen(content);
  const action = useAction();
  // Of what the card said when it was ticked, and of nothing else.
  const [ticked, remember] = useState<{ readonly content: string | undefined }>();
  const isRemembered = ticked !== undefined && ticked.content === content;
  const give = async (answer: Answer, answers = ids.map((id): AnswerParams => ({ id, answer }))) => {
    if (!(await send(action, answers))) return;
    announce(words.answered[answer] ?? words.answered.dismiss, answer === 'deny' ? undo : undefined);
    onDone();
  };
  useEscape(takesKeys, () => void give('dismiss'));
  const approve = (answers = approvals()): void => void (answers && give('approve', [...answers]));
  const isUnseen = content !== undefined && !scopes.isSeen;
  const why =
    (isRemembered ? words.remembered : obstacle) ?? (isUnseen ? strings.card.unseenScopes : undefined);
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
        void give(isRemembered ? 'deny' : refusal);
      }}
    >
      <h3>{words.title}</h3>
      <ChangedNotice content={content} />
      {children}
      <Refused refusal={action.refusal} />
      <Foot
        ids={ids}
        words={words}
        why={why}
        content={content}
        isBusy={action.isBusy}
        isRemembered={isRemembered}
        onRemember={(isOn) => remember(isOn ? { content } : undefined)}
        onApprove={() => approve()}
      />
    </form>
  );
}

/** Has its room from the first drawing on, so that no button moves from under a press. */
function Help({ shown }: { readonly shown: string | undefined }) {
  return (
    <div class="help">
      <p class="dim small" id="card-help" role="status">
        {shown}
      </p>
      {shown !== strings.card.unseenScopes && (
        <p class="dim small" aria-hidden="true">
          {strings.card.unseenScopes}
        </p>
      )}
    </div>
  );
}

interface FootProps extends Pick<ConsentFormProps, 'ids' | 'words' | 'content'> {
  /** Why nothing may be approved now. */
  readonly why: string | undefined;
  readonly isBusy: boolean;
  readonly isRemembered: boolean;
  readonly onRemember: (isOn: boolean) => void;
  readonly onApprove: () => void;
}

function Foot({ ids, words, why, content, isBusy, isRemembered, onRemember, onApprove }: FootProps) {
  // Enter doesn't approve: it may have been meant for another window.
  const [isEntered, enter] = useState(false);
  const canApprove = useApprovalDelay(ids, why === undefined ? content : undefined);
  const refusing = useRef<HTMLButtonElement>(null);
  // In the moment it is drawn: a later focus could take it from where the user went meanwhile. Without scrolling: a
  // card that is longer than its window is read from its beginning.
  useLayoutEffect(() => refusing.current?.focus({ preventScroll: true }), []);
  const { refuse = strings.card.refuse } = words;
  return (
    <footer>
      <Help shown={why ?? (isEntered ? strings.card.pressSpace : (words.help ?? strings.card.closing))} />
      <div class="actions" aria-busy={isBusy}>
        {words.remembered !== undefined && (
          <label class="remember">
            <input
              type="checkbox"
              checked={isRemembered}
              onChange={(event) => onRemember(event.currentTarget.checked)}
            />
            {strings.card.remember({ refuse })}
          </label>
        )}
        <button type="submit" ref={refusing} aria-describedby="card-help">
          {refuse}
        </button>
        <button
          type="button"
          class="primary"
          disabled={!canApprove}
          aria-describedby="card-help"
          onKeyDown={(event) => {
            if (event.key !== 'Enter') return;
            event.preventDefault();
            enter(true);
          }}
          onClick={(event) => {
            // A script can click too; only a user's own press is valid.
            if (event.isTrusted && canApprove) onApprove();
          }}
        >
          {words.confirm}
        </button>
      </div>
    </footer>
  );
}

/** False where it was refused. */
async function send(action: Action, answers: AnswerParams[]): Promise<boolean> {
  const [first, ...others] = answers;
  if (!first) return false;
  const done =
    others.length === 0
      ? await action.run('request.answer', first)
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

/** Says that the card’s content has changed since it was first complete. */
export function ChangedNotice({ content }: { readonly content: string | undefined }) {
  const hasChanged = useHasChanged(content);
  return <div role="status">{hasChanged && <Notice kind="warn">{strings.card.changed}</Notice>}</div>;
}
