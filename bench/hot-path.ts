/**
 * The hot path beside a peer that does nothing: `token.get` with a valid token, on a kept connection, on
 * a new one, from 64 at once, and as a cold `keyturn token`. Prints medians and ratios, asserts nothing:
 * the numbers are the machine's, the ratios less so. Needs a build: `npm run build && node bench/hot-path.ts`.
 */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import net from 'node:net';
import path from 'node:path';
import { connect } from '../src/client/index.ts';
import { bin, BrokerHome } from './broker-home.ts';
import { warmMedianOf } from './median.ts';
import { startWorld } from '../test/support/world/servers.ts';

const home = new BrokerHome();
const { env, folder } = home;
const world = await startWorld({ accessTokenLifetime: 3600 });
const { resource } = world.protectedServer;
home.trust(world.ca);
/** How often each thing is done; the first tenth warms up. */
const rounds = { kept: 20_000, anew: 2000, cold: 30, crowd: 64 } as const;

async function median(count: number, work: () => unknown): Promise<number> {
  const times: number[] = [];
  for (let n = 0; n < count; n += 1) {
    const from = performance.now();
    await work();
    times.push(performance.now() - from);
  }
  return warmMedianOf(times);
}

function show(what: string, ours: number, peer: number, unit = 'µs'): void {
  const [a, b] = [ours, peer].map((value) => value.toFixed(1).padStart(9));
  const ratio = (ours / peer).toFixed(2);
  process.stdout.write(`${what.padEnd(34)} ${a} ${unit}   peer ${b} ${unit}   ×${ratio}\n`);
}

/** The peer's client: a line out, a line back. */
async function echoConnection(socket: string): Promise<{ ask: () => Promise<void>; close: () => void }> {
  const connection = net.connect(socket).setEncoding('utf8');
  await once(connection, 'connect');
  let heard: (() => void) | undefined;
  let text = '';
  connection.on('data', (chunk: string) => {
    text += chunk;
    if (!text.endsWith('\n')) return;
    JSON.parse(text);
    text = '';
    heard?.();
  });
  const line = `${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'token.get', params: { resource } })}\n`;
  return {
    ask: () =>
      new Promise((resolve) => {
        heard = resolve;
        connection.write(line);
      }),
    close: () => void connection.destroy(),
  };
}

/** Answers the length of a token's answer, which the peer answers as well. */
async function prepare(): Promise<number> {
  await home.prepare(resource);
  const connection = await connect({ name: 'bench', env });
  const token = await connection.getToken({ resource });
  connection.close();
  return JSON.stringify(token).length;
}

async function crowd(ask: (n: number) => Promise<unknown>): Promise<number> {
  const each = 300;
  const from = performance.now();
  await Promise.all(
    Array.from({ length: rounds.crowd }, async (_, n) => {
      for (let round = 0; round < each; round += 1) await ask(n);
    }),
  );
  return ((performance.now() - from) * 1000) / (each * rounds.crowd);
}

try {
  const size = await prepare();
  const socket = path.join(folder, 'echo.sock');
  await home.start(path.join(import.meta.dirname, 'echo.ts'), socket, String(size));

  const kept = await connect({ name: 'bench', env });
  const echo = await echoConnection(socket);
  show(
    'one request, kept connection',
    (await median(rounds.kept, () => kept.getToken({ resource }))) * 1000,
    (await median(rounds.kept, () => echo.ask())) * 1000,
  );
  const anew = async (): Promise<void> => {
    const connection = await connect({ name: 'bench', env });
    await connection.getToken({ resource });
    connection.close();
  };
  const echoAnew = async (): Promise<void> => {
    const connection = await echoConnection(socket);
    await connection.ask();
    connection.close();
  };
  show(
    'one request, new connection',
    (await median(rounds.anew, anew)) * 1000,
    (await median(rounds.anew, echoAnew)) * 1000,
  );
  const many = Array.from({ length: rounds.crowd }, () => connect({ name: 'bench', env }));
  const echoes = Array.from({ length: rounds.crowd }, () => echoConnection(socket));
  const [ours, peers] = [await Promise.all(many), await Promise.all(echoes)];
  show(
    'a request of 64 connections at once',
    await crowd(async (n) => ours[n]?.getToken({ resource })),
    await crowd(async (n) => peers[n]?.ask()),
  );
  for (const connection of [kept, ...ours, echo, ...peers]) connection.close();
  const quiet = { env, stdio: 'ignore' } as const;
  show(
    'keyturn token, a cold process',
    await median(rounds.cold, () => execFileSync(process.execPath, [bin, 'token', resource], quiet)),
    await median(rounds.cold, () => execFileSync(process.execPath, ['-e', '0'], quiet)),
    'ms',
  );
} finally {
  await home.close();
  await world.close();
}
