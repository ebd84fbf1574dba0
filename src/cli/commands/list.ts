/** `keyturn list`: the grants, each with its issuer. Never a token. */
import { exitCodes } from '../../base/errors.ts';
import { ask } from '../broker/request.ts';
import { defineCommand } from '../terminal/command.ts';
import { showKeys } from '../words/key-rows.ts';
import { pauseEnd, print, printJson, printTable, say, when } from '../terminal/output.ts';
import { receiptNotes } from '../words/receipt.ts';

type Grant = Awaited<ReturnType<typeof ask<'grant.list'>>>['grants'][number];

/** With what became of a revocation, what is in the way, and the rules that were waived for its server. */
function shownState(grant: Grant): string {
  const { state, trouble, attempt, audience, overrides, tokenType } = grant;
  const notes = [
    ...receiptNotes(grant),
    ...(trouble ? [`offline since ${when(trouble.since)}, next try ${when(trouble.nextTryAt)}`] : []),
    ...(attempt ? [`refresh of ${when(attempt.startedAt)} cut off`] : []),
    ...(audience === 'unbound' ? ['token bound to no server'] : []),
    ...(audience === 'other' ? ['token for another server'] : []),
    ...(tokenType === 'DPoP' ? ['tokens bound to a key'] : []),
    ...overrides.map((name) => `override ${name}`),
  ];
  return notes.length === 0 ? state : `${state} (${notes.join(', ')})`;
}

export const command = defineCommand(
  {
    name: 'list',
    summary: 'the grants: where you are signed in',
    operands: [],
    options: { json: { type: 'boolean', summary: 'print the grants as JSON' } },
    about:
      'Show where you are signed in: each grant with its server, issuer, account, state, scopes and the programs that may use it.',
    notes: [
      'States: active, refreshing, loginRequired (sign in again), revoked (with its receipt, and until when an access token that was handed out may work). Beside an active one: offline, its issuer gives no token; a refresh that was cut off: see `keyturn explain`; a token that names no server, or another one; tokens that are bound to a key (DPoP).',
    ],
    examples: ['keyturn list --json'],
  },
  async ({ options }) => {
    const { grants } = await ask('grant.list', {});
    if (options.json) {
      printJson(grants);
      return exitCodes.ok;
    }
    const { pause } = await ask('status', {});
    if (pause) say(`keyturn: all access is paused ${pauseEnd(pause)}.`);
    const { keys } = await ask('key.list', {});
    if (grants.length === 0 && keys.length === 0) say('No grants yet. Sign in with: keyturn login RESOURCE');
    else if (grants.length > 0) {
      printTable(
        ['GRANT', 'SERVER', 'ISSUER', 'ACCOUNT', 'STATE', 'TOKEN UNTIL', 'SCOPES', 'PROGRAMS'],
        grants.map((grant) => [
          grant.id,
          grant.endpoint,
          grant.issuer,
          grant.account ?? '',
          shownState(grant),
          grant.expires_at === undefined ? '-' : when(grant.expires_at),
          grant.scope || '-',
          grant.clients.join(', ') || '-',
        ]),
      );
    }
    if (grants.length > 0 && keys.length > 0) print('');
    showKeys(keys);
    return exitCodes.ok;
  },
);
