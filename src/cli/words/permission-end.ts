/**
 * Reminds a user at a terminal that the end of a permission revokes no token and no key. A script needs no reminder.
 */
import { say } from '../terminal/output.ts';

/** `what`: the command that revokes. */
export function sayNothingRevoked(what: string): void {
  if (process.stdout.isTTY) say(`keyturn: nothing was revoked at the server; ${what} does that.`);
}

/** The same for an API key: it has no end, and the app may have kept it. */
export function sayApiKeyStays(): void {
  if (process.stdout.isTTY)
    say(
      'keyturn: the API key itself stays valid. If the app must not use it any more, revoke it at the server.',
    );
}
