/** The name of an account, as the server gave it. */
import { strings } from '../base/strings.ts';
import { UntrustedText } from './untrusted-text.tsx';

/** The broker's word for an account that nobody named. */
export const unnamed = 'default';

export function AccountName({ name = unnamed }: { readonly name: string | undefined }) {
  if (name !== unnamed) return <UntrustedText text={name} />;
  return <span class="dim">{strings.servers.accountDefault}</span>;
}
