/** `keyturn sign-in`: your authorizations at MCP servers. */
import { defineNoun } from '../terminal/command.ts';
import { listSignIns } from './sign-in/list.ts';
import { revokeCommand } from './sign-in/revoke.ts';
import { showSignIn } from './sign-in/show.ts';

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
