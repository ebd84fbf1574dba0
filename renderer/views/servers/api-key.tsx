/**
 * One API key: where it goes, who may have it, and its end.
 *
 * Invariant: a key itself never reaches a window.
 */
import { ConfirmedAction } from '../../parts/confirmed-action.tsx';
import { Fact, Facts, ApiKeyPlace } from '../../parts/facts.tsx';
import { Address, UntrustedLines } from '../../parts/untrusted-text.tsx';
import { sanitizeLabel } from '../../base/untrusted-text.ts';
import { Notice } from '../../parts/notice.tsx';
import { Mark } from '../../parts/state-mark.tsx';
import { strings } from '../../base/strings.ts';
import type { ListedApiKey } from '../../base/views.ts';
import { When } from '../../parts/when.tsx';

const words = strings.apiKeys;

/** The item of a key among the servers. A sign-in's id has no colon. */
export const keyItem = (resource: string): string => `key:${resource}`;

export function ApiKey({ of }: { readonly of: ListedApiKey }) {
  const { resource, setAt, rejectedAt, unchecked, apps } = of;
  return (
    <article class="card">
      <header>
        <div class="card-title">
          <h3>
            <Address url={resource} />
          </h3>
          <p class="dim">{words.hint}</p>
        </div>
        <Mark tone={rejectedAt === undefined ? 'good' : 'warn'} icon="key">
          {strings.servers.apiKey}
        </Mark>
      </header>
      {rejectedAt !== undefined && (
        <Notice kind="warn">
          {words.rejected} <When at={rejectedAt} />
        </Notice>
      )}
      <Facts isGrid>
        <Fact name={words.header}>
          <ApiKeyPlace of={of} />
        </Fact>
        <Fact name={words.set}>
          <When at={setAt} />
        </Fact>
        <Fact name={strings.servers.usedBy}>
          {apps.length === 0 ? strings.servers.usedByNobody : <UntrustedLines texts={apps} />}
        </Fact>
      </Facts>
      {unchecked && <p class="dim small">{words.unchecked}</p>}
      <Removal resource={resource} />
    </article>
  );
}

function Removal({ resource }: Pick<ListedApiKey, 'resource'>) {
  return (
    <div class="actions">
      <ConfirmedAction
        button={words.remove}
        label={words.removeAt({ server: sanitizeLabel(resource) })}
        title={words.removeTitle}
        what={words.removeWhat}
        confirm={words.removeConfirm}
        done={words.removed({ server: sanitizeLabel(resource) })}
        run={(action) => action.run('apiKey.remove', { resource })}
      >
        <p>
          <Address url={resource} />
        </p>
      </ConfirmedAction>
    </div>
  );
}
