/** The canonical URI of an MCP server. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalResource, resourceCovers } from '../../../src/oauth/base/resource.ts';
import { everyWordOf, refusalOf } from '../refusal.ts';

const strict = { allowInsecureLoopback: false };

describe('canonicalResource', () => {
  it.each([
    ['https://server.example', 'https://server.example'],
    ['HTTPS://Server.Example:443/Path', 'https://server.example/Path'],
    ['https://server.example/mcp/', 'https://server.example/mcp'],
    ['https://server.example/a/../b', 'https://server.example/b'],
    ['https://[2001:DB8::1]/x', 'https://[2001:db8::1]/x'],
  ])('I-3: writes %s as %s', (input, canonical) => {
    expect(canonicalResource(input, strict)).toBe(canonical);
  });

  it.each([
    'server.example/mcp',
    'https:server.example',
    'https://server.example/mcp#part',
    'https://server.example/mcp?tenant=1',
    'https://name:word@server.example/',
    'https://server.example\\mcp',
    ' https://server.example',
    'http://server.example/mcp',
    'ws://server.example/mcp',
    'stdio:///usr/local/bin/server',
    'javascript://server.example/%0aalert(1)',
  ])('F-2 F-3 I-4: refuses %j and says what to type', async (input) => {
    const refusal = await refusalOf(() => canonicalResource(input, strict));
    expect(refusal.reason).toBe('invalid_resource');
    expect(refusal.hint).toBeTruthy();
  });

  it('accepts http as a resource only on a loopback host, and only if that is allowed', async () => {
    const lenient = { allowInsecureLoopback: true };
    expect(canonicalResource('http://localhost:3000/mcp', lenient)).toBe('http://localhost:3000/mcp');
    expect(canonicalResource('http://[::1]:3000/mcp', lenient)).toBe('http://[::1]:3000/mcp');
    expect((await refusalOf(() => canonicalResource('http://server.example', lenient))).reason).toBe(
      'invalid_resource',
    );
  });

  it('repeats no password of a resource that it refuses', async () => {
    const input = 'https://name:pa55word@server.example/?key=s3cret';
    expect(everyWordOf(await refusalOf(() => canonicalResource(input, strict)))).not.toMatch(
      /pa55word|s3cret/,
    );
  });

  it('I-2: the canonical form of a canonical resource is the same', () => {
    fc.assert(
      fc.property(fc.webUrl({ validSchemes: ['https'] }), (url) => {
        const once = canonicalResource(url, strict);
        expect(canonicalResource(once, strict)).toBe(once);
        expect(canonicalResource(`${once}/`, strict)).toBe(once);
      }),
    );
  });
});

describe('resourceCovers', () => {
  it.each([
    ['https://server.example', 'https://server.example/mcp'],
    ['https://server.example/mcp', 'https://server.example/mcp'],
    ['https://server.example/mcp/', 'https://server.example/mcp'],
    ['https://server.example/mcp', 'https://server.example/mcp/tools'],
    ['HTTPS://SERVER.example:443/mcp', 'https://server.example/mcp'],
  ])('%s covers %s', (resource, endpoint) => {
    expect(resourceCovers(resource, endpoint)).toBe(true);
  });

  it.each([
    ['https://server.example/mcp', 'https://server.example/mcpx'],
    ['https://server.example/mcp/tools', 'https://server.example/mcp'],
    ['https://server.example/mcp', 'https://server.example/mcp/../other'],
    ['https://other.example', 'https://server.example/mcp'],
    ['http://server.example', 'https://server.example/mcp'],
    ['urn:server', 'urn:server'],
  ])('N-10: %s does not cover %s', (resource, endpoint) => {
    expect(resourceCovers(resource, endpoint)).toBe(false);
  });
});
