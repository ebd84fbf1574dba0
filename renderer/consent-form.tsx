/**
 * What every card that asks for a yes has in common: deny, not now, and a yes that has to be earned.
 *
 * Invariants: deny is the default: Enter presses it wherever the focus is, once the window was there for half
 * a second, and neither Enter nor Escape ever approves. Approval takes a trusted click or the space bar on a card that is armed
 * (armed.ts): it has said all that it has to say. One that says something else later says so.
 */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { useArmed, useSettled } from './armed.ts';
import { ChangedNotice } from './changed-notice.tsx';
import type { Deed } from './deed.ts';
import { Refused } from './refused.tsx';
import { strings } from './strings.ts';

const words = strings.card;

interface ConsentFormProps {
  readonly id: string;
  readonly title: string;
  readonly help: string;
  /** The word on the button that approves. */
  readonly approval: string;
  readonly deed: Deed;
  /** All that the card says, as text; undefined until that is complete: before that nothing may be approved. */
  readonly said: string | undefined;
  readonly onAnswer: (answer: 'no' | 'later') => void;
  readonly onApprove: () => void;
  readonly children: ComponentChildren;
}

export function ConsentForm({ title, help, deed, onAnswer, children, ...answers }: ConsentFormProps) {
  const isSettled = useSettled();
  return (
    <form
      class="question"
      onKeyDown={(event) => {
        // The card may have come up while somebody typed elsewhere: that Enter, or one held down, is no answer.
        if (event.key === 'Enter' && (!isSettled() || event.repeat)) event.preventDefault();
      }}
      onSubmit={(event) => {
        event.preventDefault();
        onAnswer('no');
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
        <Answers {...answers} isBusy={deed.isBusy} onLater={() => onAnswer('later')} />
      </footer>
    </form>
  );
}

type AnswersProps = Pick<ConsentFormProps, 'id' | 'approval' | 'said' | 'onApprove'> & {
  readonly isBusy: boolean;
  readonly onLater: () => void;
};

function Answers({ id, approval, said, isBusy, onLater, onApprove }: AnswersProps) {
  const isArmed = useArmed(id, said);
  const deny = useRef<HTMLButtonElement>(null);
  // Without scrolling: a card that is longer than its window is read from its beginning.
  useEffect(() => deny.current?.focus({ preventScroll: true }), [id]);
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
