/**
 * What each method does to who may have what: beside the table of methods, one word each.
 *
 * Invariant: every method has its word, so none is forgotten where the person has to be asked.
 */
import type { MethodName } from './protocol.ts';

/**
 * `reads` shows, `narrows` takes away or ends. `asks` gives only what the person allows on a card, or what the caller's
 * own sign-in brings. `widens` gives somebody more than they had, or may do so.
 */
export type Effect = 'reads' | 'narrows' | 'asks' | 'widens';

export const effects = {
  'token.get': 'asks',
  'token.reject': 'narrows',
  'permission.release': 'narrows',
  'grant.list': 'reads',
  'grant.explain': 'reads',
  'grant.revoke': 'narrows',
  'client.list': 'reads',
  'client.remove': 'narrows',
  'permission.set': 'widens',
  'permission.end': 'widens',
  'registration.set': 'widens',
  'registration.list': 'reads',
  'registration.remove': 'narrows',
  'settings.get': 'reads',
  'settings.set': 'widens',
  'interaction.list': 'reads',
  'interaction.answer': 'widens',
  'login.start': 'widens',
  // At a desk its caller's own sign-in, which a card allowed: another client in it is registered at the same server.
  'login.answer': 'asks',
  'override.set': 'widens',
  'audit.tail': 'reads',
  'audit.verify': 'reads',
  'vault.lock': 'narrows',
  'vault.unlock': 'widens',
  'vault.passphrase': 'widens',
  status: 'reads',
  'home.reset': 'narrows',
  'daemon.stop': 'narrows',
  subscribe: 'reads',
} as const satisfies Record<MethodName, Effect>;

/** The methods that widen. */
export type WideningMethod = {
  [M in MethodName]: (typeof effects)[M] extends 'widens' ? M : never;
}[MethodName];

/** True for what gives somebody more than they had, or may, depending on its params. */
export function isWidening(method: MethodName): method is WideningMethod {
  return effects[method] === 'widens';
}

/** True for what may change a list that somebody shows. A refused token is in none. */
export function isChange(method: MethodName): boolean {
  return (effects[method] === 'narrows' || effects[method] === 'widens') && method !== 'token.reject';
}
