/** Answers of a server, bounded and at the client's pace. */
import { expect, it } from 'vitest';
import { type Exchange, exchanges, watchedFetch } from '../../../src/bridge/server/exchange.ts';

/** The pieces of an answer, as the transport would read them. */
async function read(pieces: readonly string[], type: string, limit: number, ready = async () => undefined) {
  const exchange: Exchange = {};
  let pulled = 0;
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const piece = pieces[pulled];
        pulled += 1;
        if (piece === undefined) controller.close();
        else controller.enqueue(Buffer.from(piece));
      },
    },
    { highWaterMark: 0 },
  );
  const fetch = watchedFetch(
    async () => new Response(body, { headers: { 'content-type': type } }),
    { ready, seen: () => undefined },
    limit,
  );
  const text = await exchanges
    .run(exchange, async () => fetch('http://127.0.0.1/'))
    .then(async (response) => response.text())
    .catch((error: unknown) => String(error));
  return { exchange, text };
}

const sse = 'text/event-stream; charset=utf-8';

it.each([
  ['an answer as long as the limit', ['1234', '5678'], 'application/json', false],
  ['an answer over it', ['1234', '56789'], 'application/json', true],
  ['many short events', ['data:1\n\n', 'data:2\r\n\r\n', 'data:3\n\n', 'data:4\n\n'], sse, false],
  ['events that are cut anywhere', ['data:1\n', '\nda', 'ta:\r', '\n\r', '\ndata:3\n\n'], sse, false],
  ['events whose lines end with CR', ['data:1\r\r', 'data:2\r', '\rdata:3\r\r'], sse, false],
  ['events whose lines end in each way', ['d:1\r\n\r', '\nd:2\n\rd:3', '\r\r\n', 'd:4\r\n\n'], sse, false],
  ['an event of many lines that end with CR', ['data:\r', 'x\r', 'x\r\n', 'x\r'], sse, true],
  ['one event over the limit', ['data:1\n\n', 'data:', '12345'], sse, true],
  ['one event of many lines', ['data:\n', 'data:\n', 'x\n\n'], sse, true],
  ['an event with short lines in it', [':\n', 'x\n', ':\n', 'x\n', ':\n'], sse, true],
])('bounds %s', async (_what, pieces, type, isTooLarge) => {
  const { exchange, text } = await read(pieces, type, 8);
  expect(exchange.isTooLarge ?? false).toBe(isTooLarge);
  if (!isTooLarge) expect(text).toBe(pieces.join(''));
});

it('BR-16: reads no further piece before the client has taken the last', async () => {
  let waits = 0;
  const gates = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()];
  const reading = read(['1', '2', '3'], 'application/json', 8, async () => gates[waits++]?.promise);
  await expect.poll(() => waits).toBe(1);
  gates[0]?.resolve(undefined);
  await expect.poll(() => waits).toBe(2);
  gates[1]?.resolve(undefined);
  expect((await reading).text).toBe('123');
});
