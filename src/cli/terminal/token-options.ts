/**
 * What commands that ask for tokens have in common: `token`, `headers`, `exec`.
 *
 * Invariant: the same option means the same in each of them.
 */
import { accountOption, scopeOption, type Statement } from './statement.ts';

/** `when`: where the options can be given. */
export const tokenOptions = (when = '') =>
  ({
    scope: scopeOption(`a scope that the token must have${when}`),
    account: accountOption(`which account, if you have several${when}`),
  }) as const satisfies Statement['options'];

/** Exit codes of a command that gets one token. */
export const tokenExits = {
  3: 'you are needed',
  4: 'denied',
  5: 'sign-in failed or refused by a rule',
  6: 'server unreachable',
  7: 'locked or paused',
  8: 'no broker',
  130: 'interrupted',
} as const satisfies Statement['exitCodes'];

export const noInputOption = { type: 'boolean', summary: 'never ask, never open a browser' } as const;

/** Of a command that may ask as another app. */
export const asOption = {
  type: 'string',
  value: 'NAME',
  summary: 'as the app of this name, not as cli',
} as const;

/** `usual`: the value without the option, if there is one. */
export const validityOption = (which: string, usual?: string) =>
  ({
    type: 'string',
    value: 'TIME',
    summary: `get a new one if ${which} is valid for less, e.g. 60s`,
    ...(usual === undefined ? {} : { more: ` (default ${usual})` }),
  }) as const;

export const timeoutOption = (what: string, usual: string) =>
  ({ type: 'string', value: 'TIME', summary: `${what}, e.g. 30s`, more: ` (default ${usual})` }) as const;
