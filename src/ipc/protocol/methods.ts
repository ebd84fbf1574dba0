/**
 * The methods of the wire, one row each, in files by subject; what each does is in daemon/methods/. For the broker, the
 * `keyturn` command and the windows; apps read answers with the guards of ../wire/.
 *
 * Invariants: a request reaches the broker only as the output of its `params` schema. Every string in params has a
 * maximum length. Unknown fields are dropped, so that a newer app can speak to an older broker.
 */
import * as z from 'zod';
import { appMethods } from './app-methods.ts';
import { signInMethods } from './sign-in-methods.ts';
import { homeMethods } from './home-methods.ts';
import { apiKeyMethods } from './api-key-methods.ts';
import type { Method } from './method.ts';
import { tokenMethods } from './token-methods.ts';
import { vaultMethods } from './vault-methods.ts';

export const methods = {
  ...tokenMethods,
  ...signInMethods,
  ...appMethods,
  ...apiKeyMethods,
  ...homeMethods,
  ...vaultMethods,
} as const satisfies Record<string, Method>;

export type MethodName = keyof typeof methods;
export type ParamsOf<M extends MethodName> = z.output<(typeof methods)[M]['params']>;
export type ResultOf<M extends MethodName> = DeepReadonly<z.input<(typeof methods)[M]['result']>>;

type DeepReadonly<T> = T extends object ? { readonly [K in keyof T]: DeepReadonly<T[K]> } : T;

type MethodOf<Effect> = {
  [M in MethodName]: (typeof methods)[M]['effect'] extends Effect ? M : never;
}[MethodName];

export type WideningMethod = MethodOf<'widens' | 'mayWiden'>;

/** Those for which the params decide. */
export type MaybeWideningMethod = MethodOf<'mayWiden'>;

export function isMethod(value: string): value is MethodName {
  return Object.hasOwn(methods, value);
}

/** A method's row, typed so that the flags that it leaves out can be read. */
export function methodRow(method: MethodName): Method {
  return methods[method];
}

/** True for a method that widens access, or may, depending on its params. */
export function isWidening(method: MethodName): method is WideningMethod {
  const { effect } = methods[method];
  return effect === 'widens' || effect === 'mayWiden';
}

/** True for a method that widens access whatever its params are. */
export function alwaysWidens(method: MethodName): boolean {
  return methods[method].effect === 'widens';
}

/** True if a successful call may change a list that a window shows. What `asks` methods change is told where it happens. */
export function changesLists(method: MethodName): boolean {
  const { effect, changesNoList } = methodRow(method);
  return (effect === 'reduces' || isWidening(method)) && !changesNoList;
}

/** A result with a warning: the change is in effect, but something is left to do; or the records are `notVerified`. */
export const warned = z.object({ warning: z.string() });

/** Said beside records that are shown before the vault has verified the home's document. */
export const notVerified =
  'not verified: nothing was read from the vault since the start, so lists show only what the file says.';

/** The notifications that the owner gets after `subscribe`. Each says only that a list, or the status, should be read again. */
export const notifications = ['signIn.changed', 'request.changed', 'status.changed'] as const;
