/** What the end of a permission doesn't do: said to a person, not to a script, which knows what it does. */
import { say } from './output.ts';

/** `what`: how to have it done all the same. */
export function sayNothingRevoked(what: string): void {
  if (process.stdout.isTTY) say(`keyturn: nothing was revoked at the server; ${what} does that.`);
}
