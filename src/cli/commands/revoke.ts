/** `keyturn revoke RESOURCE|GRANT`: ends grants, and says what the issuer answered. */
import { exitCodes } from '../../base/errors.ts';
import { ask } from '../broker/request.ts';
import { defineCommand } from '../terminal/command.ts';
import { withGrant } from '../broker/named-grant.ts';
import { print, printJson, say } from '../terminal/output.ts';
import { sayIfSlow } from '../terminal/progress.ts';
import { receiptLine } from '../terminal/receipt.ts';

export const command = defineCommand(
  {
    name: 'revoke',
    summary: 'end a grant, here and at its issuer',
    operands: [{ name: 'RESOURCE|GRANT' }],
    options: {
      account: { type: 'string', value: 'ACCOUNT', summary: "only this account's grant" },
      json: { type: 'boolean', summary: 'print the receipts as JSON' },
    },
    about: 'End a grant: on this machine at once, and at its issuer (RFC 7009).',
    notes: [
      "Waits for the issuer's answer, and exits with 0 once the grant is ended here. Receipts: confirmed (the issuer ended the tokens), notOffered (it has no revocation: end Keyturn's access in your account there), pending (it could not be reached: Keyturn tries again for 30 days), abandoned (it could not be reached in that time, or the vault had lost the tokens).",
    ],
    examples: ['keyturn revoke https://notes.example/mcp'],
  },
  async ({ options, operands: [name] }) => {
    const asked = withGrant(name, options.account, (named) => ask('grant.revoke', named));
    const { revoked } = await sayIfSlow('keyturn: waiting for the issuer…', asked);
    if (options.json) printJson(revoked);
    else if (revoked.length === 0) say('keyturn: nothing was left to revoke there.');
    else for (const receipt of revoked) print(receiptLine(receipt));
    return exitCodes.ok;
  },
);
