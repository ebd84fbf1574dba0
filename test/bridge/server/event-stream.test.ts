/** Answers of a server, bounded and at the client's pace. */
import { expect, it } from 'vitest';
import { readEvents, TooLarge, wholeText } from '../../../src/bridge/server/event-stream.ts';

function answer(pieces: readonly string[]): Response {
  const left = [...pieces];
  const pull = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
    const piece = left.shift();
    if (piece === undefined) controller.close();
    else controller.enqueue(Buffer.from(piece));
  };
  return new Response(new ReadableStream({ pull }, { highWaterMark: 0 }));
}

async function events(pieces: readonly string[], limit?: number): Promise<readonly string[] | 'too large'> {
  const seen: string[] = [];
  const hooks = {
    ready: async () => undefined,
    onEvent: ({ name, data }: { name: string; data: string }) => void seen.push(`${name} ${data}`),
    onId: (id: string) => void seen.push(`id ${id}`),
    onRetry: (ms: number) => void seen.push(`retry ${ms}`),
  };
  return readEvents(answer(pieces), hooks, limit).then(
    () => seen,
    (error: unknown) => (error instanceof TooLarge ? 'too large' : Promise.reject(error)),
  );
}

const three = ['message 1', 'message 2', 'message 3'];

it.each([
  ['short events', ['data:1\n\n', 'data:2\r\n\r\n', 'data:3\n\n'], three],
  ['events that are cut anywhere', ['data:1\r', '\n', '\nda', 'ta:2\r', '\n\r', '\ndata:3\n\n'], three],
  ['events whose lines end with CR, at once', ['data:1\r\r', 'data:2\r', '\rdata:3\r\r'], three],
  ['a byte order mark', ['\ufeffdata:1\n\ndata:2\n\ndata:3\n\n'], three],
  ['all fields', [':c\nevent: e\nid: 7\nretry: 9\ndata: a\ndata:b\nx\n\n'], ['retry 9', 'id 7', 'e a\nb']],
  ['an id alone', ['id: 7\n\n', 'id: 8\ndata\n\n'], ['id 7', 'id 8']],
  ['an event that is not whole', ['data:1\n\ndata:2\n'], ['message 1']],
])('reads %s', async (_what, pieces, seen) => {
  expect(await events(pieces)).toEqual(seen);
});

it.each([
  ['one event over the limit', ['data:1\n\n', 'data:', '12345']],
  ['an event with short lines in it', [':\n', 'xx\n', ':\n', 'xx\n', ':xx\n']],
])('bounds %s', async (_what, pieces) => {
  expect(await events(pieces, 8)).toBe('too large');
});

it('BR-16: bounds a whole answer, and reads on only after the client took a piece', async () => {
  expect(await wholeText(answer(['1234', '5678']), undefined, 8)).toBe('12345678');
  await expect(wholeText(answer(['1234', '56789']), undefined, 8)).rejects.toThrow(TooLarge);
  const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let waits = 0;
  const reading = wholeText(answer(['1', '2']), async () => gates[waits++]?.promise);
  await expect.poll(() => waits).toBe(1);
  gates[0]?.resolve();
  await expect.poll(() => waits).toBe(2);
  gates[1]?.resolve();
  expect(await reading).toBe('12');
});
