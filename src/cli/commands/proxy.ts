/** `keyturn proxy`: addresses of this computer for apps that speak HTTP and can't hold a key. */
import { quoted, shellWord } from '../../base/errors.ts';
import type { ResultOf } from '../../ipc/protocol/methods.ts';
import { resourceFrom, UsageError } from '../terminal/arguments.ts';
import { ask } from '../broker/request.ts';
import { defineCommand, defineNoun } from '../terminal/command.ts';
import { jsonOption } from '../terminal/statement.ts';
import { print, printJson, printTable, say, when } from '../terminal/output.ts';
import { closedProxies } from '../words/closed-proxies.ts';

type Proxy = ResultOf<'proxy.list'>['proxies'][number];

const add = defineCommand(
  {
    name: 'proxy add',
    summary: 'Add a local address for an MCP server, and print it',
    operands: [{ name: 'URL' }],
    options: {
      as: { type: 'string', value: 'NAME', summary: 'its name, as an app', more: '; by default URL’s host' },
      port: { type: 'string', value: 'PORT', summary: 'its port', more: '; by default a free one' },
      json: jsonOption('it'),
    },
    about:
      'Add an address on this computer (http://127.0.0.1:PORT/…) for an app that can’t pair. Keyturn passes requests to it on to the MCP server, with a token that the app never sees.',
    notes: [
      'Each address is one app: you are asked about it once, and any program that knows the address uses it.',
      'It works while the broker runs, for your programs only. Treat it as a secret: keep it out of shared files.',
    ],
    examples: ['keyturn proxy add https://notes.example/mcp'],
  },
  async ({ options: { as, port, json = false }, operands: [url] }) => {
    const { proxies } = await ask('proxy.list', {});
    const { proxy } = await ask('proxy.add', {
      resource: resourceFrom(url),
      name: as,
      ...(port === undefined ? {} : { port: portFrom(port) }),
    });
    sayOthers(proxy, proxies);
    show(proxy, json);
  },
);

const list = defineCommand(
  {
    name: 'proxy list',
    summary: 'List the proxies and their MCP servers',
    options: { json: jsonOption('them') },
    about: 'List the proxies, their MCP servers and addresses.',
    examples: ['keyturn proxy list'],
  },
  async ({ options: { json = false } }) => {
    const { proxies } = await ask('proxy.list', {});
    if (json) return printJson(proxies);
    printTable(
      ['PROXY', 'SERVER', 'ADDRESS', 'LAST USED'],
      proxies.map(({ name, resource, url, lastUsedAt }) => [
        name,
        resource,
        url,
        lastUsedAt === undefined ? '-' : when(lastUsedAt),
      ]),
    );
    for (const { what, fix } of closedProxies(proxies)) say(`keyturn: the proxy ${what}. ${fix}`);
  },
);

const rotate = defineCommand(
  {
    name: 'proxy rotate',
    summary: 'Give a proxy a new address',
    operands: [{ name: 'NAME' }],
    options: { json: jsonOption('it') },
    about: 'Give a proxy a new address, and print it. The old one stops working.',
    examples: ['keyturn proxy rotate notes.example'],
  },
  async ({ options: { json = false }, operands: [name] }) => {
    const { proxy } = await ask('proxy.rotate', { proxy: name });
    show(proxy, json);
  },
);

const remove = defineCommand(
  {
    name: 'proxy remove',
    summary: 'Remove a proxy and its permissions',
    operands: [{ name: 'NAME' }],
    about: 'Remove a proxy, and what its app was allowed.',
    examples: ['keyturn proxy remove notes.example'],
  },
  async ({ operands: [name] }) => {
    await ask('proxy.remove', { proxy: name });
  },
);

export const command = defineNoun(
  'proxy',
  'Give an app a local address of an MCP server instead of a token',
  { add, list, rotate, remove },
  'list',
);

/** Two for one server are rarely meant, unless two apps should have separate permissions. */
function sayOthers({ name, resource }: Proxy, before: readonly Proxy[]): void {
  const others = before.filter((proxy) => proxy.resource === resource).map((proxy) => proxy.name);
  if (others.length === 0) return;
  say(
    `keyturn: ${quoted(name)} is a further proxy for this server, beside ${others.map(quoted).join(', ')}. ` +
      `If one is enough: keyturn proxy remove ${shellWord(name)}`,
  );
}

function show(proxy: Proxy, isJson: boolean): void {
  if (isJson) printJson(proxy);
  else print(proxy.url);
}

function portFrom(text: string): number {
  const port = Number(text);
  if (/^\d{1,5}$/.test(text) && port >= 1024 && port <= 65_535) return port;
  throw new UsageError('--port takes a number from 1024 to 65535');
}
