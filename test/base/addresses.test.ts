/** Which addresses count as the public Internet, and how far a request may go. */
import { describe, expect, it } from 'vitest';
import { hostOf, isGlobal, reachOf } from '../../src/base/addresses.ts';

describe('isGlobal', () => {
  it.each(['93.184.216.34', '2606:2800:220:1:248:1893:25c8:1946', '2a00:1450:4001:831::200e'])(
    'takes %s for a public address',
    (address) => {
      expect(isGlobal(address)).toBe(true);
    },
  );

  it.each([
    ['this network', '0.1.2.3'],
    ['private', '10.1.2.3'],
    ['carrier-grade NAT', '100.64.0.1'],
    ['loopback', '127.0.0.1'],
    ['link-local, where clouds keep their metadata', '169.254.169.254'],
    ['private', '192.168.0.1'],
    ['benchmarking', '198.19.255.255'],
    ['multicast', '224.0.0.1'],
    ['broadcast', '255.255.255.255'],
    ['unspecified', '0.0.0.0'],
    ['no canonical', '127.1'],
    ['no', 'localhost'],
  ])('a %s address of IPv4 doesn’t count as public: %s', (_kind, address) => {
    expect(isGlobal(address)).toBe(false);
  });

  it.each([
    ['unspecified', '::'],
    ['loopback', '::1'],
    ['compatible', '::7f00:1'],
    ['mapped', '::ffff:127.0.0.1'],
    ['translated', '::ffff:0:127.0.0.1'],
    ['NAT64', '64:ff9b::7f00:1'],
    ['local NAT64', '64:ff9b:1::7f00:1'],
    ['unassigned', '1000::1'],
    ['unique local', 'fd00::1'],
    ['link-local', 'fe80::1'],
    ['multicast', 'ff02::1'],
    ['Teredo', '2001:0:7f00:1::1'],
    ['documentation', '2001:db8::1'],
    ['6to4', '2002:7f00:1::'],
    ['link-local, with a zone', 'fe80::1%eth0'],
  ])('a %s address of IPv6 doesn’t count as public: %s', (_kind, address) => {
    expect(isGlobal(address)).toBe(false);
  });
});

describe('reachOf', () => {
  const confirmed = ['inner.example', '10.0.0.9'];
  const isConfirmed = (url: string): boolean => confirmed.includes(hostOf(url));
  const reach = (url: string, endpoint: string): string => {
    try {
      return reachOf(url, { endpoint, isConfirmed });
    } catch (error) {
      return error instanceof Error && 'reason' in error ? String(error.reason) : 'another error';
    }
  };

  it.each([
    ['a name, whatever its address is', 'https://server.example', 'https://server.example/mcp', 'public'],
    ['another name', 'https://issuer.example', 'https://server.example/mcp', 'public'],
    ['a public address', 'https://93.184.216.34', 'https://server.example/mcp', 'public'],
    ['a typed private address', 'https://10.0.0.5:8443/token', 'https://10.0.0.5/mcp', 'anywhere'],
    ['a typed address of IPv6', 'https://[fd00::1]/token', 'https://[fd00:0::1]/mcp', 'anywhere'],
    ['a confirmed name', 'https://inner.example', 'https://server.example/mcp', 'anywhere'],
    ['a confirmed name with a dot', 'https://INNER.example.', 'https://server.example/mcp', 'anywhere'],
    ['a confirmed address', 'https://10.0.0.9', 'https://server.example/mcp', 'anywhere'],
    ['this machine, typed by a name', 'https://127.0.0.1:1', 'https://localhost./mcp', 'thisMachine'],
    ['this machine, typed by an address', 'https://a.localhost', 'https://[::1]/mcp', 'thisMachine'],
  ])('a request may go to %s', (_what, url, endpoint, expected) => {
    expect(reach(url, endpoint)).toBe(expected);
  });

  const inner =
    '10.0.0.5 127.0.0.1 0x7f.1 127.0.0.1. 127。0。0。1 localhost a.localhost [::1] [::ffff:10.0.0.5] 169.254.169.254';

  it.each(inner.split(' '))('refuses a request to %s, which nobody typed or confirmed', (host) => {
    const url = `https://${host}`;
    expect(reach(url, 'https://server.example/mcp')).toBe('insecure_url');
    expect(reach(url, 'https://10.0.0.6/mcp')).toBe('insecure_url');
    expect(reach(url, 'https://inner.example/mcp')).toBe('insecure_url');
  });

  it('the refusal names the command that confirms the host, without foreign text', () => {
    const trust = { endpoint: 'https://server.example/mcp', isConfirmed: () => false };
    const command = (host: string): string => `keyturn exception add ${host} private-address.`;
    for (const [url, host] of [
      ['https://10.0.0.5/token', '10.0.0.5'],
      ['https://[fd00::1]/token', 'fd00::1'],
      ['https://a.localhost./token', 'a.localhost'],
      ['https://$(id).localhost/token', 'HOST'],
      ['https://-x.localhost/token', 'HOST'],
    ] as const) {
      expect(() => reachOf(url, trust)).toThrow(
        expect.objectContaining({ hint: expect.stringContaining(command(host)) }),
      );
    }
  });
});
