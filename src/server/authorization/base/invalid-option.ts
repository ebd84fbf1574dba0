/** What is said of an option that can't be used. The message repeats no value, since a value may be a secret. */
import { KeyturnError } from '../../../base/errors.ts';

/** Throws invalid_request. */
export function invalidOption(name: string, problem: string): never {
  throw new KeyturnError(
    'invalid_request',
    `The option ${name} of authorizationServer can't be used: ${problem}.`,
    {
      hint: 'docs/servers/authorization-server.md has a table of the options.',
    },
  );
}
