/** The ways to the server with tools: our bridge, mcp-remote with the same token, and none between. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { trustingFetch } from '../src/serve/trusting-fetch.ts';
import { bin, ended, fileHere } from './process.ts';
import type { World } from './world.ts';

/** What `--install` puts into bench/node_modules. */
export const mcpRemote = 'mcp-remote@0.15.1';

export const initialize = {
  jsonrpc: '2.0',
  id: 'initialize',
  method: 'initialize',
  params: {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'bench', version: '1.0.0' },
  },
};
const initialized = { jsonrpc: '2.0', method: 'notifications/initialized' };

/** Calls a tool; resolves with the parsed answer. */
export type Call = (name: string, given: object) => Promise<unknown>;

export interface Bridge extends AsyncDisposable {
  readonly call: Call;
  readonly pid: number | undefined;
}

/** Node's arguments for each bridge that this machine has. */
export async function bridgeCommands({
  home,
  tools,
}: World): Promise<Readonly<Record<string, readonly string[]>>> {
  const ours = [bin, 'bridge', tools, '--as', 'bench'];
  const theirs = fileHere('node_modules/mcp-remote/dist/proxy.js');
  if (!existsSync(theirs)) return { ours };
  const connection = await home.connection();
  const { access_token } = await connection.getToken({ resource: tools });
  connection.close();
  const headers = path.join(home.folder, 'headers');
  writeFileSync(headers, `Authorization: Bearer ${access_token}\n`, { mode: 0o600 });
  return { ours, 'mcp-remote': [theirs, tools, '--header-file', headers, '--transport', 'http-only'] };
}

export const spawnBridge = ({ home }: World, args: readonly string[]) =>
  spawn(process.execPath, args, { env: home.env, stdio: ['pipe', 'pipe', 'ignore'] });

export async function openBridge(world: World, args: readonly string[]): Promise<Bridge> {
  const child = spawnBridge(world, args);
  const waiting = new Map<unknown, (answer: unknown) => void>();
  let pieces: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => {
    let rest = chunk;
    for (let end = rest.indexOf('\n'); end !== -1; end = rest.indexOf('\n')) {
      const answer = JSON.parse(Buffer.concat([...pieces, rest.subarray(0, end)]).toString()) as {
        id: unknown;
      };
      waiting.get(answer.id)?.(answer);
      pieces = [];
      rest = rest.subarray(end + 1);
    }
    if (rest.length > 0) pieces.push(rest);
  });
  const ask = async (message: { readonly id: unknown }): Promise<unknown> => {
    const { promise, resolve } = Promise.withResolvers<unknown>();
    waiting.set(message.id, resolve);
    child.stdin.write(`${JSON.stringify(message)}\n`);
    return promise;
  };
  await Promise.race([ask(initialize), failed(child, args)]);
  child.stdin.write(`${JSON.stringify(initialized)}\n`);
  return { call: calling(ask), pid: child.pid, [Symbol.asyncDispose]: async () => ended(child) };
}

/** The same client without a bridge. */
export async function direct({ home, tools, ca }: World): Promise<Call> {
  const { fetch } = trustingFetch(ca);
  const connection = await home.connection();
  const { access_token } = await connection.getToken({ resource: tools });
  connection.close();
  const headers: Record<string, string> = {
    authorization: `Bearer ${access_token}`,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  };
  const send = async (message: object): Promise<Response> =>
    fetch(tools, { method: 'POST', headers, body: JSON.stringify(message) });
  const first = await send(initialize);
  headers['mcp-session-id'] = first.headers.get('mcp-session-id') ?? '';
  await first.text();
  await (await send(initialized)).text();
  return calling(async (message) => {
    const text = await (await send(message)).text();
    return JSON.parse(text.slice(text.indexOf('data: ') + 6));
  });
}

let calls = 0;

const calling =
  (ask: (message: { readonly id: unknown }) => Promise<unknown>): Call =>
  async (name, given) => {
    const message = {
      jsonrpc: '2.0',
      id: (calls += 1),
      method: 'tools/call',
      params: { name, arguments: given },
    };
    const answer = (await ask(message)) as { result?: { isError?: boolean } };
    if (!answer.result || answer.result.isError)
      throw new Error(`the call failed: ${JSON.stringify(answer)}`);
    return answer;
  };

async function failed(child: ChildProcess, args: readonly string[]): Promise<never> {
  await once(child, 'close');
  throw new Error(`${args.join(' ')} has ended`);
}
