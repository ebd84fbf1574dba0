/** `keyturn app list`: the paired apps and their permissions. */
import path from 'node:path';
import { ask } from '../../broker/request.ts';
import { defineCommand } from '../../terminal/command.ts';
import { jsonOption } from '../../terminal/statement.ts';
import { apiKeyPlaceWords } from '../../words/api-key-rows.ts';
import { printJson, printTable, processName, say, when } from '../../terminal/output.ts';

export const listApps = defineCommand(
  {
    name: 'app list',
    summary: 'List the apps and what each may reach',
    options: { json: jsonOption('them') },
    about:
      'List the paired apps, and the MCP servers that each may reach. The command line itself is the app cli.',
    examples: ['keyturn app', 'keyturn app list --json'],
  },
  async ({ options }) => {
    const apps = await withLastUse((await ask('app.list', {})).apps);
    if (options.json) printJson({ apps });
    else {
      const refused = (await ask('status', {})).unreadable.find(isDocument);
      printTable(
        ['APP', 'ID', 'SERVER', 'PERMISSION', 'ACCOUNT', 'SCOPES', 'UNTIL', 'LAST USED'],
        apps.flatMap((app) => rows(app, refused !== undefined)),
      );
      if (refused) say(`keyturn: marked entries are ignored: ${refused.why}`);
    }
  },
);

type App = Awaited<ReturnType<typeof ask<'app.list'>>>['apps'][number];
type Permission = App['permissions'][number];

/** Rows of the log that are looked through. */
const searched = 1000;

/** A broker knows only its own run. The audit log has the runs before. */
async function withLastUse(apps: readonly App[]): Promise<readonly App[]> {
  const { rows: log } = await ask('audit.tail', { count: searched });
  const uses = log.filter(
    ({ event, outcome }) => event === 'token' || (event === 'apiKey' && outcome === 'given'),
  );
  const lastUse = (name: string, permission?: Permission): number | undefined => {
    const row = uses.findLast(
      ({ app, event, endpoint }) =>
        app === name &&
        (!permission ||
          ((event === 'apiKey') === Boolean(permission.apiKey) && endpoint === permission.resource)),
    );
    return row && Math.floor(row.time / 1000);
  };
  return apps.map((app) => ({
    ...app,
    lastUsedAt: app.lastUsedAt ?? lastUse(app.name),
    permissions: app.permissions.map((permission) => ({
      ...permission,
      lastUsedAt: permission.lastUsedAt ?? lastUse(app.name, permission),
    })),
  }));
}

const decisions = { allow: 'allowed', deny: 'denied' } as const;

const isDocument = ({ file }: { readonly file: string }): boolean => path.basename(file) === 'document.json';

/** `isRefused`: the document is not accepted. Its entries are listed all the same, and marked. */
function rows(app: App, isRefused: boolean): string[][] {
  const mark = isRefused ? ' (ignored)' : '';
  // The command line is in no file.
  const isPaired = app.appId !== 'cli';
  const name = `${app.name}${isPaired ? mark : ''}`;
  if (app.permissions.length === 0)
    return [[name, app.appId, '-', '-', '-', '-', '-', timeOf(app.lastUsedAt)]];
  return app.permissions.map((permission) => [
    name,
    app.appId,
    permission.resource,
    `${decisions[permission.decision]}${permission.run === undefined ? mark : ''}`,
    accountsIn(permission),
    permission.apiKey ? `API key, ${apiKeyPlaceWords(permission.apiKey)}` : scopesIn(permission),
    untilOf(permission),
    timeOf(permission.lastUsedAt),
  ]);
}

const timeOf = (seconds: number | undefined): string => (seconds === undefined ? '-' : when(seconds));

const scopesIn = ({ scope = 'any', deniedScope }: Permission): string =>
  deniedScope === undefined ? scope : `${scope} (denied: ${deniedScope})`;

function accountsIn(permission: Permission): string {
  const { deniedAccounts } = permission;
  const allowed = allowedAccounts(permission);
  return deniedAccounts === undefined ? allowed : `${allowed} (denied: ${deniedAccounts.join(', ')})`;
}

function allowedAccounts({ accounts = [], issuers, account }: Permission): string {
  if (accounts.length === 0) return '-';
  // One name may be at two authorization servers, which the choice doesn't tell apart.
  const isOneName = new Set(accounts).size === 1;
  return accounts
    .map((name, at) => `${name}${issuers ? ` at ${issuers[at]}` : ''}`)
    .map((shown, at) => (accounts[at] === account && !isOneName ? `${shown} (chosen)` : shown))
    .join(', ');
}

function untilOf({ until, run, once }: Permission): string {
  if (run === undefined) return timeOf(until);
  const end = until === undefined ? '' : `, until ${when(until)}`;
  return `${once ? 'once, by ' : ''}this run of ${processName(run)}${end}`;
}
