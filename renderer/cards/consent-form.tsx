/**
 * What every card that asks for a yes has in common: deny, not now, and a yes that has to be earned.
 *
 * Invariants: deny is the default: Enter presses it wherever the focus is, once the window was there for half
 * a second, and neither Enter nor Escape ever approves. Approval takes a trusted click or the space bar on a card that is armed
 * (armed.ts): it has said all that it has to say. One that says something else later says so.
 */
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { announce } from '../state/announcement.ts';
import { useArmed, useSettled } from './armed.ts';
import { ChangedNotice } from './changed-notice.tsx';
import { useDeed } from '../state/deed.ts';
import { Refused } from '../parts/refused.tsx';
import { strings } from '../base/strings.ts';
import type { Question } from '../base/views.ts';

const words = strings.card;

/** A card's question, and what to do once it is answered. */
export interface CardProps {
  readonly question: Question;
  readonly onDone: () => void;
}

type Answer = 'yes' | 'no' | 'later';

interface ConsentFormProps extends CardProps {
  readonly title: string;
  readonly help: string;
  /** The word on the button that approves. */
  readonly approval: string;
  /** All that the card says, as text; undefined until that is complete: before that nothing may be approved. */
  readonly said: string | undefined;
  /** What is announced after each answer. */
  readonly sentences: Readonly<Record<Answer, string>>;
  /** What goes with a yes; answers undefined where nothing may be approved. Nothing goes with it where this is left out. */
  readonly termsOfYes?: () => object | undefined;
  readonly children: ComponentChildren;
}

const noTerms = (): object => ({});

export function ConsentForm({
  question: { id },
  onDone,
  title,
  help,
  sentences,
  termsOfYes = noTerms,
  children,
  ...answers
}: ConsentFormProps) {
  const isSettled = useSettled();
  const deed = useDeed();
  const give = async (answer: Answer, terms = {}): Promise<void> => {
    if (!(await deed.run('interaction.answer', { id, answer, ...terms }))) return;
    announce(sentences[answer]);
    onDone();
  };
  const approve = (): void => {
    const terms = termsOfYes();
    if (terms) void give('yes', terms);
  };
  return (
    <form
      class="question"
      onKeyDown={(event) => {
        // The card may have come up while somebody typed elsewhere: that Enter, or one held down, is no answer.
        if (event.key === 'Enter' && (!isSettled() || event.repeat)) event.preventDefault();
      }}
      onSubmit={(event) => {
        event.preventDefault();
        void give('no');
      }}
    >
      <h3>{title}</h3>
      <ChangedNotice said={answers.said} />
      {children}
      <Refused refusal={deed.refusal} />
      <footer>
        <p class="dim small" id="card-help">
          {help}
        </p>
        <Answers
          {...answers}
          id={id}
          isBusy={deed.isBusy}
          onLater={() => void give('later')}
          onApprove={approve}
        />
      </footer>
    </form>
  );
}

interface AnswersProps extends Pick<ConsentFormProps, 'approval' | 'said'> {
  readonly id: string;
  readonly isBusy: boolean;
  readonly onLater: () => void;
  readonly onApprove: () => void;
}

function Answers({ id, approval, said, isBusy, onLater, onApprove }: AnswersProps) {
  const isArmed = useArmed(id, said);
  const deny = useRef<HTMLButtonElement>(null);
  // In the moment it is drawn: a later focus could take it from where the person went meanwhile. Without scrolling: a
  // card that is longer than its window is read from its beginning.
  useLayoutEffect(() => deny.current?.focus({ preventScroll: true }), [id]);
  return (
    <div class="actions" aria-busy={isBusy}>
      <button type="submit" class="danger" ref={deny} aria-describedby="card-help">
        {words.deny}
      </button>
      <button type="button" onClick={onLater}>
        {words.later}
      </button>
      <button
        type="button"
        class="primary"
        disabled={!isArmed}
        aria-describedby="card-help"
        onKeyDown={(event) => {
          if (event.key === 'Enter') event.preventDefault();
        }}
        onClick={(event) => {
          // A script can click too; only a person's own act counts.
          if (event.isTrusted && isArmed) onApprove();
        }}
      >
        {approval}
      </button>
    </div>
  );
}
