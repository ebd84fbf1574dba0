/** Says on a card that its content has changed since it was first complete. */
import { useHasChanged } from './approval-delay.ts';
import { Notice } from '../../parts/notice.tsx';
import { strings } from '../../base/strings.ts';

export function ChangedNotice({ content }: { readonly content: string | undefined }) {
  const hasChanged = useHasChanged(content);
  return <div role="status">{hasChanged && <Notice kind="warn">{strings.card.changed}</Notice>}</div>;
}
