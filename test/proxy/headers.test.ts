/** Which headers pass a proxy, in both directions. */
import { expect, it } from 'vitest';
import { headersToAnswer, headersToSend } from '../../src/proxy/headers.ts';

it('H-2 H-3: a request loses its connection’s headers, credentials and origin', () => {
  const kept = ['Accept', 'text/event-stream', 'Mcp-Session-Id', 's-1', 'MCP-Protocol-Version', '2025-11-25'];
  const lost = [
    ['Connection', 'keep-alive, X-Of-This'],
    ['connection', 'X-Also'],
    ['X-Of-This', '1'],
    ['X-Also', '1'],
    ['Keep-Alive', 'timeout=5'],
    ['Proxy-Authorization', 'Basic eDp5'],
    ['TE', 'trailers'],
    ['Trailer', 'X-T'],
    ['Transfer-Encoding', 'chunked'],
    ['Upgrade', 'h2c'],
    ['Authorization', 'Bearer of-the-client'],
    ['Cookie', 'a=b'],
    ['Host', '127.0.0.1:1'],
    ['Content-Length', '2'],
    ['Origin', 'https://page.example'],
    ['X-Forwarded-For', '9.9.9.9'],
  ].flat();
  expect([...headersToSend([...lost, ...kept])]).toEqual([
    ['accept', 'text/event-stream'],
    ['accept-encoding', 'identity'],
    ['mcp-protocol-version', '2025-11-25'],
    ['mcp-session-id', 's-1'],
  ]);
});

it('H-3: an answer loses its connection’s headers, credentials and page rules', () => {
  const headers = new Headers({
    connection: 'close, x-of-this',
    'x-of-this': '1',
    'keep-alive': 'timeout=5',
    'transfer-encoding': 'chunked',
    'proxy-authenticate': 'Basic',
    'www-authenticate': 'Bearer',
    'access-control-allow-origin': '*',
    'strict-transport-security': 'max-age=1',
    'content-encoding': 'gzip',
    'content-length': '9',
    'content-type': 'application/json',
    'mcp-session-id': 's-2',
  });
  headers.append('set-cookie', 'a=b');
  expect(headersToAnswer({ headers })).toEqual({
    'content-type': 'application/json',
    'mcp-session-id': 's-2',
  });
});
