/** Pages of a server that asks for them without end. */
import { expect, it } from 'vitest';
import { KeyturnError } from '../../src/base/errors.ts';
import { ShownPages } from '../../src/bridge/shown-page.ts';
import { startTokenBroker } from '../support/token-broker.ts';

const endpoint = new URL('https://notes.example/mcp');
const page = { url: 'https://pay.example/', message: 'Pay first' };
const { signal } = new AbortController();

/** A broker that answers each page with `answer`, and counts the connections. */
async function desk(answer: () => Promise<unknown>) {
  let now = 0;
  let connections = 0;
  const said: string[] = [];
  const connect = await startTokenBroker(answer);
  const pages = new ShownPages({
    endpoint,
    connection: async () => {
      connections += 1;
      return connect();
    },
    report: (error) => {
      said.push(String(error));
      return error instanceof KeyturnError ? error : new KeyturnError('internal', 'It failed.');
    },
    time: { now: () => now },
  });
  return {
    said,
    pass: (seconds: number) => void (now += seconds * 1000),
    ask: async () => pages.show(page, signal),
    connections: () => connections,
  };
}

const limited = async (): Promise<never> => {
  throw new KeyturnError('rate_limited', 'Too soon.', { retryAfter: 30 });
};

it('pages of a server that asks without end cost one connection and one line', async () => {
  const { ask, pass, said, connections } = await desk(limited);
  for (let count = 0; count < 20; count += 1)
    expect(await ask()).toMatchObject({ action: 'cancel', trouble: { reason: 'rate_limited' } });
  pass(29);
  await ask();
  expect([said.length, connections()]).toEqual([1, 1]);
  pass(2);
  await ask();
  expect([said.length, connections()]).toEqual([2, 2]);
});
