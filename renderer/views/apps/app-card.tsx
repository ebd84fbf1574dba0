/** One app: what is known of it, when it was used, what it may reach. */
import { Path } from '../../parts/facts.tsx';
import { useMemo } from 'preact/hooks';
import { commandName } from '../../../words/app-kind.ts';
import { Caution } from '../../cards/base/requesting-app.tsx';
import { ConfirmedAction } from '../../parts/confirmed-action.tsx';
import { UntrustedText, Name } from '../../parts/untrusted-text.tsx';
import { sanitizeLabel } from '../../base/untrusted-text.ts';
import { useNow } from '../../state/now.ts';
import { PermissionRow } from './permission-row.tsx';
import { Mark } from '../../parts/state-mark.tsx';
import { strings } from '../../base/strings.ts';
import type { PairedApp } from '../../base/views.ts';
import { When } from '../../parts/when.tsx';

const words = strings.apps;

/** Seconds without use after which a user may no longer need an app (90 days). */
const idleAfter = 90 * 86_400;

/** Drawn again only for another app: a list of hundreds is read at every change. */
export function AppCard({ app }: { readonly app: PairedApp }) {
  return useMemo(() => <Card app={app} />, [app]);
}

function Card({ app }: { readonly app: PairedApp }) {
  const { name, permissions } = app;
  const isCommand = name === commandName;
  return (
    <article class="card">
      <header>
        <div class="card-title">
          <h3>
            <UntrustedText text={name} />
          </h3>
          {isCommand ? <p class="dim">{words.cli}</p> : <File app={app} />}
          {!isCommand && <Times app={app} />}
        </div>
        <IdleMark app={app} />
        {!isCommand && <Removal app={app} />}
      </header>
      <h4>{words.mayReach}</h4>
      {permissions.length === 0 ? (
        <p class="dim">{words.nothing}</p>
      ) : (
        <ul class="permissions">
          {permissions.map((permission, at) => (
            // One server may be there twice: until the user revokes it, and for one run.
            <li key={`${permission.resource} ${at}`}>
              <PermissionRow app={app} permission={permission} />
            </li>
          ))}
        </ul>
      )}
    </article>
  );
}

export function IdleMark({ app: { name, pairedAt, lastUsedAt } }: { readonly app: PairedApp }) {
  // The command was never paired, so nothing tells since when it is idle.
  const isIdle = useNow((now) => {
    const since = lastUsedAt ?? (name === commandName ? now : pairedAt);
    return now - since > idleAfter;
  });
  if (!isIdle) return null;
  return (
    <Mark tone="warn" icon="clock">
      {words.idle}
    </Mark>
  );
}

function File({ app: { executable, file, proxied } }: { readonly app: PairedApp }) {
  if (proxied) return <p class="dim small">{words.proxied}</p>;
  return (
    <>
      {executable !== undefined && (
        <p class="small">
          <span class="dim">{strings.card.file} </span>
          <Path text={executable} />
        </p>
      )}
      <Caution>{words.doubts[executable === undefined ? 'unverified' : (file ?? 'unverified')]}</Caution>
    </>
  );
}

function Times({ app: { pairedAt, lastUsedAt } }: { readonly app: PairedApp }) {
  return (
    <p class="times dim small">
      <span>
        {words.lastUsed} {lastUsedAt === undefined ? strings.never : <When at={lastUsedAt} />}
      </span>
      <span>
        {words.paired} <When at={pairedAt} />
      </span>
    </p>
  );
}

function Removal({ app: { appId, name } }: { readonly app: PairedApp }) {
  const label = sanitizeLabel(name);
  return (
    <ConfirmedAction
      button={words.remove}
      label={words.removeApp({ app: label })}
      title={words.removeTitle}
      what={words.removeWhat}
      confirm={words.removeConfirm}
      done={words.removed({ app: label })}
      run={(action) => action.run('app.remove', { app: appId })}
    >
      <p>
        <Name text={name} />
      </p>
    </ConfirmedAction>
  );
}
