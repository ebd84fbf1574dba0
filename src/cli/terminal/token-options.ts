/**
 * What commands that ask for tokens have in common: `token`, `headers`, `exec`.
 *
 * Invariant: the same option means the same in each of them.
 */
import type { Statement } from './statement.ts';

/** `which`: the tokens that the command asks for, e.g. `the token`. */
export const tokenOptions = (which: string) =>
  ({
    scope: { type: 'string', value: '"A B"', summary: `scopes ${which} must carry` },
    account: { type: 'string', value: 'ACCOUNT', summary: 'which account, where you have several' },
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

export const unattendedOption = { type: 'boolean', summary: 'never ask, never open a browser' } as const;

/** Of a command that may ask as an entry. */
export const asOption = {
  type: 'string',
  value: 'NAME',
  summary: 'as an entry of this name, not as cli',
} as const;

/** `seconds`: what counts without the option, where there is such a number. */
export const validityOption = (which: string, seconds?: number) =>
  ({
    type: 'string',
    value: 'SECONDS',
    summary: `${which} must live at least this long`,
    ...(seconds === undefined ? {} : { more: ` (default ${seconds})` }),
  }) as const;

export const timeoutOption = (what: string, seconds: number) =>
  ({ type: 'string', value: 'SECONDS', summary: what, more: ` (default ${seconds})` }) as const;
