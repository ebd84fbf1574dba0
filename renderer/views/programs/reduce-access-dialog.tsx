/**
 * Takes scopes away from a permission.
 *
 * Invariant: it only narrows: at least one scope fewer, at least one left, and never a later end. After a save it waits
 * for the list, so that the row below it shows what is left.
 */
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { announce } from '../../state/announcement.ts';
import { useAction } from '../../state/action.ts';
import { listRead } from '../../state/store.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { Address, UntrustedText } from '../../parts/untrusted-text.tsx';
import { sanitizeLabel } from '../../base/untrusted-text.ts';
import { Refused } from '../../parts/refused.tsx';
import { GuessNote, ScopeChoice } from '../../parts/scopes.tsx';
import { Form } from '../../parts/form.tsx';
import { strings } from '../../base/strings.ts';
import type { LocalClient, Permission } from '../../base/views.ts';

const words = strings.programs;

interface ReduceAccessDialogProps {
  readonly program: LocalClient;
  readonly permission: Permission;
  /** What it may do now. */
  readonly names: readonly string[];
  readonly onClose: () => void;
}

export function ReduceAccessDialog({ program, permission, names, onClose }: ReduceAccessDialogProps) {
  const [kept, setKept] = useState(names);
  const action = useAction();
  const { resource, until } = permission;
  const [isSaved, setSaved] = useState(false);
  const isOpen = useRef(true);
  useLayoutEffect(() => () => void (isOpen.current = false), []);
  const canSave = !isSaved && !action.isBusy && kept.length > 0 && kept.length < names.length;
  const save = async (): Promise<void> => {
    if (!canSave) return;
    const lasting = until === undefined ? {} : { until };
    const scope = kept.join(' ');
    const { clientId: client, name } = program;
    if (!(await action.run('permission.set', { client, resource, scope, decision: 'allow', ...lasting })))
      return;
    setSaved(true);
    // "Undo" restores the permission that the row shows: the row must be current before the person can end it.
    await listRead('app.list');
    announce(words.narrowed({ program: sanitizeLabel(name), server: sanitizeLabel(resource) }));
    // The person may have closed this dialog meanwhile, and opened another.
    if (isOpen.current) onClose();
  };
  return (
    <Dialog title={words.narrowTitle} onClose={onClose}>
      <Form onSubmit={save}>
        <p>
          <strong>
            <UntrustedText text={program.name} />
          </strong>{' '}
          <Address url={resource} />
        </p>
        <p class="dim">{words.narrowHint}</p>
        <ScopeChoice names={names} kept={kept} onKeep={setKept} />
        <GuessNote names={names} />
        <Refused refusal={action.refusal} />
        <div class="actions">
          <button type="button" onClick={onClose}>
            {strings.cancel}
          </button>
          <button type="submit" class="primary" disabled={!canSave}>
            {strings.save}
          </button>
        </div>
      </Form>
    </Dialog>
  );
}
