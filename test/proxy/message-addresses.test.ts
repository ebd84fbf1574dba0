/** The first event of a stream of the older transport, which names the address for messages. */
import { describe, expect, it } from 'vitest';
import { messageUrl, readdressed } from '../../src/proxy/message-addresses.ts';

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

describe('an endpoint event', () => {
  it.each([
    ['LF', `event: endpoint\ndata: /messages?s=1\n\n`],
    ['CR LF', `event: endpoint\r\ndata: /messages?s=1\r\n\r\n`],
    ['CR', `event: endpoint\rdata: /messages?s=1\r\r`],
    ['the data first and no spaces', `data:/messages?s=1\nevent:endpoint\n\n`],
    ['a byte order mark', `\uFEFFevent: endpoint\ndata: /messages?s=1\n\n`],
  ])('with %s gets our address, however it comes in pieces', async (_how, event) => {
    const expected = { text: `event: endpoint\ndata: /here\n\n${rest}`, named: ['/messages?s=1'] };
    expect(await passed([event + rest])).toEqual(expected);
    expect(await passed([event, rest])).toEqual(expected);
    const { text, named } = await passed([...Buffer.from(event + rest)].map((byte) => Uint8Array.of(byte)));
    expect(named).toEqual(expected.named);
    // Where CR and LF come apart, an empty line more may stay.
    expect(text.replaceAll(/\n\n\n+/g, '\n\n')).toBe(expected.text);
  });

  it('gets our address after comments too', async () => {
    const { text, named } = await passed([': hello\n\n', 'event: endpoint\ndata: /m\n\n', rest]);
    expect(named).toEqual(['/m']);
    expect(text).toBe(`: hello\n\nevent: endpoint\ndata: /here\n\n${rest}`);
  });
});

describe('a stream', () => {
  it.each([
    ['that begins with a message', [rest, 'event: endpoint\ndata: /m\n\n']],
    ['that begins without end', [`data: ${'x'.repeat(9000)}`, `${'x'.repeat(9000)}\n\n`]],
    ['that ends in its first event', ['event: endpoint\ndata: /m']],
  ])('%s passes as it is', async (_how, pieces) => {
    expect(await passed(pieces)).toEqual({ text: pieces.join(''), named: [] });
  });
});

describe('the address for messages', () => {
  it.each([
    ['/messages?s=1', 'https://notes.example/messages?s=1'],
    ['messages', 'https://notes.example/messages'],
    ['https://notes.example/other', 'https://notes.example/other'],
  ])('is read against the stream’s own: %s', (named, url) => {
    expect(messageUrl(named, streamUrl)).toBe(url);
  });

  it.each(['https://elsewhere.example/m', 'http://notes.example/m', '//elsewhere.example/m', 'http://['])(
    'is refused at another origin: %s',
    (named) => {
      expect(() => messageUrl(named, streamUrl)).toThrow(
        expect.objectContaining({ reason: 'resource_mismatch' }),
      );
    },
  );
});
