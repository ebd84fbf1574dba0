import { expect, it } from 'vitest';
import { requireKeyHeader } from '../../../src/broker/records/key-header.ts';

const refused =
  'Host cookie Content-Type Mcp-Session-Id MCP-Protocol-Version Connection Transfer-Encoding Proxy-Authorization ' +
  'Origin X-Forwarded-For X-HTTP-Method-Override Accept Last-Event-ID X-Key:';

it.each([...refused.split(' '), 'no header', ''])('no API key goes in the header %j', (header) => {
  expect(() => requireKeyHeader(header)).toThrow(expect.objectContaining({ reason: 'invalid_request' }));
});

it.each(['Authorization', 'X-Api-Key', 'private-token'])('an API key may go in %s', (header) => {
  expect(() => requireKeyHeader(header)).not.toThrow();
});
