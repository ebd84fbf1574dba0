/**
 * The API keys there are, below the grants: where each goes, who may have it, and its end. A key itself never reaches
 * a window.
 */
import { CardList } from '../../lists/card-list.tsx';
import { ConfirmedAction } from '../../parts/confirmed-action.tsx';
import { Fact, Facts } from '../../parts/facts.tsx';
import { KeyPlace } from '../../parts/key-place.tsx';
import { Address, UntrustedLines } from '../../parts/untrusted-text.tsx';
import { sanitizeLabel } from '../../base/untrusted-text.ts';
import { Notice } from '../../parts/notice.tsx';
import { Refused } from '../../parts/refused.tsx';
import { useList } from '../../state/store.ts';
import { strings } from '../../base/strings.ts';
import type { ListedKey } from '../../base/views.ts';
import { When } from '../../parts/when.tsx';

const words = strings.apiKeys;

/** Nothing at all where there are none: most people never have one. */
export function ApiKeys() {
  const { value, refusal } = useList('key.list');
  const keys = value?.keys ?? [];
  if (keys.length === 0 && refusal === undefined) return null;
  return (
    <section class="card" aria-labelledby="keys-title">
      <h3 id="keys-title">{words.title}</h3>
      <p class="dim small">{words.hint}</p>
      <Refused refusal={refusal} />
      <CardList
        kind="permissions"
        items={keys}
        keyOf={({ resource }) => resource}
        show={(key) => <ApiKey of={key} />}
      />
    </section>
  );
}

function ApiKey({ of }: { readonly of: ListedKey }) {
  const { resource, setAt, refusedAt, unchecked, clients } = of;
  return (
    <div class="permission">
      <div class="permission-what">
        <p class="permission-head">
          <Address url={resource} />
        </p>
        <Facts>
          <Fact name={words.header}>
            <KeyPlace of={of} />
          </Fact>
          <Fact name={words.set}>
            <When at={setAt} />
          </Fact>
          <Fact name={strings.servers.usedBy}>
            {clients.length === 0 ? strings.servers.usedByNobody : <UntrustedLines texts={clients} />}
          </Fact>
        </Facts>
        {unchecked && <p class="dim small">{words.unchecked}</p>}
        {refusedAt !== undefined && (
          <Notice kind="warn">
            {words.refused} <When at={refusedAt} />
          </Notice>
        )}
      </div>
      <Removal resource={resource} />
    </div>
  );
}

function Removal({ resource }: Pick<ListedKey, 'resource'>) {
  return (
    <div class="actions">
      <ConfirmedAction
        button={words.remove}
        label={words.removeAt(sanitizeLabel(resource))}
        title={words.removeTitle}
        what={words.removeWhat}
        confirm={words.removeConfirm}
        done={words.removed(sanitizeLabel(resource))}
        run={(action) => action.run('key.remove', { resource })}
      >
        <p>
          <Address url={resource} />
        </p>
      </ConfirmedAction>
    </div>
  );
}
