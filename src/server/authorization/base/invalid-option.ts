/** What is said of an option of the authorization server that can't be used. */
import * as option from '../../resource/base/option.ts';

const hint = 'The types of @keyturn/server/authorization describe each option.';

/** Throws invalid_request. */
export function invalidOption(name: string, problem: string): never {
  return option.invalidOption(`${name} of authorizationServer`, problem, hint);
}

/** What `read` answers. Throws invalid_request with its message. */
export function readOption<T>(name: string, read: () => T, advice = hint): T {
  return option.readOption(`${name} of authorizationServer`, advice, read);
}
