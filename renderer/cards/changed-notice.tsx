/** Says on a card that it no longer says what it said at first. */
import { useChanged } from './armed.ts';
import { Notice } from '../parts/notice.tsx';
import { strings } from '../base/strings.ts';

export function ChangedNotice({ said }: { readonly said: string | undefined }) {
  const hasChanged = useChanged(said);
  return <div role="status">{hasChanged && <Notice kind="warn">{strings.card.changed}</Notice>}</div>;
}
