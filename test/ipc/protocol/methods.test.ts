/** The schemas of the daemon and the hand-written guards of the clients accept the same answers. */
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { KeyturnError } from '../../../src/base/errors.ts';
import { methods } from '../../../src/ipc/protocol/methods.ts';
import { networkResult, tokenRejectResult, tokenResult } from '../../../src/ipc/protocol/token-methods.ts';
import { errorBody, errorFrom, parseMessage } from '../../../src/ipc/wire/json-rpc.ts';
import { isNetworkResult } from '../../../src/ipc/wire/network-messages.ts';
import { isTokenRejectResult, isTokenResult } from '../../../src/ipc/wire/token-messages.ts';
import { anyText } from '../../support/any-text.ts';
import { wireToken } from '../wire-token.ts';

const token = wireToken('https://files.example/api', {
  access_token: 'abc.def-ghi_jkl~+/=',
  scope: 'files.read files.write',
  tokenId: 'a1_-',
});

/** Values that differ from a good field in every way that has been thought of. */
const oddities = fc.oneof(
  fc.constantFrom<unknown>(undefined, null, 0, -1, 1.5, Number.MAX_SAFE_INTEGER, 2 ** 53, true, [], {}),
  fc.constantFrom('', ' ', 'a b', 'é', 'x\n'),
  fc.constantFrom(64, 65, 256, 257, 2048, 2049, 4096, 4097, 16_384, 16_385).map((n) => 'x'.repeat(n)),
  anyText(),
  fc.anything(),
);

const tokens = fc
  .tuple(fc.constantFrom(...Object.keys(token)), oddities)
  .map(([field, value]) => ({ ...token, [field]: value }));

const network = { authorities: 'a', httpsProxy: 'b', noProxy: 'c', proxyCredentials: 'withheld' };
const rejection = { rejected: false, retryAfter: 60 };

test.each<[string, object, (value: unknown) => boolean, { safeParse(value: unknown): { success: boolean } }]>(
  [
    ['token.get', token, isTokenResult, tokenResult],
    ['token.reject', rejection, isTokenRejectResult, tokenRejectResult],
    ['network.get', network, isNetworkResult, networkResult],
  ],
)('guard and schema agree about every answer to %s', (_method, whole, isResult, schema) => {
  const bent = fc
    .tuple(fc.constantFrom(...Object.keys(whole)), fc.oneof(oddities, tokens))
    .map(([field, value]) => ({ ...whole, [field]: value }));
  expect(isResult(whole)).toBe(true);
  fc.assert(
    fc.property(fc.oneof(bent, fc.anything()), (value) => {
      expect(isResult(value)).toBe(schema.safeParse(value).success);
    }),
    { numRuns: 1000 },
  );
});

test.each([
  ['token.get', { resource: 'https://a.example', interaction: 'always' }],
  ['token.get', { resource: 'x'.repeat(2049) }],
  ['token.get', { resource: 'https://a.example', challenge: { status: 400 } }],
  ['token.reject', { status: 401 }],
  ['token.reject', { status: 401, tokenId: 'a', access_token: 'b' }],
  ['permission.set', { client: 'editor', resource: 'https://a.example', decision: 'maybe' }],
  ['app.remove', { client: 'two\nlines' }],
  ['request.answer', { id: 'a', answer: 'always' }],
  ['request.answer', { id: 'a', answer: 'approve', duration: { asBefore: true, seconds: 60 } }],
  ['settings.set', { name: '__proto__', value: 1 }],
] as const)('the methods refuse malformed parameters of %s: %j', (method, params) => {
  expect(methods[method].params.safeParse(params).success).toBe(false);
});

const parse = (text: string | Buffer) => parseMessage(Buffer.from(text));

test.each([
  '[]',
  '[{"jsonrpc":"2.0","id":1,"method":"status"}]',
  '{}',
  '{"jsonrpc":"1.0","id":1,"method":"a"}',
  '{"jsonrpc":"2.0","id":null,"method":"a"}',
  '{"jsonrpc":"2.0","id":1.5,"method":"a"}',
  '{"jsonrpc":"2.0","id":1,"method":5}',
  '{"jsonrpc":"2.0","id":1,"result":1,"error":{"code":1,"message":"m"}}',
  '{"jsonrpc":"2.0","id":1,"error":{"code":"1","message":"m"}}',
  `{"jsonrpc":"2.0","id":1,"method":"${'m'.repeat(65)}"}`,
])('a message is refused as invalid: %s', (text) => {
  expect(() => parse(text)).toThrow(expect.objectContaining({ reason: 'frame_invalid' }));
});

describe('an error on the wire', () => {
  test('PROMISE-7: comes back with its reason, hint, rule and pause', () => {
    const error = new KeyturnError('rate_limited', 'often', { hint: 'wait', rule: 'ours', retryAfter: 3 });
    const back = errorFrom(errorBody(error));
    expect(back).toMatchObject({ reason: 'rate_limited', message: 'often', hint: 'wait', rule: 'ours' });
    expect(back.retryAfter).toBe(3);
  });

  test('never carries the text of a foreign error', () => {
    const body = errorBody(new Error('the key is hunter2', { cause: 'hunter2' }));
    expect(JSON.stringify(body)).not.toContain('hunter2');
    expect(body).toMatchObject({ code: -32603, data: { reason: 'internal' } });
  });

  test('shows control characters and direction overrides as escapes', () => {
    const message = 'a\u001b[2Jb\u202ec\nd';
    const error = errorFrom({ code: -1, message });
    expect(error.message).toBe(`${String.raw`a\u001b[2Jb\u202ec`}\nd`);
    expect(error.reason).toBe('internal');
  });
});
