/** `keyturn app allow APP URL`: gives an app a permission. Works before any discovery. */
import { nearestName } from '../../../base/text/near-name.ts';
import { quoted, shellWord } from '../../../base/errors.ts';
import type { ResultOf } from '../../../ipc/protocol/methods.ts';
import { endpointOf } from '../../../oauth/base/resource.ts';
import { parseScope } from '../../../oauth/base/scope.ts';
import { accountNote } from '../../words/account-note.ts';
import { durationFrom, resourceFrom, UsageError, scopeFrom } from '../../terminal/arguments.ts';
import { ask } from '../../broker/request.ts';
import { defineCommand } from '../../terminal/command.ts';
import { accountOption, forOption, scopeOption } from '../../terminal/statement.ts';
import { say } from '../../terminal/output.ts';

export const allowApp = defineCommand(
  {
    name: 'app allow',
    summary: 'Allow an app to have tokens for an MCP server',
    operands: [{ name: 'APP' }, { name: 'URL' }],
    options: {
      scope: scopeOption(
        'allow only this scope',
        '. Without it, every scope that you grant at the authorization server, now or later',
      ),
      account: accountOption(
        'let the app use this account too, and choose it for requests that name none',
        '. Without --scope and --for, an existing permission keeps its own',
      ),
      for: forOption('; without it, until you revoke it'),
      'api-key': {
        type: 'boolean',
        summary: 'the API key there instead of tokens',
        more: '; goes with --for only',
      },
    },
    about:
      'Allow an app to have access tokens for an MCP server. APP is a name or id from `keyturn app`. The app cli is the command line: any program of yours can use its tokens.',
    examples: [
      'keyturn app allow cli https://notes.example/mcp',
      'keyturn app allow my-editor https://notes.example/mcp -s notes:read --for 8h',
      'keyturn app allow my-editor https://tickets.example/mcp --api-key',
    ],
  },
  async ({ options, operands: [app, resource] }) => {
    const now = Math.floor(Date.now() / 1000);
    const until = options.for === undefined ? {} : { until: now + durationFrom(options.for, '--for') };
    const permission = { app, resource: resourceFrom(resource), decision: 'allow', ...until } as const;
    if (options['api-key']) {
      if (options.scope !== undefined)
        throw new UsageError("--scope doesn't go with --api-key: a key has no scopes");
      if (options.account !== undefined) throw new UsageError("--account doesn't go with --api-key");
      await ask('apiKey.permission.set', permission);
      return;
    }
    await ask('permission.set', {
      ...permission,
      ...scopeFrom(options.scope),
      account: options.account,
    });
    const endpoint = endpointOf(resource, { allowInsecureLoopback: true });
    const { signIns } = await ask('signIn.list', {});
    // For a user at a terminal; a script knows what it says.
    if (process.stderr.isTTY) {
      const { apps } = await ask('app.list', {});
      say(`keyturn: ${accountNote({ app, resource }, apps, signIns)}`);
    }
    await sayApiKey(app, endpoint, signIns);
    sayNearServer(app, endpoint, signIns);
    if (options.scope !== undefined) sayStrangeScopes(options.scope.join(' '), endpoint, signIns);
  },
);

type SignIns = ResultOf<'signIn.list'>['signIns'];

/** A permission for tokens gives no key. Where there is a key and no sign-in, the user may have meant the key. */
async function sayApiKey(app: string, endpoint: string, signIns: SignIns): Promise<void> {
  const { apiKeys: keys } = await ask('apiKey.list', {});
  if (!keys.some((key) => key.resource === endpoint)) return;
  if (signIns.some((signIn) => signIn.endpoint === endpoint)) return;
  say(
    `keyturn: this allows tokens only, and you are not signed in at ${quoted(endpoint)}. ` +
      `To allow the API key there: keyturn app allow ${shellWord(app)} ${shellWord(endpoint)} --api-key`,
  );
}

/** Else a mistyped URL would show only once the app asks for the right one. */
function sayNearServer(app: string, endpoint: string, signIns: SignIns): void {
  const near = nearestName(
    endpoint,
    signIns.map((signIn) => signIn.endpoint),
  );
  if (near === undefined || near === endpoint) return;
  say(
    `keyturn: you are signed in at ${quoted(near)}, and not at ${quoted(endpoint)}. ` +
      `If you mistyped it: keyturn app revoke ${shellWord(app)} ${shellWord(endpoint)}`,
  );
}

/** Else a mistyped scope would show only once an app is refused. */
function sayStrangeScopes(scope: string, endpoint: string, signIns: SignIns): void {
  const signedIn = new Set(
    signIns.filter((signIn) => signIn.endpoint === endpoint).flatMap((signIn) => parseScope(signIn.scope)),
  );
  const strange = parseScope(scope).filter((name) => !signedIn.has(name));
  if (signedIn.size === 0 || strange.length === 0) return;
  const separated = strange.some((name) => name.includes(',')) ? 'Scopes are separated by spaces. ' : '';
  say(
    `keyturn: ${separated}your sign-in there has ${[...signedIn].join(' ')}, and not ${strange.map((name) => quoted(name)).join(', ')}. ` +
      'If you mistyped it, allow the app again; else its first use asks you to sign in once more.',
  );
}
