/**
 * The proxies: addresses of this computer for apps that can hold no key. Add one, copy its address, give it another,
 * remove it.
 *
 * Invariant: the address itself never reaches the window; the main process copies it.
 */
import { useState } from 'preact/hooks';
import { Button } from '../../parts/button.tsx';
import { announce } from '../../state/announcement.ts';
import { useAction } from '../../state/store.ts';
import { LongList } from '../../lists/long-list.tsx';
import { ListRow } from '../../lists/list-row.tsx';
import { ConfirmedAction } from '../../parts/confirmed-action.tsx';
import { AddressFact, Fact, Facts, TextFact } from '../../parts/facts.tsx';
import { Field, FoldedForm } from '../../parts/field.tsx';
import { Notice, Refused } from '../../parts/notice.tsx';
import { Name } from '../../parts/untrusted-text.tsx';
import { When } from '../../parts/when.tsx';
import { sanitizeLabel } from '../../base/untrusted-text.ts';
import { strings } from '../../base/strings.ts';
import type { ListedProxy, Status } from '../../base/views.ts';

const words = strings.proxies;

export function Proxies({ status: { proxies } }: { readonly status: Status }) {
  return (
    <section class="card" aria-labelledby="proxies-title">
      <h3 id="proxies-title">{words.title}</h3>
      <p class="dim small">{words.hint}</p>
      {proxies.length === 0 ? (
        <p class="dim">{words.none}</p>
      ) : (
        <LongList
          class="permissions"
          items={proxies}
          keyOf={({ id }) => id}
          show={(proxy) => <Proxy proxy={proxy} />}
        />
      )}
      <ProxyForm />
    </section>
  );
}

function Proxy({ proxy }: { readonly proxy: ListedProxy }) {
  const { name, resource, port, state, lastUsedAt } = proxy;
  const trouble = words.states[state];
  return (
    <ListRow head={<Name text={name} />} actions={<ProxyActions proxy={proxy} />}>
      <Facts>
        <AddressFact name={strings.card.server} url={resource} />
        <Fact name={words.port}>{String(port)}</Fact>
        <Fact name={strings.apps.lastUsed}>
          {lastUsedAt === undefined ? strings.never : <When at={lastUsedAt} />}
        </Fact>
      </Facts>
      {trouble !== undefined && <Notice kind="warn">{trouble}</Notice>}
    </ListRow>
  );
}

function ProxyActions({ proxy }: { readonly proxy: ListedProxy }) {
  const { id, resource } = proxy;
  const name = sanitizeLabel(proxy.name);
  const copying = useAction();
  const copy = () => copying.run('proxy.copy', { proxy: id }, words.copied({ name }));
  const which = (
    <Facts>
      <TextFact name={words.called} text={proxy.name} />
      <AddressFact name={strings.card.server} url={resource} />
    </Facts>
  );
  return (
    <div class="actions">
      <Button text={words.copy} label={words.copyOf({ name })} isBusy={copying.isBusy} onPress={copy} />
      <ConfirmedAction
        button={words.rotate}
        label={words.rotateOf({ name })}
        title={words.rotateTitle}
        what={words.rotateWhat}
        confirm={words.rotateConfirm}
        done={words.rotated({ name })}
        run={(action) => action.run('proxy.rotate', { proxy: id })}
      >
        {which}
      </ConfirmedAction>
      <ConfirmedAction
        button={words.remove}
        label={words.removeOf({ name })}
        title={words.removeTitle}
        what={words.removeWhat}
        confirm={words.removeConfirm}
        done={words.removed({ name })}
        run={(action) => action.run('proxy.remove', { proxy: id })}
      >
        {which}
      </ConfirmedAction>
      <Refused refusal={copying.refusal} />
    </div>
  );
}

function ProxyForm() {
  const [resource, setResource] = useState('');
  const [name, setName] = useState('');
  const action = useAction();
  const submit = async (): Promise<void> => {
    const named = name.trim() === '' ? {} : { name: name.trim() };
    const added = await action.run('proxy.add', { resource: resource.trim(), ...named });
    if (!added) return;
    setResource('');
    setName('');
    announce(words.added({ name: sanitizeLabel(added.proxy.name) }));
  };
  return (
    <FoldedForm title={words.add} submit={words.submit} class="primary" action={action} onSubmit={submit}>
      <div class="pair">
        <Field label={words.server} type="url" value={resource} onInput={setResource} isRequired />
        <Field label={words.name} hint={words.nameHint} value={name} onInput={setName} />
      </div>
    </FoldedForm>
  );
}
