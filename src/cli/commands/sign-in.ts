/** `keyturn sign-in`: your authorizations at MCP servers, each with its authorization server. Never a token. */
import type { ResultOf } from '../../ipc/protocol/methods.ts';
import { ask } from '../broker/request.ts';
import { defineCommand, defineNoun } from '../terminal/command.ts';
import { pauseEnd, print, printJson, printTable, say, when } from '../terminal/output.ts';
import { jsonOption } from '../terminal/statement.ts';
import { showApiKeys } from '../words/api-key-rows.ts';
import { receiptNotes } from '../words/receipt.ts';
import { revokeCommand } from './sign-in/revoke.ts';
import { showSignIn } from './sign-in/show.ts';

type SignIn = ResultOf<'signIn.list'>['signIns'][number];

/** For people; `--json` has the names. */
const states: Readonly<Record<string, string>> = {
  active: 'active',
  refreshing: 'refreshing',
  signInRequired: 'sign in again',
  revoked: 'revoked',
};

/** With what became of a revocation, what is in the way, and the exceptions of its server. */
function shownState(signIn: SignIn): string {
  const { state, trouble, lostRefresh, audience, exceptions, tokenType } = signIn;
  const notes = [
    ...receiptNotes(signIn),
    ...(trouble ? [`no token since ${when(trouble.since)}, next try ${when(trouble.nextTryAt)}`] : []),
    ...(lostRefresh ? [`refresh of ${when(lostRefresh.startedAt)} cut off`] : []),
    ...(audience === 'unbound' ? ['token bound to no server'] : []),
    ...(audience === 'other' ? ['token for another server'] : []),
    ...(tokenType === 'DPoP' ? ['tokens bound to a DPoP key'] : []),
    ...exceptions.map((name) => `exception ${name}`),
  ];
  const words = states[state] ?? state;
  return notes.length === 0 ? words : `${words} (${notes.join(', ')})`;
}

const listSignIns = defineCommand(
  {
    name: 'sign-in list',
    summary: 'List your sign-ins to MCP servers',
    options: { json: jsonOption('the sign-ins') },
    about: 'List your sign-ins with the apps that may use each, then your API keys.',
    notes: [
      'States: active, refreshing, sign in again, revoked (with its receipt, and until when an issued token may work). `keyturn sign-in show` explains what is added to one.',
    ],
    examples: ['keyturn sign-in', 'keyturn sign-in list --json'],
  },
  async ({ options }) => {
    const { signIns } = await ask('signIn.list', {});
    if (options.json) return printJson(signIns);
    const status = await ask('status', {});
    if (status.pause) say(`keyturn: all access is paused ${pauseEnd(status.pause)}.`);
    const { apiKeys: keys } = await ask('apiKey.list', {});
    if (signIns.length === 0 && keys.length === 0)
      say('No sign-ins yet. Begin with: keyturn setup, or keyturn login URL');
    else if (signIns.length > 0) {
      printTable(
        ['ID', 'SERVER', 'AUTHORIZATION SERVER', 'ACCOUNT', 'STATE', 'TOKEN UNTIL', 'SCOPES', 'APPS'],
        signIns.map((signIn) => [
          signIn.id,
          signIn.endpoint,
          signIn.issuer,
          signIn.account ?? '',
          shownState(signIn),
          signIn.expires_at === undefined ? '-' : when(signIn.expires_at),
          signIn.scope || '-',
          signIn.apps.join(', ') || '-',
        ]),
      );
    }
    if (signIns.length > 0 && keys.length > 0) print('');
    showApiKeys(keys);
  },
);

export const command = defineNoun(
  'sign-in',
  'List, show and revoke your sign-ins to MCP servers',
  {
    list: listSignIns,
    show: showSignIn,
    revoke: revokeCommand('sign-in revoke', 'Revoke a sign-in, here and at its authorization server'),
  },
  'list',
);
