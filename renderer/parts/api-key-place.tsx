/** Where an API key goes: `Authorization: Bearer …`. The key itself never reaches a window. */
import { UntrustedText } from './untrusted-text.tsx';
import type { ListedApiKey } from '../base/views.ts';

export function ApiKeyPlace({
  of: { header, scheme },
}: {
  readonly of: Pick<ListedApiKey, 'header' | 'scheme'>;
}) {
  return (
    <code>
      <UntrustedText text={`${header}: ${scheme === undefined ? '' : `${scheme} `}…`} />
    </code>
  );
}
