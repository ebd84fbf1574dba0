/** The client's input as lines, in bounds. */
import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { Lines } from '../../src/bridge/lines.ts';

function linesOf(source: PassThrough, limit?: number) {
  const seen: string[] = [];
  const ended = Promise.withResolvers<void>();
  const lines = new Lines(
    source,
    {
      onLine: (line) => void seen.push(line.toString().trim()),
      tooLong: () => void seen.push('too long'),
      onEnd: ended.resolve,
    },
    limit,
  );
  lines.begin();
  return { lines, seen, ended: ended.promise };
}

it('BR-1: puts lines together from pieces, and leaves out empty ones', async () => {
  const source = new PassThrough();
  const { seen, ended } = linesOf(source);
  for (const piece of ['{"a"', ':1}\n\r\n  \n{"b":2}\r\n', 'rest']) source.write(piece);
  source.end();
  await ended;
  expect(seen).toEqual(['{"a":1}', '{"b":2}']);
});

it('BR-16: skips a line over the limit, once, and reads the next', async () => {
  const source = new PassThrough();
  const { seen, ended } = linesOf(source, 8);
  for (const piece of ['12345', '6789', '0123', '4567\n{}\n', '123456789\n[]\n']) source.write(piece);
  source.end();
  await ended;
  expect(seen).toEqual(['too long', '{}', 'too long', '[]']);
});
