/** Requests a second of many kept connections at once. Not pinned: throughput may use what the machine has. */
import { isSmoke } from '../form.ts';
import { inTurn, type Measurement } from '../row.ts';

export function crowd(size: number): Measurement {
  const name = `crowd-${size}`;
  return {
    name,
    async measure({ world }) {
      const { ours, floor, inC, sshAgent, resource } = await world();
      const connections = isSmoke ? 8 : size;
      const [turns, rounds] = isSmoke ? [1, 2] : [5, Math.ceil(10_000 / size)];
      const [a, b, c, d] = [
        await many(connections, ours),
        await many(connections, floor),
        inC ? await many(connections, inC) : [],
        sshAgent ? await many(connections, sshAgent) : [],
      ];
      const rates = await inTurn(turns, {
        ours: async () => rateOf(a, rounds, async (connection) => connection.getToken({ resource })),
        floor: async () => rateOf(b, rounds, async (connection) => connection.ask()),
        C: async () => rateOf(c, rounds, async (connection) => connection.ask()),
        'ssh-agent': async () => rateOf(d, rounds, async (connection) => connection.ask()),
      });
      for (const connection of [...a, ...b, ...c, ...d]) connection.close();
      return {
        name,
        what: `token.get, ${size} kept connections at once`,
        unit: '/s',
        ...rates,
        goals: [
          { of: 'floor', atLeast: 0.7 },
          { of: 'C', atLeast: 0.2 },
        ],
      };
    },
  };
}

/** One after the other: the broker bounds how many of one process may be in their handshake. */
export async function many<T>(count: number, open: () => Promise<T>): Promise<T[]> {
  const opened: T[] = [];
  while (opened.length < count) opened.push(await open());
  return opened;
}

/** NaN for no connections. */
async function rateOf<T>(connections: readonly T[], rounds: number, ask: (of: T) => Promise<unknown>) {
  const from = performance.now();
  await Promise.all(
    connections.map(async (connection) => {
      for (let round = 0; round < rounds; round += 1) await ask(connection);
    }),
  );
  return (connections.length * rounds * 1000) / (performance.now() - from) || Number.NaN;
}
