import { expect, it } from 'vitest';
import { requireApiKeyHeader } from '../../../src/broker/records/api-key-header.ts';

const refused =
  'Host cookie Content-Type Mcp-Session-Id MCP-Protocol-Version Connection Transfer-Encoding Proxy-Authorization ' +
  'Origin X-Forwarded-For X-HTTP-Method-Override Accept Last-Event-ID';

it.each(refused.split(' '))('no API key goes in the header %j', (header) => {
  expect(() => requireApiKeyHeader(header)).toThrow(expect.objectContaining({ reason: 'invalid_request' }));
});

it.each(['Authorization', 'X-Api-Key', 'private-token'])('an API key may go in %s', (header) => {
  expect(() => requireApiKeyHeader(header)).not.toThrow();
});
