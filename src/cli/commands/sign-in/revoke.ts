/** Revokes sign-ins, and says what their authorization servers answered. */
import { quoted } from '../../../base/errors.ts';
import type { ResultOf } from '../../../ipc/protocol/methods.ts';
import { UsageError } from '../../terminal/arguments.ts';
import { ask } from '../../broker/request.ts';
import { defineCommand } from '../../terminal/command.ts';
import { accountOption, jsonOption, yesOption } from '../../terminal/statement.ts';
import { withSignIn } from '../../broker/named-sign-in.ts';
import { print, printJson, say, sayIfSlow } from '../../terminal/output.ts';
import { receiptLine } from '../../words/receipt.ts';
import { requireYes } from '../../terminal/standard-input.ts';

/** `keyturn logout` and `keyturn sign-in revoke` are one command. */
export const revokeCommand = (name: 'logout' | 'sign-in revoke', summary: string) =>
  defineCommand(
    {
      name,
      summary,
      operands: [{ name: 'URL|ID', optional: true }],
      usage: [`${name} URL|ID [OPTION]...`, `${name} --all [-y] [-j]`],
      options: {
        account: accountOption("only this account's sign-in"),
        all: {
          type: 'boolean',
          summary: 'every sign-in',
          more: '; names the apps that lose access, and asks first',
        },
        yes: { ...yesOption, summary: "with --all: don't ask" },
        json: jsonOption('the receipts'),
      },
      about: `Revoke a sign-in: on this computer at once, and at its authorization server (RFC 7009). API keys stay. The same as \`keyturn ${name === 'logout' ? 'sign-in revoke' : 'logout'}\`.`,
      notes: [
        'Exits with 0 once the sign-in is revoked here. Receipts: confirmed (the server revoked the refresh token), not offered (end the access of Keyturn in your account there), pending (it was unreachable: Keyturn tries again for 30 days), abandoned (it stayed unreachable, or the tokens were lost).',
      ],
      examples: [`keyturn ${name} https://notes.example/mcp`, `keyturn ${name} --all`],
    },
    async ({ options, operands: [url] }) => {
      if (options.all && (url !== undefined || options.account !== undefined))
        throw new UsageError('--all is for every sign-in: it takes no URL, ID or --account');
      if (options.yes && !options.all) throw new UsageError('--yes goes with --all only');
      if (!options.all && url === undefined) throw new UsageError(`keyturn ${name} needs URL|ID, or --all`);
      const revoked =
        url === undefined
          ? await revokeAll(name, options.yes === true)
          : await revokeNamed(url, options.account);
      if (options.json) printJson(revoked);
      else if (revoked.length === 0) say('keyturn: nothing was left to revoke there.');
      else for (const receipt of revoked) print(receiptLine(receipt));
    },
  );

type Receipts = ResultOf<'signIn.revoke'>['revoked'];
type SignIn = ResultOf<'signIn.list'>['signIns'][number];

async function revokeNamed(name: string, account: string | undefined): Promise<Receipts> {
  const asked = withSignIn(name, account, (named) => ask('signIn.revoke', named));
  return (await sayIfSlow('keyturn: waiting for the authorization server…', asked)).revoked;
}

/** The sign-ins that the question named, and no others. */
async function revokeAll(name: string, isSure: boolean): Promise<Receipts> {
  const { signIns } = await ask('signIn.list', {});
  const live = signIns.filter(({ state }) => state !== 'revoked');
  if (live.length > 0 && !isSure)
    await requireYes({
      asker: `${name} --all`,
      hint: `To revoke every sign-in without a question: keyturn ${name} --all --yes`,
      question: async () => questionAbout(live),
      nothing: 'Nothing was revoked',
    });
  const revoked: Receipts[number][] = [];
  for (const { id, issuer } of live) {
    const asked = ask('signIn.revoke', { id });
    revoked.push(...(await sayIfSlow(`keyturn: waiting for ${issuer}…`, asked)).revoked);
  }
  return revoked;
}

function questionAbout(signIns: readonly SignIn[]): string {
  const appNames = [...new Set(signIns.flatMap(({ apps }) => apps))];
  return (
    `This revokes your sign-ins (${signIns.length}) to:\n` +
    [...new Set(signIns.map(({ endpoint }) => `  ${quoted(endpoint)}\n`))].join('') +
    (appNames.length === 0 ? 'No app may use them.\n' : 'These apps lose access:\n') +
    appNames.map((app) => `  ${quoted(app)}\n`).join('') +
    'API keys are kept. This cannot be undone, but you can sign in again. '
  );
}
