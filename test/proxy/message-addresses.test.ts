/** Streams of the older transport, whose `endpoint` events name the address for messages. */
import { describe, expect, it } from 'vitest';
import { readdressed } from '../../src/proxy/endpoint-events.ts';
import { MessageAddresses, messageUrl, StreamAddresses } from '../../src/proxy/message-addresses.ts';

const streamUrl = 'https://notes.example/sse';

/** What passes of a stream that comes in these pieces, and which addresses were named. */
async function passed(pieces: readonly (string | Uint8Array)[]) {
  const named: string[] = [];
  const stream = (async function* () {
    for (const piece of pieces) yield Buffer.from(piece);
  })();
  const chunks: Uint8Array[] = [];
  for await (const chunk of readdressed(stream, (address) => {
    named.push(address);
    return '/here';
  }))
    chunks.push(chunk);
  return { text: Buffer.concat(chunks).toString('utf8'), named };
}

const rest = 'event: message\ndata: {"a":"é"}\n\n';

it.each([
  ['LF', `event: endpoint\ndata: /messages?s=1\n\n`],
  ['CR LF', `event: endpoint\r\ndata: /messages?s=1\r\n\r\n`],
  ['CR', `event: endpoint\rdata: /messages?s=1\r\r`],
  ['a byte order mark', `\uFEFFevent: endpoint\ndata: /messages?s=1\n\n`],
])('an endpoint event with %s gets our address, however it comes in pieces', async (_how, event) => {
  const expected = { text: `event: endpoint\ndata: /here\n\n${rest}`, named: ['/messages?s=1'] };
  expect(await passed([event + rest])).toEqual(expected);
  expect(await passed([event, rest])).toEqual(expected);
  const { text, named } = await passed([...Buffer.from(event + rest)].map((byte) => Uint8Array.of(byte)));
  expect(named).toEqual(expected.named);
  // Where CR and LF come apart, a line feed more may stay.
  expect(text.replaceAll(/\n\n\n+/g, '\n\n')).toBe(expected.text);
});

const endpoint = 'event: endpoint\ndata: https://evil.example/m\n\n';
const ours = 'event: endpoint\ndata: /here\n\n';

describe('an endpoint event gets our address also', () => {
  it.each([
    ['after another event', ['event: ping\ndata: 1\n\n', endpoint], `event: ping\ndata: 1\n\n${ours}`],
    ['in the piece of the event before it', [rest + endpoint + rest], rest + ours + rest],
    ['after a long comment', [`:${'x'.repeat(20_000)}\n\n`, endpoint], `:${'x'.repeat(20_000)}\n\n${ours}`],
    [
      'after a long event in pieces',
      [`data: ${'x'.repeat(9000)}`, 'y\n\n', endpoint],
      `data: ${'x'.repeat(9000)}y\n\n${ours}`,
    ],
    ['in a piece that ends within it', [`${rest}event: endp`, 'oint\ndata: /m\n', '\n'], rest + ours],
  ])('an endpoint event gets our address also %s', async (_where, pieces, expected) => {
    expect((await passed(pieces)).text).toBe(expected);
  });

  it.each([
    ['its address', [`event: endpoint\ndata: https://evil.example/${'x'.repeat(20_000)}\n\n`]],
    ['its address first', [`data: https://evil.example/${'x'.repeat(20_000)}`, '\nevent: endpoint\n\n']],
  ])('the stream ends at an endpoint event if this is too long: %s', async (_what, pieces) => {
    await expect(passed(pieces)).rejects.toMatchObject({ reason: 'resource_mismatch' });
  });
});

it.each([
  ['of messages', [rest, rest + rest, 'data: 1\n', '\n']],
  ['whose long event has many lines', [`data: ${'x'.repeat(9000)}\ndata`, ': 2\nevent: endpoints\n\n']],
  ['that ends in its first event', ['event: endpoint\ndata: /m']],
])('a stream %s passes as it is', async (_how, pieces) => {
  expect(await passed(pieces)).toEqual({ text: pieces.join(''), named: [] });
});

describe('the address for messages', () => {
  it.each([
    ['/messages?s=1', 'https://notes.example/messages?s=1'],
    ['https://notes.example/other', 'https://notes.example/other'],
  ])('the address for messages is read against the stream’s own: %s', (named, url) => {
    expect(messageUrl(named, streamUrl)).toBe(url);
  });

  it.each(['https://elsewhere.example/m', 'http://notes.example/m', '//elsewhere.example/m', 'http://['])(
    'H-1: the address for messages is refused at another origin: %s',
    (named) => {
      expect(() => messageUrl(named, streamUrl)).toThrow(
        expect.objectContaining({ reason: 'resource_mismatch' }),
      );
    },
  );
});

it('H-18: a stream keeps its last 16 addresses for messages, and none after its end', () => {
  const all = new MessageAddresses();
  const [other, stream] = [new StreamAddresses(all), new StreamAddresses(all)];
  const destination = { resource: 'https://notes.example/m', fetch: globalThis.fetch };
  const kept = other.add(destination);
  const queries = Array.from({ length: 100 }, () => stream.add(destination));
  const isKnown = (query: string): boolean => {
    try {
      return all.at(query) === destination;
    } catch {
      return false;
    }
  };
  expect(queries.map(isKnown)).toEqual(queries.map((_, index) => index >= 84));
  stream.end();
  expect(queries.some(isKnown)).toBe(false);
  expect(isKnown(kept)).toBe(true);
});
