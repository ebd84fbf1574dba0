/**
 * A button that takes something away, and the dialog that asks before it does.
 *
 * Invariant: the dialog is mounted again each time it opens, so that no earlier refusal is in it. Once confirmed, it
 * closes by itself only when the action is done, and a screen reader hears that.
 */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Button } from './button.tsx';
import { announce } from '../state/announcement.ts';
import { useAction, type Action } from '../state/store.ts';
import { ConfirmActions, Dialog } from './dialog.tsx';
import { Refused } from './notice.tsx';

interface ConfirmedActionProps {
  /** On the button that asks. */
  readonly button: string;
  /** The same for a screen reader, with what it is about. */
  readonly label: string;
  readonly title: string;
  /** What happens then. */
  readonly what: string;
  /** Nothing is lost by it. */
  readonly isMild?: boolean;
  /** On the button that does it. */
  readonly confirm: string;
  /** Said once it is done. */
  readonly done: string;
  /** Undefined where it was refused. */
  readonly run: (action: Action) => Promise<object | undefined>;
  /** In the dialog: what it is about. */
  readonly children?: ComponentChildren;
}

export function ConfirmedAction(props: ConfirmedActionProps) {
  const [isAsking, ask] = useState(false);
  return (
    <>
      <Button
        text={props.button}
        class={props.isMild ? '' : 'danger'}
        label={props.label}
        onPress={() => ask(true)}
      />
      {isAsking && <Question {...props} onClose={() => ask(false)} />}
    </>
  );
}

type QuestionProps = ConfirmedActionProps & { readonly onClose: () => void };

function Question({ title, what, confirm, done, run, children, onClose }: QuestionProps) {
  const action = useAction();
  const confirmed = async (): Promise<void> => {
    if (!(await run(action))) return;
    onClose();
    announce(done);
  };
  return (
    <Dialog title={title} onClose={onClose}>
      {children}
      <p>{what}</p>
      <Refused refusal={action.refusal} />
      <ConfirmActions confirm={confirm} isBusy={action.isBusy} onCancel={onClose} onConfirm={confirmed} />
    </Dialog>
  );
}
