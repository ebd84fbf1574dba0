/** `keyturn revoke RESOURCE|GRANT`: ends grants, and says what the issuer answered. */
import { exitCodes } from '../errors.ts';
import { grantFrom, parse } from './arguments.ts';
import { ask } from './command.ts';
import type { Command } from './command.ts';
import { print, printJson } from './output.ts';

const help = `Usage: keyturn revoke RESOURCE|GRANT [OPTION]...
End a grant: on this machine at once, and at its issuer (RFC 7009).

      --account ACCOUNT  only this account's grant
      --json             print the receipts as JSON
  -h, --help             show this

Receipts: confirmed (the issuer ended the tokens), notOffered (it has no
revocation), pending (it could not be reached: run the command again).
`;

/** What each receipt means, in a sentence. */
const receipts = {
  confirmed: 'confirmed by the issuer',
  notOffered: 'the issuer offers no revocation; its tokens end by themselves',
  pending: 'ended here; the issuer could not be told yet, run the command again',
} as const;

export const command: Command = {
  help,
  async run(args) {
    const { values, positionals } = parse(
      args,
      { account: { type: 'string' }, json: { type: 'boolean' } },
      { names: ['RESOURCE or GRANT'], command: 'revoke' },
    );
    const { revoked } = await ask('grant.revoke', {
      ...grantFrom(positionals[0] ?? ''),
      ...(values.account === undefined ? {} : { account: values.account }),
    });
    if (values.json) printJson(revoked);
    else {
      for (const grant of revoked) print(`${grant.resource} at ${grant.issuer}: ${receipts[grant.receipt]}`);
    }
    return exitCodes.ok;
  },
};
