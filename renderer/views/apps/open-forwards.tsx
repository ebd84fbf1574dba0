/**
 * The forwards that are open now: which machine or sandbox may ask, for what and until when. Each has a button that ends
 * it.
 *
 * Invariant: a list that can't be read, or not yet, is not shown as an empty one.
 */
import { LongList } from '../../lists/long-list.tsx';
import { ListRow } from '../../lists/list-row.tsx';
import { ConfirmedAction } from '../../parts/confirmed-action.tsx';
import { Fact, Facts, TextFact } from '../../parts/facts.tsx';
import { Refused } from '../../parts/notice.tsx';
import { UntrustedLines, UntrustedText, Name } from '../../parts/untrusted-text.tsx';
import { When } from '../../parts/when.tsx';
import { strings } from '../../base/strings.ts';
import { sanitizeLabel } from '../../base/untrusted-text.ts';
import type { OpenForward } from '../../base/views.ts';
import { useList } from '../../state/store.ts';

const words = strings.forwards;

/** Nothing while none is open. */
export function OpenForwards() {
  const { value } = useList('status');
  return value?.forwards ? <ForwardList /> : null;
}

function ForwardList() {
  const { value, refusal } = useList('forward.list');
  return (
    <section class="card" aria-labelledby="forwards-title">
      <h3 id="forwards-title">{words.title}</h3>
      <p class="dim small">{words.hint}</p>
      <Refused refusal={refusal} />
      {value && value.forwards.length > 0 && (
        <LongList
          class="permissions"
          items={value.forwards}
          keyOf={({ id }) => id}
          show={(forward) => <Forward forward={forward} />}
        />
      )}
    </section>
  );
}

function Forward({ forward }: { readonly forward: OpenForward }) {
  const { id, label, until } = forward;
  const name = sanitizeLabel(label);
  return (
    <ListRow
      head={<Name text={label} />}
      actions={
        <div class="actions">
          <ConfirmedAction
            button={words.end}
            label={words.endOf({ name })}
            title={words.endTitle}
            what={words.endWhat}
            confirm={words.end}
            done={words.ended({ name })}
            run={(action) => action.run('forward.end', { forward: id })}
          >
            <Facts>
              <TextFact name={strings.command.forward} text={label} />
              <Reach of={forward} />
            </Facts>
          </ConfirmedAction>
        </div>
      }
    >
      <Facts>
        <Reach of={forward} />
        <Fact name={words.until}>
          <When at={until} />
        </Fact>
      </Facts>
    </ListRow>
  );
}

/** Which machine it is, and what its apps may ask for. */
function Reach({ of: { hostKey, resources } }: { readonly of: OpenForward }) {
  return (
    <>
      <Fact name={strings.command.hostKey}>
        {hostKey === undefined ? strings.command.sandbox : <UntrustedText text={hostKey} />}
      </Fact>
      <Fact name={words.servers}>
        <UntrustedLines texts={resources} />
      </Fact>
    </>
  );
}
