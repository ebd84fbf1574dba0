/**
 * The bridge beside a direct connection and beside `mcp-remote`, against one server over HTTPS, in turns: a call, a result of
 * 8 MB, and the time from the start of the process to the answer of `initialize`. Prints medians and ratios, asserts nothing:
 * the numbers are the machine's, the ratios less so. `mcp-remote` is installed into a temporary folder and has a token that
 * stands; without it, its column is left out. Needs a build: `npm run build && node bench/bridge.ts`.
 */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { trustingFetch } from '../src/serve/trusting-fetch.ts';
import { bin, BrokerHome } from './broker-home.ts';
import { warmMedianOf } from './median.ts';

const peerVersion = '0.15.1';
const large = 8 * 1024 * 1024;
/** How often each thing is done; the first tenth warms up. */
const rounds = { calls: 2000, large: 30, starts: 20 } as const;

const home = new BrokerHome();
const { env, folder } = home;
/** Ended before the broker: a bridge that says its last words to the server needs one. */
const bridges: ChildProcess[] = [];

/** The peer's command and arguments; undefined where it can't be installed. */
function peer(resource: string, token: string): string[] | undefined {
  const options = ['--no-audit', '--no-fund', '--ignore-scripts', '--silent'];
  const spec = `mcp-remote@${peerVersion}`;
  if (spawnSync('npm', ['install', '--prefix', folder, ...options, spec]).status !== 0) return undefined;
  const headers = path.join(folder, 'headers');
  writeFileSync(headers, `Authorization: Bearer ${token}\n`, { mode: 0o600 });
  const proxy = path.join(folder, 'node_modules', 'mcp-remote', 'dist', 'proxy.js');
  return [proxy, resource, '--header-file', headers, '--transport', 'http-only'];
}

async function throughProcess(args: readonly string[]): Promise<Client> {
  const client = new Client({ name: 'bench', version: '1.0.0' });
  const [command, words] = [process.execPath, [...args]];
  const options = { command, args: words, env, stderr: 'ignore', maxBufferSize: 2 ** 27 } as const;
  await client.connect(new StdioClientTransport(options));
  return client;
}

/** A client that only reads lines: the SDK's own joins the pieces of a line anew with each piece, which hides the rest. */
async function largeThrough(args: readonly string[]): Promise<LargeWay> {
  const child = spawn(process.execPath, args, { env, stdio: ['pipe', 'pipe', 'ignore'] });
  bridges.push(child);
  const pieces: AsyncIterator<Buffer> = child.stdout[Symbol.asyncIterator]();
  const ask = async (message: object): Promise<unknown> => {
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
    const line: Buffer[] = [];
    while (line.at(-1)?.at(-1) !== newline) {
      const { value, done } = await pieces.next();
      if (done) throw new Error('the process has ended');
      line.push(value);
    }
    return JSON.parse(Buffer.concat(line).toString()) as unknown;
  };
  await ask({ id: 0, method: 'initialize', params: handshake });
  child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })}\n`);
  let id = 0;
  return async () => ask({ id: (id += 1), method: 'tools/call', params: largeCall });
}

async function direct(resource: string, token: string, ca: string): Promise<Client> {
  const client = new Client({ name: 'bench', version: '1.0.0' });
  const { fetch } = trustingFetch(ca);
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(resource), { fetch, requestInit }));
  return client;
}

const newline = 0x0a;
const handshake = {
  protocolVersion: '2025-06-18',
  capabilities: {},
  clientInfo: { name: 'bench', version: '1.0.0' },
};
const largeCall = { name: 'repeat', arguments: { key: 'c', times: large } };
type LargeWay = () => Promise<unknown>;

/** Milliseconds from the start of a process to the answer of `initialize`. */
async function startUp(args: readonly string[]): Promise<void> {
  const child = spawn(process.execPath, args, { env, stdio: ['pipe', 'pipe', 'ignore'] });
  child.stdin.write(
    `${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: handshake })}\n`,
  );
  await once(child.stdout, 'data');
  child.stdin.end();
  bridges.push(child);
}

type Ways = Readonly<Record<string, () => Promise<unknown>>>;

/** Each way in turn, so that a busy moment of the machine hits them alike. The median of each, in milliseconds. */
async function inTurns(count: number, ways: Ways): Promise<ReadonlyMap<string, number>> {
  const times = new Map(Object.keys(ways).map((name) => [name, [] as number[]]));
  for (let n = 0; n < count; n += 1) {
    for (const [name, work] of Object.entries(ways)) {
      const from = performance.now();
      await work();
      times.get(name)?.push(performance.now() - from);
    }
  }
  return new Map([...times].map(([name, each]) => [name, warmMedianOf(each)]));
}

function show(what: string, medians: ReadonlyMap<string, number>, base: string): void {
  const least = medians.get(base) ?? Number.NaN;
  const columns = [...medians].map(([name, time]) => {
    const more = name === base ? '' : ` (+${(time - least).toFixed(2)} ms, ×${(time / least).toFixed(2)})`;
    return `${name} ${time.toFixed(2)} ms${more}`;
  });
  process.stdout.write(`${what.padEnd(24)} ${columns.join('   ')}\n`);
}

/** The same for each client there is. */
function eachWith(
  clients: Readonly<Record<string, Client>>,
  work: (client: Client) => Promise<unknown>,
): Ways {
  return Object.fromEntries(
    Object.entries(clients).map(([name, client]) => [name, async () => work(client)]),
  );
}

try {
  const line = await home.start(path.join(import.meta.dirname, 'workshop-server.ts'));
  const { resource, ca } = z.object({ resource: z.string(), ca: z.string() }).parse(JSON.parse(line));
  home.trust(ca);
  await home.prepare(resource);
  const token = (await home.keyturn('token', resource)).trim();
  const bridge = [bin, 'bridge', resource, '--as', 'bench'];
  const remote = peer(resource, token);

  const clients = {
    direct: await direct(resource, token, ca),
    bridge: await throughProcess(bridge),
    ...(remote ? { 'mcp-remote': await throughProcess(remote) } : {}),
  };
  const call = eachWith(clients, (client) =>
    client.callTool({ name: 'echo', arguments: { key: 'a', text: 'b' } }),
  );
  show('one call', await inTurns(rounds.calls, call), 'direct');
  const much: Ways = {
    direct: async () => clients.direct.callTool(largeCall),
    bridge: await largeThrough(bridge),
    ...(remote ? { 'mcp-remote': await largeThrough(remote) } : {}),
  };
  show('a result of 8 MB', await inTurns(rounds.large, much), 'direct');
  for (const client of Object.values(clients)) await client.close();

  const starts: Ways = {
    bridge: async () => startUp(bridge),
    ...(remote ? { 'mcp-remote': async () => startUp(remote) } : {}),
    'node alone': async () => {
      const child = spawn(process.execPath, ['-e', '0'], { stdio: 'ignore' });
      await once(child, 'close');
    },
  };
  show('start to initialize', await inTurns(rounds.starts, starts), 'node alone');
} finally {
  for (const child of bridges) child.kill();
  await Promise.all(bridges.map(async (child) => child.exitCode ?? child.signalCode ?? once(child, 'close')));
  await home.close();
}
