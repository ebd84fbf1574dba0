/** `keyturn revoke RESOURCE|GRANT`: ends grants, and says what the issuer answered. With `--all`: every grant. */
import { exitCodes, KeyturnError, quoted } from '../../base/errors.ts';
import { UsageError } from '../terminal/arguments.ts';
import { ask } from '../broker/request.ts';
import { defineCommand } from '../terminal/command.ts';
import { withGrant } from '../broker/named-grant.ts';
import { print, printJson, say } from '../terminal/output.ts';
import { sayIfSlow } from '../terminal/progress.ts';
import { receiptLine } from '../words/receipt.ts';
import { answerTo, isAtTerminal } from '../terminal/standard-input.ts';

export const command = defineCommand(
  {
    name: 'revoke',
    summary: 'end a grant, here and at its issuer',
    operands: [{ name: 'RESOURCE|GRANT', optional: true }],
    usage: ['revoke RESOURCE|GRANT [OPTION]...', 'revoke --all [--yes] [--json]'],
    options: {
      account: { type: 'string', value: 'ACCOUNT', summary: "only this account's grant" },
      all: {
        type: 'boolean',
        summary: 'every grant',
        more: '; names the programs that are cut off, and asks first',
      },
      yes: { type: 'boolean', summary: "with --all: don't ask" },
      json: { type: 'boolean', summary: 'print the receipts as JSON' },
    },
    about: 'End a grant: on this machine at once, and at its issuer (RFC 7009). With --all: every grant.',
    notes: [
      "Waits for the issuer's answer, and exits with 0 once the grant is ended here. Receipts: confirmed (the issuer ended the tokens), notOffered (it has no revocation: end Keyturn's access in your account there), pending (it could not be reached: Keyturn tries again for 30 days), abandoned (it could not be reached in that time, or the vault had lost the tokens).",
    ],
    examples: ['keyturn revoke https://notes.example/mcp', 'keyturn revoke --all'],
  },
  async ({ options, operands: [name] }) => {
    if (options.all && (name !== undefined || options.account !== undefined))
      throw new UsageError('--all is about every grant: it takes no RESOURCE, GRANT or --account');
    if (options.yes && !options.all) throw new UsageError('--yes goes with --all only');
    const revoked = options.all
      ? await revokeAll(options.yes === true)
      : await revokeNamed(name, options.account);
    if (options.json) printJson(revoked);
    else if (revoked.length === 0) say('keyturn: nothing was left to revoke there.');
    else for (const receipt of revoked) print(receiptLine(receipt));
    return exitCodes.ok;
  },
);

type Receipts = Awaited<ReturnType<typeof ask<'grant.revoke'>>>['revoked'];
type Grant = Awaited<ReturnType<typeof ask<'grant.list'>>>['grants'][number];

async function revokeNamed(name: string | undefined, account: string | undefined): Promise<Receipts> {
  if (name === undefined) throw new UsageError('keyturn revoke needs RESOURCE|GRANT, or --all');
  const asked = withGrant(name, account, (named) => ask('grant.revoke', named));
  return (await sayIfSlow('keyturn: waiting for the issuer…', asked)).revoked;
}

/** The grants that were named when the person said yes, and no others. */
async function revokeAll(isSure: boolean): Promise<Receipts> {
  const { grants } = await ask('grant.list', {});
  const live = grants.filter(({ state }) => state !== 'revoked');
  if (live.length > 0 && !isSure) await confirm(live);
  const revoked: Receipts = [];
  for (const { id, issuer } of live) {
    const asked = ask('grant.revoke', { grant: id });
    revoked.push(...(await sayIfSlow(`keyturn: waiting for ${issuer}…`, asked)).revoked);
  }
  return revoked;
}

async function confirm(grants: readonly Grant[]): Promise<void> {
  if (!isAtTerminal()) {
    throw new KeyturnError(
      'invalid_request',
      'revoke --all asks before it ends anything, and nobody is here to ask.',
      {
        hint: 'To revoke every grant without a question: keyturn revoke --all --yes',
      },
    );
  }
  const programs = [...new Set(grants.flatMap(({ clients }) => clients))];
  const question =
    `This revokes the grants (${grants.length}) for:\n` +
    [...new Set(grants.map(({ endpoint }) => `  ${quoted(endpoint)}\n`))].join('') +
    (programs.length === 0 ? 'No program may use them.\n' : 'These programs are cut off:\n') +
    programs.map((program) => `  ${quoted(program)}\n`).join('') +
    'API keys stay. This can not be undone; you can sign in anew. Type yes to go on: ';
  if ((await answerTo(question)) === 'yes') return;
  throw new KeyturnError('interrupted', 'Nothing was revoked: you did not say yes.');
}
