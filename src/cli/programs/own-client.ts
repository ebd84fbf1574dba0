/** What a sign-in with a client that you registered by hand says on the terminal. */
import { quoted } from '../../base/errors.ts';
import type { Waivable } from '../../daemon/own-client.ts';
import { say } from '../terminal/output.ts';

const waivers: Readonly<Record<Waivable, string>> = {
  'no-pkce-metadata':
    'The metadata of its authorization server says nothing of PKCE. Keyturn uses it all the same.',
  'no-resource': 'Its authorization server takes no `resource` parameter. Keyturn leaves it out there.',
};

export const says = {
  redirect: (issuer: string, redirectUri: string): void =>
    say(`keyturn: at ${quoted(issuer)} this client needs the redirect URI ${redirectUri}`),
  waived: (name: Waivable): void => say(`keyturn: ${waivers[name]} (keyturn override takes that back.)`),
};
