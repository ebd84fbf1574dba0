/** `keyturn revoke RESOURCE|GRANT`: ends grants, and says what the issuer answered. */
import { exitCodes } from '../../base/errors.ts';
import { parse } from '../terminal/arguments.ts';
import { ask } from '../broker/command.ts';
import type { Command } from '../broker/command.ts';
import { withGrant } from '../broker/named-grant.ts';
import { print, printJson, say } from '../terminal/output.ts';
import { sayIfSlow } from '../terminal/progress.ts';
import { receiptLine } from '../terminal/receipt.ts';

const help = `Usage: keyturn revoke RESOURCE|GRANT [OPTION]...
End a grant: on this machine at once, and at its issuer (RFC 7009).

      --account ACCOUNT  only this account's grant
      --json             print the receipts as JSON
  -h, --help             show this

Waits for the issuer's word, and exits with 0 once the grant is ended here.
Receipts: confirmed (the issuer ended the tokens), notOffered (it has no
revocation: end Keyturn's access in your account there), pending (it could not
be reached: tried again by itself for 30 days), abandoned (it could not be
reached in that time, or the vault had lost the tokens).

Example:
  keyturn revoke https://notes.example/mcp
`;

export const command: Command = {
  help,
  async run(args) {
    const { values, positionals } = parse(
      args,
      { account: { type: 'string' }, json: { type: 'boolean' } },
      { names: ['RESOURCE|GRANT'], command: 'revoke' },
    );
    const asked = withGrant(positionals[0] ?? '', values.account, (named) => ask('grant.revoke', named));
    const { revoked } = await sayIfSlow('keyturn: waiting for the issuer…', asked);
    if (values.json) printJson(revoked);
    else if (revoked.length === 0) say('keyturn: nothing was left to revoke there.');
    else for (const receipt of revoked) print(receiptLine(receipt));
    return exitCodes.ok;
  },
};
