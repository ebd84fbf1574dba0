/** What is said of an option of the authorization server that can't be used. */
import { invalidOption as invalid } from '../../resource/base/option.ts';

/** Throws invalid_request. */
export function invalidOption(name: string, problem: string): never {
  return invalid(
    `${name} of authorizationServer`,
    problem,
    'The types of @keyturn/server/authorization describe each option.',
  );
}
