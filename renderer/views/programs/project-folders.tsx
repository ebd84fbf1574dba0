/**
 * The folders whose project file may choose an account, as the person confirmed. Each is taken back with one press.
 *
 * Invariant: a list that can't be read is not shown as an empty one.
 */
import { CardList } from '../../lists/card-list.tsx';
import { ListRow } from '../../lists/list-row.tsx';
import { maxPathLength } from '../../cards/base/requesting-program.tsx';
import { ConfirmedAction } from '../../parts/confirmed-action.tsx';
import { Fact, Facts } from '../../parts/facts.tsx';
import { Refused } from '../../parts/refused.tsx';
import { Address, UntrustedText } from '../../parts/untrusted-text.tsx';
import { When } from '../../parts/when.tsx';
import { strings } from '../../base/strings.ts';
import { sanitizeLabel } from '../../base/untrusted-text.ts';
import type { ConfirmedFolder, Refusal } from '../../base/views.ts';
import { useList } from '../../state/store.ts';

const words = strings.projectFolders;

/** Nothing while there is none. `said`: a refusal that the view shows already. */
export function ProjectFolders({ said }: { readonly said: Refusal | undefined }) {
  const { value, refusal } = useList('folder.list');
  const folders = value?.folders ?? [];
  const unsaid = said === undefined ? refusal : undefined;
  if (folders.length === 0 && unsaid === undefined) return null;
  return (
    <section class="card" aria-labelledby="folders-title">
      <h3 id="folders-title">{words.title}</h3>
      <p class="dim small">{words.hint}</p>
      <Refused refusal={unsaid} />
      {folders.length > 0 && (
        <CardList
          kind="permissions"
          items={folders}
          keyOf={({ folder, resource }) => `${folder} ${resource}`}
          show={(confirmed) => <Folder confirmed={confirmed} />}
        />
      )}
    </section>
  );
}

function Folder({ confirmed }: { readonly confirmed: ConfirmedFolder }) {
  const { folder, resource, confirmedAt } = confirmed;
  const name = sanitizeLabel(folder);
  return (
    <ListRow
      actions={
        <div class="actions">
          <ConfirmedAction
            button={words.end}
            label={words.endOf({ folder: name })}
            title={words.endTitle}
            what={words.endWhat}
            confirm={words.endConfirm}
            done={words.ended({ folder: name })}
            run={(action) => action.run('folder.end', { folder, resource })}
          >
            <Choice of={confirmed} />
          </ConfirmedAction>
        </div>
      }
    >
      <Choice of={confirmed} />
      <p class="dim small">
        {words.confirmed} <When at={confirmedAt} />
      </p>
    </ListRow>
  );
}

/** Which folder chooses which account, and where. */
function Choice({ of: { folder, resource, account } }: { readonly of: ConfirmedFolder }) {
  return (
    <Facts>
      <Fact name={words.folder}>
        <span class="path">
          <UntrustedText text={folder} bound={maxPathLength} />
        </span>
      </Fact>
      <Fact name={words.server}>
        <Address url={resource} />
      </Fact>
      <Fact name={words.account}>
        <UntrustedText text={account} />
      </Fact>
    </Facts>
  );
}
