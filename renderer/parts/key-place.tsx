/** Where an API key goes: `Authorization: Bearer …`. The key itself never reaches a window. */
import { UntrustedText } from './untrusted-text.tsx';
import type { ListedKey } from '../base/views.ts';

export function KeyPlace({ of: { header, scheme } }: { readonly of: Pick<ListedKey, 'header' | 'scheme'> }) {
  return (
    <code>
      <UntrustedText text={`${header}: ${scheme === undefined ? '' : `${scheme} `}…`} />
    </code>
  );
}
