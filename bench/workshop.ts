/** What the rows of the bridge share: a server with tools, its broker, and the ways to it: direct, our bridge, mcp-remote. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { z } from 'zod';
import { trustingFetch } from '../src/serve/trusting-fetch.ts';
import { bin, BrokerHome } from './broker-home.ts';

/** What `npm run bench -- --install` installs, and into which folder's node_modules. */
export const bridgePeer = { folder: import.meta.dirname, spec: 'mcp-remote@0.15.1' } as const;

/** Absent unless it was installed. */
const peer = path.join(import.meta.dirname, 'node_modules', 'mcp-remote', 'dist', 'proxy.js');

export const initialize = {
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'bench', version: '1.0.0' },
  },
};

/** The command of mcp-remote to this server, with a token that stands. Undefined where it isn't installed. */
export function remoteCommand(home: BrokerHome, resource: string, token: string): string[] | undefined {
  if (!existsSync(peer)) return undefined;
  const headers = path.join(home.folder, 'headers');
  writeFileSync(headers, `Authorization: Bearer ${token}\n`, { mode: 0o600 });
  return [peer, resource, '--header-file', headers, '--transport', 'http-only'];
}

export const bridgeCommand = (resource: string): string[] => [bin, 'bridge', resource, '--as', 'bench'];

/** Calls a tool, and waits for the whole result. */
export type Call = (tool: Readonly<{ name: string; arguments: Record<string, unknown> }>) => Promise<unknown>;

export interface Workshop {
  readonly direct: Call;
  readonly ours: Call;
  /** Undefined where mcp-remote isn't installed. */
  readonly remote: Call | undefined;
  readonly close: () => Promise<void>;
}

export async function openWorkshop(): Promise<Workshop> {
  const home = new BrokerHome();
  const children: ChildProcess[] = [];
  const close = async (): Promise<void> => {
    // Before the broker: a bridge that says its last words to the server needs one.
    for (const child of children) child.kill();
    await Promise.all(
      children.map(async (child) => child.exitCode ?? child.signalCode ?? once(child, 'close')),
    );
    await home.close();
  };
  try {
    // Each process of the home looks for the file.
    home.trust('');
    const line = await home.start(path.join(import.meta.dirname, 'workshop-server.ts'));
    const { resource, ca } = z.object({ resource: z.string(), ca: z.string() }).parse(JSON.parse(line));
    home.trust(ca);
    await home.prepare(resource);
    const token = (await home.keyturn('token', resource)).trim();
    const client = await directClient(resource, token, ca);
    const command = remoteCommand(home, resource, token);
    return {
      direct: async (tool) => client.callTool(tool),
      ours: await through(bridgeCommand(resource), home.env, children),
      remote: command && (await through(command, home.env, children)),
      async close() {
        await client.close();
        await close();
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

async function directClient(resource: string, token: string, ca: string): Promise<Client> {
  const client = new Client({ name: 'bench', version: '1.0.0' });
  const { fetch } = trustingFetch(ca);
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(resource), { fetch, requestInit }));
  return client;
}

const newline = 0x0a;

/** A client that only reads lines: the SDK's own joins the pieces of a line anew with each piece, which hides the rest. */
async function through(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  children: ChildProcess[],
): Promise<Call> {
  const child = spawn(process.execPath, args, { env, stdio: ['pipe', 'pipe', 'ignore'] });
  children.push(child);
  const pieces: AsyncIterator<Buffer> = child.stdout[Symbol.asyncIterator]();
  const ask = async (message: object): Promise<unknown> => {
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
    const line: Buffer[] = [];
    while (line.at(-1)?.at(-1) !== newline) {
      const { value, done } = await pieces.next();
      if (done) throw new Error(`${args[0]} has ended`);
      line.push(value);
    }
    return JSON.parse(Buffer.concat(line).toString()) as unknown;
  };
  await ask(initialize);
  child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })}\n`);
  let id = 0;
  return async (params) => ask({ id: (id += 1), method: 'tools/call', params });
}
