/**
 * Takes scopes away from a permission, or ends it.
 *
 * Invariant: saving only narrows: at least one scope fewer, at least one left, and never a later end. After a save it
 * waits for the list, so that the row below it shows what is left.
 */
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Button } from '../../parts/button.tsx';
import { announce, announceBriefly } from '../../state/announcement.ts';
import { call, listRead, rereadAll, useAction, type Action } from '../../state/store.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { Address, Name } from '../../parts/untrusted-text.tsx';
import { sanitizeLabel, sanitizeSentence } from '../../base/untrusted-text.ts';
import { Refused } from '../../parts/notice.tsx';
import { GuessNote, ScopeChoice } from '../../parts/scopes.tsx';
import { Form } from '../../parts/field.tsx';
import { strings } from '../../base/strings.ts';
import type { PairedApp, Permission } from '../../base/views.ts';

const words = strings.apps;

interface ManageAccessDialogProps {
  readonly app: PairedApp;
  readonly permission: Permission;
  /** Of what it may do now, that which can be taken away. */
  readonly names: readonly string[];
  readonly onClose: () => void;
}

export function ManageAccessDialog({ app, permission, names, onClose }: ManageAccessDialogProps) {
  const [kept, setKept] = useState(names);
  const action = useAction();
  const { resource, until } = permission;
  const about = { app: sanitizeLabel(app.name), server: sanitizeLabel(resource) };
  const [isSaved, setSaved] = useState(false);
  const isOpen = useRef(true);
  useLayoutEffect(() => () => void (isOpen.current = false), []);
  const canSave = !isSaved && !action.isBusy && kept.length > 0 && kept.length < names.length;
  const save = async (): Promise<void> => {
    if (!canSave) return;
    const reduced = { app: app.appId, resource, scope: kept.join(' '), until };
    if (!(await action.run('permission.set', { ...reduced, decision: 'allow' }))) return;
    setSaved(true);
    // "Undo" restores the permission that the row shows: the row must be current before the user can end it.
    await listRead('app.list');
    announce(words.narrowed(about));
    // The user may have closed this dialog meanwhile, and opened another.
    if (isOpen.current) onClose();
  };
  const revoke = async (): Promise<void> => {
    if (!(await revokePermission(action, app, permission))) return;
    onClose();
    if (canBeSetAnew(permission)) announceBriefly(words.ended(about), () => setAnew(app, permission));
    else announce(words.ended(about));
  };
  return (
    <Dialog title={words.manageTitle} onClose={onClose}>
      <Form onSubmit={save}>
        <p>
          <Name text={app.name} /> <Address url={resource} />
        </p>
        {names.length > 1 && (
          <>
            <p class="dim">{words.narrowHint}</p>
            <ScopeChoice names={names} kept={kept} onKeep={setKept} />
            <GuessNote names={names} />
          </>
        )}
        <Refused refusal={action.refusal} />
        <div class="actions">
          <Button text={words.end} class="danger first" onPress={revoke} />
          <Button text={strings.cancel} onPress={onClose} />
          {names.length > 1 && (
            <button type="submit" class="primary" disabled={!canSave}>
              {strings.save}
            </button>
          )}
        </div>
      </Form>
    </Dialog>
  );
}

/** Ends a permission or a denial. Undefined where it was refused. */
export function revokePermission(
  action: Action,
  { appId: app }: PairedApp,
  { apiKey, resource }: Permission,
  done?: string,
): Promise<object | undefined> {
  return action.run(apiKey ? 'apiKey.permission.revoke' : 'permission.revoke', { app, resource }, done);
}

/** `permission.set` has no words for one run or several accounts; a window sets no permission for an API key. */
function canBeSetAnew({ run, apiKey, accounts = [] }: Permission): boolean {
  return run === undefined && !apiKey && accounts.length <= 1;
}

/** The permission as it was before it ended. */
async function setAnew({ appId: app, name }: PairedApp, permission: Permission): Promise<void> {
  const { resource, scope, until, accounts: [account] = [] } = permission;
  const answer = await call('permission.set', {
    app,
    resource,
    decision: 'allow',
    scope,
    until,
    account,
  });
  announce(
    answer.ok
      ? words.restored({ app: sanitizeLabel(name), server: sanitizeLabel(resource) })
      : sanitizeSentence(answer.refusal.message),
  );
  rereadAll();
}
