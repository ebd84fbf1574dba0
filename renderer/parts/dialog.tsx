/**
 * A modal dialog: the browser's own, which keeps the focus inside and closes at Escape.
 *
 * Invariant: it takes the focus in the moment it is drawn, and gives it back in the moment it goes; where the element
 * that had it before is gone too, main.tsx gives it to the view. Later, after the next paint, the user may already
 * have moved the focus, and a key pressed since would reach another element than the one they chose.
 */
import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';
import { Button } from './button.tsx';
import { strings } from '../base/strings.ts';

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

export function Dialog({ title, onClose, children }: DialogProps) {
  const id = useId();
  return (
    <dialog
      ref={openModal}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
    >
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  );
}

interface ConfirmActionsProps {
  /** On the button that does it. */
  readonly confirm: string;
  readonly isBusy: boolean;
  readonly onCancel: () => void;
  readonly onConfirm: () => Promise<void>;
}

/** The end of a dialog that asks before something is taken away. */
export function ConfirmActions({ confirm, isBusy, onCancel, onConfirm }: ConfirmActionsProps) {
  return (
    <div class="actions">
      <Button text={strings.cancel} onPress={onCancel} />
      <Button text={confirm} class="danger filled" isBusy={isBusy} onPress={onConfirm} />
    </div>
  );
}

/** The end of a dialog that has told everything. */
export function CloseAction({ onClose }: { readonly onClose: () => void }) {
  return (
    <div class="actions">
      <Button text={strings.close} class="primary" onPress={onClose} />
    </div>
  );
}

/**
 * A ref: Preact sets it as soon as the dialog is drawn, before the layout effects of what is inside, and runs what it
 * answers before the dialog is removed. `close` gives the focus back to what had it at `showModal`.
 */
function openModal(dialog: HTMLDialogElement | null): () => void {
  dialog?.showModal();
  return () => dialog?.close();
}
