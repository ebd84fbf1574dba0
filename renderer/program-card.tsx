/** One local client: what is known of it, when it was used, what it may reach. */
import { useState } from 'preact/hooks';
import { commandName } from './allowance.ts';
import { announce } from './announcement.ts';
import { useDeed } from './deed.ts';
import { Dialog } from './dialog.tsx';
import { Fact, Facts } from './facts.tsx';
import { Foreign } from './foreign.tsx';
import { fitLabel } from './foreign-text.ts';
import { useNow } from './now.ts';
import { PermissionRow } from './permission-row.tsx';
import { Refused } from './refused.tsx';
import { strings } from './strings.ts';
import type { LocalClient } from './views.ts';
import { When } from './when.tsx';

const words = strings.programs;

/** Seconds without use after which a person should look whether a program is still needed (90 days). */
const reviewAfter = 90 * 86_400;

/** Characters of a path. */
const longestPath = 300;

export function ProgramCard({ program }: { readonly program: LocalClient }) {
  const { name, permissions, pairedAt, lastUsedAt } = program;
  const now = useNow();
  const isCommand = name === commandName;
  // The command was never paired, so nothing tells since when it lies idle.
  const since = lastUsedAt ?? (isCommand ? now : pairedAt);
  const isIdle = now - since > reviewAfter;
  return (
    <article class="card">
      <header>
        <h3>
          <Foreign text={name} />
        </h3>
        {isIdle && (
          <span class="state state-loginRequired" title={words.reviewWhat}>
            {words.review}
            <span class="visually-hidden">: {words.reviewWhat}</span>
          </span>
        )}
        {!isCommand && <Removal program={program} />}
      </header>
      {isCommand ? <p class="dim">{words.cli}</p> : <Identity program={program} />}
      <h4>{words.mayReach}</h4>
      {permissions.length === 0 ? (
        <p class="dim">{words.nothing}</p>
      ) : (
        <ul class="permissions">
          {permissions.map((permission) => (
            <li key={permission.resource}>
              <PermissionRow program={program} permission={permission} />
            </li>
          ))}
        </ul>
      )}
    </article>
  );
}

function Identity({ program: { executable, pairedAt, lastUsedAt } }: { readonly program: LocalClient }) {
  return (
    <Facts>
      <Fact name={words.file}>
        {executable === undefined ? (
          <>
            <span class="tag warn">{words.unverified}</span> <span class="dim">{words.unverifiedWhat}</span>
          </>
        ) : (
          <>
            <code>
              <Foreign text={executable} bound={longestPath} />
            </code>{' '}
            <span class="tag">{words.attested}</span>
          </>
        )}
      </Fact>
      <Fact name={words.paired}>
        <When at={pairedAt} />
      </Fact>
      <Fact name={words.lastUsed}>
        {lastUsedAt === undefined ? <span class="dim">{strings.never}</span> : <When at={lastUsedAt} />}
      </Fact>
    </Facts>
  );
}

function Removal({ program: { clientId, name } }: { readonly program: LocalClient }) {
  const [isAsking, ask] = useState(false);
  const deed = useDeed();
  const label = fitLabel(name);
  const remove = async (): Promise<void> => {
    if (!(await deed.run('client.remove', { client: clientId }))) return;
    ask(false);
    announce(words.removed(label));
  };
  return (
    <>
      <button type="button" class="danger" aria-label={words.removeProgram(label)} onClick={() => ask(true)}>
        {words.remove}
      </button>
      {isAsking && (
        <Dialog title={words.removeTitle} onClose={() => ask(false)}>
          <p>
            <strong>
              <Foreign text={name} />
            </strong>
          </p>
          <p>{words.removeWhat}</p>
          <Refused refusal={deed.refusal} />
          <div class="actions">
            <button type="button" onClick={() => ask(false)}>
              {strings.cancel}
            </button>
            <button type="button" class="danger filled" onClick={() => void remove()}>
              {words.removeConfirm}
            </button>
          </div>
        </Dialog>
      )}
    </>
  );
}
