/** Pages of a server that asks for them without end. */
import { describe, expect, it } from 'vitest';
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
    now: () => now,
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

describe('pages of a server that asks without end', () => {
  it('pages of a server that asks without end cost one connection and one line until the pause is over that the broker named', async () => {
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

  it('pages of a server that asks without end rest longer after each refusal, and no longer once one was answered', async () => {
    let isRefused = true;
    const { ask, pass, connections } = await desk(async () => {
      if (isRefused) throw new KeyturnError('insecure_url', 'Refused to show an address.');
      return { action: 'accept' };
    });
    for (const seconds of [1, 2, 4]) {
      await ask();
      pass(seconds - 0.5);
      await ask();
      pass(0.5);
    }
    expect(connections()).toBe(3);
    isRefused = false;
    expect(await ask()).toMatchObject({ action: 'accept' });
    isRefused = true;
    await ask();
    pass(1);
    await ask();
    expect(connections()).toBe(6);
  });

  it('pages of a server that asks without end cost one line when many fail together, and are not shown beside eight open ones', async () => {
    const { ask, said, connections } = await desk(limited);
    const answers = await Promise.all(Array.from({ length: 50 }, ask));
    expect(answers.every(({ action }) => action === 'cancel')).toBe(true);
    expect([said.length, connections()]).toEqual([1, 8]);
  });
});
