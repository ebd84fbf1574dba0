/** One permission or denial of an app: what, until when; narrow it, end it, undo it. */
import { useState } from 'preact/hooks';
import { Button } from '../../parts/button.tsx';
import { useAction, useList } from '../../state/store.ts';
import { ListRow } from '../../lists/list-row.tsx';
import { Address, TextList, UntrustedText } from '../../parts/untrusted-text.tsx';
import { sanitizeLabel } from '../../base/untrusted-text.ts';
import { ApiKeyPlace } from '../../parts/facts.tsx';
import { revokePermission, ManageAccessDialog } from './manage-access-dialog.tsx';
import { Refused } from '../../parts/notice.tsx';
import { Scopes } from '../../parts/scopes.tsx';
import { scopeNames } from '../../base/scopes.ts';
import { Mark } from '../../parts/state-mark.tsx';
import { strings } from '../../base/strings.ts';
import type { SignIn, PairedApp, Permission } from '../../base/views.ts';
import { When } from '../../parts/when.tsx';

const words = strings.apps;

interface PermissionRowProps {
  readonly app: PairedApp;
  readonly permission: Permission;
}

export function PermissionRow({ app, permission }: PermissionRowProps) {
  const { resource, decision, scope } = permission;
  const isDenied = decision === 'deny';
  return (
    <ListRow
      head={
        <>
          <Address url={resource} />
          <Mark tone={isDenied ? 'bad' : 'good'} icon={isDenied ? 'no' : 'check'}>
            {isDenied ? words.denied : words.allowed}
          </Mark>
        </>
      }
      actions={<PermissionActions app={app} permission={permission} />}
    >
      <Accounts of={permission} />
      {isDenied && <p class="dim small">{words.deniedWhat}</p>}
      {permission.apiKey && (
        <p class="dim">
          {words.key} <ApiKeyPlace of={permission.apiKey} />
        </p>
      )}
      {!isDenied && !permission.apiKey && <Reach scope={scope} />}
      <DeniedBesides of={permission} />
      {!isDenied && (
        <p class="dim small">
          <Until permission={permission} />
        </p>
      )}
    </ListRow>
  );
}

function Reach({ scope }: Pick<Permission, 'scope'>) {
  return scope === undefined ? <p class="dim">{words.anyScope}</p> : <Scopes names={scopeNames(scope)} />;
}

/** Whose tokens the app gets there. */
function Accounts({ of: { accounts = [], issuers } }: { readonly of: Permission }) {
  if (accounts.length === 0) return null;
  return (
    <p class="dim small">
      {words.account}{' '}
      {accounts.map((name, at) => (
        <span key={`${at} ${name}`}>
          {at > 0 && ', '}
          <UntrustedText text={name} />
          {issuers && (
            <>
              {' ('}
              <Address url={issuers[at] ?? ''} />)
            </>
          )}
        </span>
      ))}
    </p>
  );
}

/** What the user denied of what the app asked for besides. */
function DeniedBesides({ of: { deniedAccounts = [], deniedScope = '' } }: { readonly of: Permission }) {
  const names = [...deniedAccounts, ...scopeNames(deniedScope)];
  if (names.length === 0) return null;
  return (
    <p class="dim small">
      {words.deniedBesides} <TextList texts={names} />
    </p>
  );
}

function Until({ permission: { until, run } }: { readonly permission: Permission }) {
  if (run === undefined) {
    return until === undefined ? (
      words.untilRevoked
    ) : (
      <>
        {words.ends} <When at={until} />
      </>
    );
  }
  return (
    <>
      {run.pid === undefined ? words.thisRun : words.thisRunOf({ pid: String(run.pid) })}
      {until !== undefined && (
        <>
          , {words.atLatest} <When at={until} />
        </>
      )}
    </>
  );
}

function PermissionActions({ app, permission }: PermissionRowProps) {
  const [isOpen, open] = useState(false);
  const action = useAction();
  const names = useRemovableScopes(permission);
  const about = { app: sanitizeLabel(app.name), server: sanitizeLabel(permission.resource) };
  const undo = () => revokePermission(action, app, permission, words.undone(about));
  const isDenied = permission.decision === 'deny';
  return (
    <>
      <div class="actions">
        <Button
          text={isDenied ? words.undo : words.manage}
          label={isDenied ? words.undoAt(about) : words.manageAt(about)}
          onPress={() => (isDenied ? undo() : open(true))}
        />
      </div>
      <Refused refusal={action.refusal} />
      {isOpen && (
        <ManageAccessDialog app={app} permission={permission} names={names} onClose={() => open(false)} />
      )}
    </>
  );
}

/** The scopes that can be taken away. A permission for any scope reaches what was granted there. */
function useRemovableScopes({ resource, decision, scope, run, apiKey: key }: Permission): string[] {
  const signIns: readonly SignIn[] = useList('signIn.list').value?.signIns ?? [];
  // A permission for one run has no other form on the wire: setting it would make it a lasting one.
  if (decision === 'deny' || run !== undefined || key) return [];
  if (scope !== undefined) return scopeNames(scope);
  return scopeNames(
    signIns
      .filter((signIn) => signIn.endpoint === resource && signIn.state !== 'revoked')
      .map((signIn) => signIn.scope)
      .join(' '),
  );
}
