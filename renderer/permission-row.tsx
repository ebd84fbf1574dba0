/** One permission or denial of a program: what, until when; narrow it, end it, undo it. */
import { useState } from 'preact/hooks';
import { announce } from './announcement.ts';
import { useDeed } from './deed.ts';
import { Fact, Facts } from './facts.tsx';
import { Address } from './foreign.tsx';
import { fitLabel } from './foreign-text.ts';
import { NarrowDialog } from './narrow-dialog.tsx';
import { Refused } from './refused.tsx';
import { scopeNames, Scopes } from './scopes.tsx';
import { useList } from './store.ts';
import { strings } from './strings.ts';
import type { Grant, LocalClient, Permission } from './views.ts';
import { When } from './when.tsx';

const words = strings.programs;

interface PermissionRowProps {
  readonly program: LocalClient;
  readonly permission: Permission;
}

export function PermissionRow({ program, permission }: PermissionRowProps) {
  const { resource, decision, scope, until, run } = permission;
  const isDenied = decision === 'deny';
  return (
    <div class="permission">
      <p class="permission-head">
        <Address url={resource} />
        <span class={isDenied ? 'state state-denied' : 'state state-active'}>
          {isDenied ? words.denied : words.allowed}
        </span>
      </p>
      {!isDenied && (
        <Facts>
          <Fact name={strings.servers.scopes}>
            {scope === undefined ? (
              <span class="dim">{words.anyScope}</span>
            ) : (
              <Scopes names={scopeNames(scope)} />
            )}
          </Fact>
          <Fact name={words.until}>
            {run !== undefined && <span>{words.thisRun} </span>}
            {until !== undefined && <When at={until} />}
            {until === undefined && run === undefined && words.untilRevoked}
          </Fact>
        </Facts>
      )}
      <PermissionActions program={program} permission={permission} />
    </div>
  );
}

function PermissionActions({ program, permission }: PermissionRowProps) {
  const [isNarrowing, setNarrowing] = useState(false);
  const deed = useDeed();
  const name = fitLabel(program.name);
  const server = fitLabel(permission.resource);
  const isDenied = permission.decision === 'deny';
  const names = useNarrowable(permission);
  const end = async (): Promise<void> => {
    const { clientId: client } = program;
    if (!(await deed.run('permission.end', { client, resource: permission.resource }))) return;
    announce(isDenied ? words.undone(name, server) : words.ended(name, server));
  };
  return (
    <>
      <Refused refusal={deed.refusal} />
      <div class="actions">
        {names.length > 1 && (
          <button type="button" aria-label={words.narrowAt(name, server)} onClick={() => setNarrowing(true)}>
            {words.narrow}
          </button>
        )}
        <button
          type="button"
          class={isDenied ? '' : 'danger'}
          aria-label={isDenied ? words.undoAt(name, server) : words.endAt(name, server)}
          onClick={() => void end()}
        >
          {isDenied ? words.undo : words.end}
        </button>
      </div>
      {isNarrowing && (
        <NarrowDialog
          program={program}
          permission={permission}
          names={names}
          onClose={() => setNarrowing(false)}
        />
      )}
    </>
  );
}

/** The scopes that can be taken away. A permission for any scope reaches what was granted there. */
function useNarrowable({ resource, decision, scope, run }: Permission): string[] {
  const grants: readonly Grant[] = useList('grant.list').value?.grants ?? [];
  // A permission for one run has no other form on the wire: setting it would make it a lasting one.
  if (decision === 'deny' || run !== undefined) return [];
  if (scope !== undefined) return scopeNames(scope);
  return scopeNames(
    grants
      .filter((grant) => grant.endpoint === resource && grant.state !== 'revoked')
      .map((grant) => grant.scope)
      .join(' '),
  );
}
