/** Clients as people have them: what they write, and that it arrives as it was. */
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { client } from './client.ts';
import { json, plain, serve } from './server.ts';

it('holds what a client writes before its handshake is answered', async () => {
  const { url, log } = await serve((request, response, message) => {
    if (message.method !== 'initialize') return plain(request, response, message);
    setTimeout(() => plain(request, response, message), 100);
  });
  const { hello, write, ask } = await client(url);
  const first = hello();
  write('{"jsonrpc":"2.0","method":"notifications/initialized","params":null}');
  expect((await ask(1, 'tools/list', null)).result).toBeDefined();
  await first;
  expect(log.filter((line) => line.startsWith('POST'))).toEqual([
    'POST initialize',
    'POST notifications/initialized',
    'POST tools/list',
  ]);
});

it('takes a byte order mark and a batch, and answers the batch together', async () => {
  const { url } = await serve(plain);
  const { toBridge, begin, write, wait, lines } = await client(url);
  toBridge.write('\ufeff');
  await begin('2025-03-26');
  const answers = Promise.all([wait(7), wait(8)]);
  write(
    '[{"jsonrpc":"2.0","id":7,"method":"ping"},{"jsonrpc":"2.0","id":8,"method":"tools/list"},{"jsonrpc":"2.0","method":"x"}]',
  );
  await answers;
  expect(JSON.parse(lines.at(-1) ?? '')).toHaveLength(2);
});

it('passes on no request whose text is not in UTF-8', async () => {
  const { url, log } = await serve(plain);
  const { begin, call, wait, toBridge } = await client(url);
  await begin();
  const answer = wait(1);
  const request = {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'echo', arguments: { a: 'é' } },
  };
  toBridge.write(Buffer.from(`${JSON.stringify(request)}\n`, 'latin1'));
  expect((await answer).error).toMatchObject({ code: -32_700, message: expect.stringContaining('UTF-8') });
  expect((await call(2)).result).toBeDefined();
  expect(log.filter((line) => line === 'POST tools/call')).toHaveLength(1);
});

it('answers under an id that no double holds', async () => {
  const { url } = await serve(plain);
  const { begin, write, lines } = await client(url);
  await begin();
  write('{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}');
  await expect.poll(() => lines.at(-1)).toContain('"id":9007199254740993');
});

it('passes an answer on as it came, or in a form that strict clients read', async () => {
  const passed = '{"jsonrpc": "2.0","result":{ "x": 1.50 },"id":1}';
  const answers = [
    [passed, passed],
    ['{"jsonrpc":"2.0","id":2,\n"result":{ "x": 1 }}', '{"jsonrpc":"2.0","id":2,"result":{"x":1}}'],
    ['{"jsonrpc":"2.0","id":"3","result":{}}', '{"jsonrpc":"2.0","id":3,"result":{}}'],
    ['{"jsonrpc":"2.0","id":4,"result":null}', '{"jsonrpc":"2.0","id":4,"result":{}}'],
    ['{"id":5,"result":{},"error":null}', '{"jsonrpc":"2.0","id":5,"result":{}}'],
    ['[{"jsonrpc":"2.0","id":6,"result":{},"error":null}]', '{"jsonrpc":"2.0","id":6,"result":{}}'],
  ] as const;
  const { url } = await serve((request, response, message) =>
    message.method === 'ping'
      ? json(response, 200, answers[Number(message.id) - 1]?.[0] ?? '')
      : plain(request, response, message),
  );
  const { begin, ask, lines } = await client(url);
  await begin();
  for (const [index, [, read]] of answers.entries()) {
    await ask(index + 1, 'ping', {});
    expect(lines.at(-1)).toBe(read);
  }
});

/** Numbers as other languages write them, and all else that JSON has. */
const number = fc.oneof(
  fc.bigInt().map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
  fc.constantFrom('1.0', '1e400', '-0', '0.10000000000000000555111', '12345678.123456789', '1E5', '2.50'),
);
const text = fc.string({ unit: 'binary' }).map((value) => JSON.stringify(value));
const { json: anyJson } = fc.letrec<{ json: string }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 4 },
    number,
    text,
    fc.constantFrom('true', 'false', 'null'),
    fc.array(tie('json'), { maxLength: 4 }).map((items) => `[${items.join(',')}]`),
    fc.uniqueArray(fc.tuple(text, tie('json')), { maxLength: 4, selector: ([name]) => name }).map(
      // Integer-like names would change their order, as in any object of JavaScript.
      (members) =>
        `{${members.map(([name, value]) => `${name.replace(/^"(?=\d)/, '"n')}:${value}`).join(',')}}`,
    ),
  ),
}));

it('carries any value both ways as it was written, and runs each call once', async () => {
  let got = '';
  let ran = 0;
  const { url } = await serve((request, response, message, raw) => {
    if (message.method !== 'tools/call') return plain(request, response, message);
    ran += 1;
    got = /"arguments":(.*)\}\}$/s.exec(raw)?.[1] ?? '';
    json(
      response,
      200,
      `{"jsonrpc":"2.0","id":${JSON.stringify(message.id)},"result":{"content":[],"x":${got}}}`,
    );
  });
  const { begin, write, wait, lines } = await client(url);
  await begin();
  let id = 0;
  await fc.assert(
    fc.asyncProperty(anyJson, async (value) => {
      id += 1;
      const answer = wait(id);
      write(
        `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"echo","arguments":${value}}}`,
      );
      await answer;
      expect(got).toBe(value);
      expect(lines.at(-1)).toBe(`{"jsonrpc":"2.0","id":${id},"result":{"content":[],"x":${value}}}`);
    }),
    { numRuns: 200 },
  );
  expect(ran).toBe(id);
});
