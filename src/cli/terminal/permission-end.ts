/** Reminds a person at a terminal that the end of a permission revokes no token. A script needs no reminder. */
import { say } from './output.ts';

/** `what`: the command that revokes. */
export function sayNothingRevoked(what: string): void {
  if (process.stdout.isTTY) say(`keyturn: nothing was revoked at the server; ${what} does that.`);
}
