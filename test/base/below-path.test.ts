/** What is below a path, and what is this machine: one rule each. */
import { describe, expect, it } from 'vitest';
import { isBelow } from '../../src/base/text/below-path.ts';
import { isLoopbackHost, isThisMachine } from '../../src/base/text/this-machine.ts';
import { isWithin } from '../../src/client/endpoint-url.ts';
import { resourceCovers } from '../../src/oauth/base/resource.ts';
import { isLocal } from '../../src/server/authorization/clients/redirect.ts';

const outer = 'https://notes.example/mcp';

describe('below a path', () => {
  it.each(['', '/', '/a', '/a/../b', '/a%20b', '/..a', '/a..', '/a;b=1', '/100%25', '/%E6%97%A5', '?a=..'])(
    '%j is',
    (more) => {
      expect(isBelow(new URL(outer), new URL(outer + more))).toBe(true);
      expect(isWithin(new URL(outer), new URL(outer + more))).toBe(true);
      expect(resourceCovers(outer, outer + more)).toBe(true);
    },
  );

  const outside = `2 /.. /..;/x /%2e%2e%2fx /..%2fx /..%5cx /%252e%252e%252fx /..%20/x
    /..%00/x /.../x /..::$DATA/x /.%e2%80%8b./x /．．/x /..／x /a/%2e%2e%2f%2e%2e/x /%ff/x`.split(/\s+/);

  it.each(outside)('%j is not', (more) => {
    expect(isBelow(new URL(outer), new URL(outer + more))).toBe(false);
    expect(isWithin(new URL(outer), new URL(outer + more))).toBe(false);
    expect(resourceCovers(outer, outer + more)).toBe(false);
  });
});

describe('this machine', () => {
  const here = `localhost LOCALHOST. a.localhost a.localhost. 127.0.0.1 2130706433
    0.0.0.0 [::1] [::] [::ffff:127.0.0.1] localhost.localdomain ip6-loopback`.split(/\s+/);

  it.each(here)('%s is, whatever its spelling', (host) => {
    expect(isThisMachine(new URL(`https://${host}/`).hostname)).toBe(true);
    expect(isLocal(`https://${host}/callback`)).toBe(true);
  });

  it.each(['localhost.example', 'notlocalhost', '10.0.0.1', '[::2]', '[::ffff:10.0.0.1]'])(
    '%s is not',
    (host) => expect(isThisMachine(new URL(`https://${host}/`).hostname)).toBe(false),
  );

  it.each(['localhost.', 'a.localhost', '[::ffff:7f00:1]', '0.0.0.0'])(
    '%s gets https only, since a resolver may lead it elsewhere',
    (host) => expect(isLoopbackHost(host)).toBe(false),
  );
});
