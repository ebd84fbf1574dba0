/** A token that the broker has in its memory. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import net from 'node:net';
import process from 'node:process';
import { bin, pinned } from '../process.ts';
import { inTurn, isSmoke, type Measurement, microseconds } from '../row.ts';

/** `keyturn token` as a cold process, with the token in the broker's memory. */
export const cold: Measurement = {
  name: 'cold',
  async measure(world) {
    const { home, pids, lasting, oidcAgent } = await world();
    const run =
      (program: string, args: readonly string[], env: NodeJS.ProcessEnv) => async (): Promise<number> => {
        const from = performance.now();
        execFileSync(program, args, { env, stdio: 'ignore' });
        return performance.now() - from;
      };
    const figures = await pinned(pids, async () =>
      inTurn(31, {
        ours: run(process.execPath, [bin, 'token', lasting], home.env),
        'node -e 0': run(process.execPath, ['-e', '0'], home.env),
        'oidc-token': oidcAgent ? run('oidc-token', ['lasting'], oidcAgent.env) : async () => Number.NaN,
      }),
    );
    return [{ what: '`keyturn token`, cold process', unit: 'ms', ...figures, goals: { 'node -e 0': 1.4 } }];
  },
};

/** Tokens from memory over kept connections: one at a time with both ends on one processor, and 64 at once on all. */
export const kept: Measurement = {
  name: 'kept',
  async measure(world) {
    const { home, floor, pids, lasting } = await world();
    const get = { resource: lasting };
    const [ours, theirs] = [await home.connection(), await floorConnection(floor, lasting)];
    const one = await pinned(pids, async () =>
      inTurn(5, {
        ours: async () => microseconds(4000, async () => ours.getToken(get)),
        'bare Node': async () => microseconds(4000, async () => theirs.ask()),
      }),
    );
    const [all, others] = [[ours], [theirs]];
    while (all.length < 64) {
      all.push(await home.connection());
      others.push(await floorConnection(floor, lasting));
    }
    const many = await inTurn(5, {
      ours: async () => rateOf(all, async (connection) => connection.getToken(get)),
      'bare Node': async () => rateOf(others, async (connection) => connection.ask()),
    });
    for (const connection of [...all, ...others]) connection.close();
    return [
      { what: 'a token over a kept connection', unit: 'µs', ...one, goals: { 'bare Node': 1.6 } },
      { what: 'tokens over 64 kept connections', unit: '/s', ...many, goals: { 'bare Node': 0.5 } },
    ];
  },
};

async function rateOf<T>(
  connections: readonly T[],
  ask: (connection: T) => Promise<unknown>,
): Promise<number> {
  const rounds = isSmoke ? 2 : 150;
  const from = performance.now();
  await Promise.all(
    connections.map(async (connection) => {
      for (let round = 0; round < rounds; round += 1) await ask(connection);
    }),
  );
  return (connections.length * rounds * 1000) / (performance.now() - from);
}

interface FloorConnection {
  /** Resolves with the whole answer. */
  readonly ask: () => Promise<unknown>;
  readonly close: () => void;
}

async function floorConnection(socket: string, resource: string): Promise<FloorConnection> {
  const line = `${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'token.get', params: { resource } })}\n`;
  const connection = net.connect(socket).setEncoding('utf8');
  await once(connection, 'connect');
  let text = '';
  let heard: (answer: unknown) => void = () => undefined;
  connection.on('data', (chunk: string) => {
    text += chunk;
    if (!text.endsWith('\n')) return;
    const answer: unknown = JSON.parse(text);
    text = '';
    heard(answer);
  });
  return {
    ask: async () =>
      new Promise((resolve) => {
        heard = resolve;
        connection.write(line);
      }),
    close: () => void connection.destroy(),
  };
}

/** A token over a new connection that both sides prove, beside oidc-agent's own library; both ends on one processor. */
export const anew: Measurement = {
  name: 'anew',
  async measure(world) {
    const { home, oidcAgent, pids, lasting } = await world();
    const ours = async (): Promise<void> => {
      const connection = await home.connection();
      await connection.getToken({ resource: lasting });
      connection.close();
    };
    const figures = await pinned(pids, async () =>
      inTurn(7, {
        ours: async () => microseconds(400, ours),
        'oidc-agent': async () => (oidcAgent ? microseconds(400, oidcAgent.ask) : Number.NaN),
      }),
    );
    const what = 'a token over a new authenticated connection';
    return [{ what, unit: 'µs', ...figures, goals: { 'oidc-agent': 1.5 } }];
  },
};
