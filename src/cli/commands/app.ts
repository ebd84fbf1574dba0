/** `keyturn app`: the apps of this computer and what each may reach. */
import { reasonOf, shellWord } from '../../base/errors.ts';
import { endpointOf } from '../../oauth/base/resource.ts';
import { apiKeyUrlsAt } from '../broker/named-sign-in.ts';
import { ask } from '../broker/request.ts';
import { resourceFrom } from '../terminal/arguments.ts';
import { defineCommand, defineNoun } from '../terminal/command.ts';
import { say } from '../terminal/output.ts';
import { allowApp } from './app/allow.ts';
import { liveSignIns } from '../words/account-note.ts';
import { listApps } from './app/list.ts';

const denyApp = defineCommand(
  {
    name: 'app deny',
    summary: 'Deny an app tokens for an MCP server, until you allow it',
    operands: [{ name: 'APP' }, { name: 'URL' }],
    about:
      'Deny an app access tokens for an MCP server, and your API keys there, until you allow it. Its tokens stay valid until they expire; `keyturn logout` tries to revoke them.',
    examples: ['keyturn app deny my-editor https://notes.example/mcp'],
  },
  async ({ operands: [app, resource] }) => {
    const denial = { app, resource: resourceFrom(resource), decision: 'deny' } as const;
    const keys = await apiKeyUrlsAt(resource);
    const isForTokens = keys.length === 0 || (await hasTokens(resource));
    await anyFound([
      ...(isForTokens ? [ask('permission.set', denial)] : []),
      ...keys.map((url) => ask('apiKey.permission.set', { ...denial, resource: url })),
    ]);
    await sayWhatStays(resource, keys.length > 0);
  },
);

const revokeApp = defineCommand(
  {
    name: 'app revoke',
    summary: "Revoke an app's permission or denial; it may ask again",
    operands: [{ name: 'APP' }, { name: 'URL' }],
    about:
      "Revoke an app's permissions for an MCP server and for your API keys there, or its denials. The app may ask again. Nothing is revoked at the server.",
    examples: ['keyturn app revoke my-editor https://notes.example/mcp'],
  },
  async ({ operands: [app, resource] }) => {
    const keys = await apiKeyUrlsAt(resource);
    const [, ...forKeys] = await anyFound([
      ask('permission.revoke', { app, resource: resourceFrom(resource) }),
      ...keys.map((url) => ask('apiKey.permission.revoke', { app, resource: url })),
    ]);
    await sayWhatStays(
      resource,
      forKeys.some(({ status }) => status === 'fulfilled'),
    );
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
    if (process.stdout.isTTY) sayLogout('URL');
  },
);

export const command = defineNoun(
  'app',
  'List, allow, deny and remove apps',
  { list: listApps, allow: allowApp, deny: denyApp, revoke: revokeApp, remove: removeApp },
  'list',
);

/** Where there is only an API key, a denial of tokens would have no effect, and stay when the key is allowed again. */
async function hasTokens(resource: string): Promise<boolean> {
  const endpoint = endpointOf(resource, { allowInsecureLoopback: true });
  const { signIns } = await ask('signIn.list', {});
  const { apps } = await ask('app.list', {});
  const permissions = apps.flatMap((app) => app.permissions.filter(({ apiKey }) => apiKey === undefined));
  return (
    signIns.some((signIn) => signIn.endpoint === endpoint) ||
    permissions.some((permission) => permission.resource === endpoint)
  );
}

/**
 * All at once: to end a denial may need an approval, and what takes access away must not wait for it. Throws the first
 * refusal, but `not_found` only if it is every one's.
 */
async function anyFound(
  calls: readonly Promise<unknown>[],
): Promise<readonly PromiseSettledResult<unknown>[]> {
  const results = await Promise.allSettled(calls);
  const errors = results.flatMap((one) => (one.status === 'rejected' ? [one.reason as unknown] : []));
  const refusal = errors.find((error) => reasonOf(error) !== 'not_found');
  if (refusal !== undefined || errors.length === calls.length) throw refusal ?? errors[0];
  return results;
}

/** For a user at a terminal: the end of a permission revokes nothing. An app may have kept an API key, which has no end. */
async function sayWhatStays(resource: string, wasForKey: boolean): Promise<void> {
  if (!process.stdout.isTTY) return;
  if (wasForKey)
    say(
      'keyturn: the API key itself stays valid. If the app must not use it any more, revoke it at the server.',
    );
  const endpoint = endpointOf(resource, { allowInsecureLoopback: true });
  if (liveSignIns((await ask('signIn.list', {})).signIns, endpoint).length > 0) sayLogout(resource);
}

const sayLogout = (resource: string): void =>
  say(`keyturn: nothing was revoked at the server; keyturn logout ${shellWord(resource)} does that.`);
