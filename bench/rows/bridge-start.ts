/** From the start of the bridge's process to its answer to `initialize`, beside `mcp-remote` with a token that stands. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { bin } from '../broker-home.ts';
import { inTurn, type Measurement } from '../row.ts';

const bench = path.join(import.meta.dirname, '..');

/** What `npm run bench -- --install` installs, and into which folder's node_modules. */
export const bridgePeer = { folder: bench, spec: 'mcp-remote@0.15.1' } as const;

/** Absent unless it was installed. */
const peer = path.join(bench, 'node_modules', 'mcp-remote', 'dist', 'proxy.js');

const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'bench', version: '1.0.0' },
  },
};

export const bridgeStart: Measurement = {
  name: 'bridge-start',
  async measure({ world, isSmoke }) {
    const { home, ours, resource } = await world();
    const connection = await ours();
    const { access_token } = await connection.getToken({ resource });
    connection.close();
    const headers = path.join(home.folder, 'headers');
    writeFileSync(headers, `Authorization: Bearer ${access_token}\n`, { mode: 0o600 });
    const remote = [peer, resource, '--header-file', headers, '--transport', 'http-only'];
    const figures = await inTurn(isSmoke ? 1 : 15, {
      ours: async () => answered([bin, 'bridge', resource, '--as', 'bench'], home.env),
      'mcp-remote': async () => (existsSync(peer) ? answered(remote, home.env) : Number.NaN),
    });
    return {
      name: 'bridge-start',
      what: 'start of keyturn bridge to its answer to initialize',
      unit: 'ms',
      ...figures,
      goals: [{ of: 'mcp-remote', atMost: 1 }],
    };
  },
};

/** Milliseconds until the process has answered; its end isn't measured. */
async function answered(args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const from = performance.now();
  const child = spawn(process.execPath, args, { env, stdio: ['pipe', 'pipe', 'ignore'] });
  const ended = once(child, 'close');
  child.stdin.write(`${JSON.stringify(initialize)}\n`);
  const [line] = (await Promise.race([once(child.stdout, 'data'), ended])) as [unknown];
  const time = performance.now() - from;
  if (!Buffer.isBuffer(line)) throw new Error(`${args[0]} ended without an answer`);
  child.stdin.end();
  child.kill();
  await ended;
  return time;
}
