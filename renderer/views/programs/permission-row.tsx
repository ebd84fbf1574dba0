/** One permission or denial of a program: what, until when; narrow it, end it, undo it. */
import { useState } from 'preact/hooks';
import { announce, announceBriefly } from '../../state/announcement.ts';
import { call } from '../../state/bridge.ts';
import { useAction } from '../../state/action.ts';
import { ListRow } from '../../lists/list-row.tsx';
import { Address, UntrustedText } from '../../parts/untrusted-text.tsx';
import { sanitizeLabel, sanitizeSentence } from '../../base/untrusted-text.ts';
import { KeyPlace } from '../../parts/key-place.tsx';
import { ReduceAccessDialog } from './reduce-access-dialog.tsx';
import { Refused } from '../../parts/refused.tsx';
import { scopeNames, Scopes } from '../../parts/scopes.tsx';
import { Mark } from '../../parts/state-mark.tsx';
import { rereadAll, useList } from '../../state/store.ts';
import { strings } from '../../base/strings.ts';
import type { Grant, LocalClient, Permission } from '../../base/views.ts';
import { When } from '../../parts/when.tsx';

const words = strings.programs;

interface PermissionRowProps {
  readonly program: LocalClient;
  readonly permission: Permission;
}

export function PermissionRow({ program, permission }: PermissionRowProps) {
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
      actions={<PermissionActions program={program} permission={permission} />}
    >
      <Accounts names={permission.accounts} />
      {isDenied && <p class="dim small">{words.deniedWhat}</p>}
      {permission.key && (
        <p class="dim">
          {words.key} <KeyPlace of={permission.key} />
        </p>
      )}
      {!isDenied && !permission.key && <Reach scope={scope} />}
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

/** Whose tokens the program gets there. */
function Accounts({ names = [] }: { readonly names?: Permission['accounts'] }) {
  if (names.length === 0) return null;
  return (
    <p class="dim small">
      {words.account}{' '}
      {names.map((name, at) => (
        <span key={name}>
          {at > 0 && ', '}
          <UntrustedText text={name} />
        </span>
      ))}
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

function PermissionActions({ program, permission }: PermissionRowProps) {
  const [isReducing, setReducing] = useState(false);
  const action = useAction();
  const name = sanitizeLabel(program.name);
  const server = sanitizeLabel(permission.resource);
  const isDenied = permission.decision === 'deny';
  const names = useRemovableScopes(permission);
  const end = async (): Promise<void> => {
    const { clientId: client } = program;
    const method = permission.key ? 'apiKey.permission.end' : 'permission.end';
    if (!(await action.run(method, { client, resource: permission.resource }))) return;
    if (isDenied) announce(words.undone({ program: name, server }));
    else if (!canBeSetAnew(permission)) announce(words.ended({ program: name, server }));
    else announceBriefly(words.ended({ program: name, server }), () => setAnew(program, permission));
  };
  return (
    <>
      <div class="actions">
        {names.length > 1 && (
          <button
            type="button"
            class="quiet"
            aria-label={words.narrowAt({ program: name, server })}
            onClick={() => setReducing(true)}
          >
            {words.narrow}
          </button>
        )}
        <button
          type="button"
          class={isDenied ? '' : 'danger'}
          aria-label={
            isDenied ? words.undoAt({ program: name, server }) : words.endAt({ program: name, server })
          }
          onClick={() => void end()}
        >
          {isDenied ? words.undo : words.end}
        </button>
      </div>
      <Refused refusal={action.refusal} />
      {isReducing && (
        <ReduceAccessDialog
          program={program}
          permission={permission}
          names={names}
          onClose={() => setReducing(false)}
        />
      )}
    </>
  );
}

/**
 * A permission for one run or for several accounts has no other form on the wire, and a window sets none for an API
 * key.
 */
function canBeSetAnew({ run, key, accounts = [] }: Permission): boolean {
  return run === undefined && !key && accounts.length <= 1;
}

/** The permission as it was before it ended. */
async function setAnew({ clientId: client, name }: LocalClient, permission: Permission): Promise<void> {
  const { resource, scope, until, accounts: [account] = [] } = permission;
  const answer = await call('permission.set', {
    client,
    resource,
    decision: 'allow',
    scope,
    until,
    account,
  });
  announce(
    answer.ok
      ? words.restored({ program: sanitizeLabel(name), server: sanitizeLabel(resource) })
      : sanitizeSentence(answer.refusal.message),
  );
  rereadAll();
}

/** The scopes that can be taken away. A permission for any scope reaches what was granted there. */
function useRemovableScopes({ resource, decision, scope, run, key }: Permission): string[] {
  const grants: readonly Grant[] = useList('signIn.list').value?.grants ?? [];
  // A permission for one run has no other form on the wire: setting it would make it a lasting one.
  if (decision === 'deny' || run !== undefined || key) return [];
  if (scope !== undefined) return scopeNames(scope);
  return scopeNames(
    grants
      .filter((grant) => grant.endpoint === resource && grant.state !== 'revoked')
      .map((grant) => grant.scope)
      .join(' '),
  );
}
