/** `keyturn app`: the apps of this computer and what each may reach. */
import { shellWord } from '../../base/errors.ts';
import { ask } from '../broker/request.ts';
import { resourceFrom } from '../terminal/arguments.ts';
import { defineCommand, defineNoun } from '../terminal/command.ts';
import { say } from '../terminal/output.ts';
import { allowApp } from './app/allow.ts';
import { listApps } from './app/list.ts';

const denyApp = defineCommand(
  {
    name: 'app deny',
    summary: 'Deny an app tokens for an MCP server, until you allow it',
    operands: [{ name: 'APP' }, { name: 'URL' }],
    options: { 'api-key': { type: 'boolean', summary: 'the API key there, and no token' } },
    about:
      'Deny an app access tokens for an MCP server, until you allow it. Its tokens stay valid until they expire; `keyturn logout` tries to revoke them.',
    examples: ['keyturn app deny my-editor https://notes.example/mcp'],
  },
  async ({ options, operands: [app, resource] }) => {
    const denial = { app, resource: resourceFrom(resource), decision: 'deny' } as const;
    if (options['api-key']) await ask('apiKey.permission.set', denial);
    else await ask('permission.set', denial);
    sayWhatStays(resource, options['api-key']);
  },
);

const revokeApp = defineCommand(
  {
    name: 'app revoke',
    summary: "Revoke an app's permission or denial; it may ask again",
    operands: [{ name: 'APP' }, { name: 'URL' }],
    options: { 'api-key': { type: 'boolean', summary: 'the permission or denial for the API key there' } },
    about:
      "Revoke an app's permission for an MCP server, or its denial. The app may ask again. Nothing is revoked at the server.",
    examples: ['keyturn app revoke my-editor https://notes.example/mcp'],
  },
  async ({ options, operands: [app, resource] }) => {
    const named = { app, resource: resourceFrom(resource) };
    if (options['api-key']) await ask('apiKey.permission.revoke', named);
    else await ask('permission.revoke', named);
    sayWhatStays(resource, options['api-key']);
  },
);

const removeApp = defineCommand(
  {
    name: 'app remove',
    summary: 'Remove an app with its app key and its permissions',
    operands: [{ name: 'APP' }],
    about:
      'Remove an app: its app key, its permissions and its connections; of cli only the permissions. Sign-ins stay.',
    examples: ['keyturn app remove my-editor'],
  },
  async ({ operands: [app] }) => {
    await ask('app.remove', { app });
    if (app === 'cli' && process.stdout.isTTY)
      say(
        'keyturn: all permissions of cli have ended. It has no pairing: every keyturn command is still cli.',
      );
    sayWhatStays('URL');
  },
);

export const command = defineNoun(
  'app',
  'List, allow, deny and remove apps',
  { list: listApps, allow: allowApp, deny: denyApp, revoke: revokeApp, remove: removeApp },
  'list',
);

/** For a user at a terminal: the end of a permission revokes nothing. An app may have kept an API key, which has no end. */
function sayWhatStays(resource: string, isKey = false): void {
  if (!process.stdout.isTTY) return;
  say(
    isKey
      ? 'keyturn: the API key itself stays valid. If the app must not use it any more, revoke it at the server.'
      : `keyturn: nothing was revoked at the server; keyturn logout ${shellWord(resource)} does that.`,
  );
}
