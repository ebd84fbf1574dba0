/** `keyturn proxy`: addresses of this machine for programs that speak HTTP and can't hold a key. */
import { exitCodes, quoted, shellWord } from '../../base/errors.ts';
import { resourceFrom, UsageError } from '../terminal/arguments.ts';
import { ask } from '../broker/request.ts';
import { defineCommand } from '../terminal/command.ts';
import { print, printJson, printTable, say, when } from '../terminal/output.ts';

type Proxy = Awaited<ReturnType<typeof ask<'proxy.list'>>>['proxies'][number];

/** The options of all actions; each takes some of them. */
type Options = { readonly as?: string; readonly port?: string; readonly json?: boolean };

export const command = defineCommand(
  {
    name: 'proxy',
    summary: 'addresses here for programs that can hold no key',
    operands: [
      { name: 'ACTION', values: ['add', 'list', 'rotate', 'remove'] },
      { name: 'NAME|RESOURCE', optional: true },
    ],
    options: {
      as: {
        type: 'string',
        value: 'NAME',
        summary: 'name of the new proxy, as an app',
        more: '; by default its host',
      },
      port: {
        type: 'string',
        value: 'PORT',
        summary: 'port of the new proxy',
        more: '; by default a free one',
      },
      json: { type: 'boolean', summary: 'print it as JSON' },
    },
    usage: [
      'proxy add RESOURCE [--as NAME] [--port PORT] [--json]',
      'proxy list [--json]',
      'proxy rotate|remove NAME',
    ],
    about:
      'Give a program an address on this machine instead of a token. It sends its requests there, and Keyturn passes them to the protected server with a token that the program never sees. Each address is one app: you are asked about it once, and any program that knows the address uses it.',
    terms: {
      add: 'reserves a port and a path that nobody can guess, and prints the address',
      list: 'shows the proxies and where they lead',
      rotate: 'gives a proxy another path: the address of before leads nowhere',
      remove: 'ends a proxy, and what its app was allowed',
    },
    notes: [
      'The address works while the broker runs, on this machine, and for programs of yours. Treat it as a secret: keep it out of shared files.',
    ],
    examples: ['keyturn proxy add https://notes.example/mcp', 'keyturn proxy rotate notes.example'],
  },
  async ({ options, operands: [action, what] }) => {
    refuseStray(action, options);
    switch (action) {
      case 'add':
        return add(named(what, 'proxy add needs a RESOURCE'), options);
      case 'list':
        return list(what, options.json === true);
      case 'rotate': {
        const { proxy } = await ask('proxy.rotate', { proxy: named(what, 'proxy rotate needs a NAME') });
        return show(proxy, options.json === true);
      }
      case 'remove':
        await ask('proxy.remove', { proxy: named(what, 'proxy remove needs a NAME') });
        return exitCodes.ok;
    }
  },
);

async function add(resource: string, { as, port, json }: Options): Promise<number> {
  const { proxies } = await ask('proxy.list', {});
  const { proxy } = await ask('proxy.add', {
    resource: resourceFrom(resource),
    name: as,
    ...(port === undefined ? {} : { port: portFrom(port) }),
  });
  sayOthers(proxy, proxies);
  return show(proxy, json === true);
}

/** Two for one server are rarely meant, unless two programs should have permissions of their own. */
function sayOthers({ name, resource }: Proxy, before: readonly Proxy[]): void {
  const others = before.filter((proxy) => proxy.resource === resource).map((proxy) => proxy.name);
  if (others.length === 0) return;
  say(
    `keyturn: ${quoted(name)} is a further proxy for this server, beside ${others.map(quoted).join(', ')}. ` +
      `If one is enough: keyturn proxy remove ${shellWord(name)}`,
  );
}

function show(proxy: Proxy, isJson: boolean): number {
  if (isJson) printJson(proxy);
  else print(proxy.url);
  return exitCodes.ok;
}

async function list(what: string | undefined, isJson: boolean): Promise<number> {
  if (what !== undefined) throw new UsageError('proxy list takes nothing more');
  const { proxies } = await ask('proxy.list', {});
  if (isJson) printJson(proxies);
  else {
    printTable(
      ['PROXY', 'SERVER', 'ADDRESS', 'LAST USED'],
      proxies.map(({ name, resource, url, lastUsedAt }) => [
        name,
        resource,
        url,
        lastUsedAt === undefined ? '-' : when(lastUsedAt),
      ]),
    );
    for (const proxy of proxies.filter(({ state }) => state in troubles)) say(troubleOf(proxy));
  }
  return exitCodes.ok;
}

const troubles: Partial<Record<Proxy['state'], string>> = {
  portTaken: 'another program listens on its port; end that program, or remove the proxy and add it anew',
  failed: 'its port could not be opened; the log of the broker says more',
};

const troubleOf = ({ name, port, state }: Proxy): string =>
  `keyturn: the proxy ${name} is closed: port ${port}: ${troubles[state]}`;

function portFrom(text: string): number {
  const port = Number(text);
  if (/^\d{1,5}$/.test(text) && port >= 1024 && port <= 65_535) return port;
  throw new UsageError('--port takes a number from 1024 to 65535');
}

function named(what: string | undefined, problem: string): string {
  if (what === undefined) throw new UsageError(problem);
  return what;
}

function refuseStray(action: string, { as, port }: Options): void {
  if (action !== 'add' && (as ?? port) !== undefined)
    throw new UsageError('--as and --port go with proxy add');
}
