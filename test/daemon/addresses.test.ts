/** Which addresses count as the public Internet. */
import { describe, expect, it } from 'vitest';
import { isGlobal, isPrivateHost } from '../../src/daemon/addresses.ts';

describe('isGlobal', () => {
  it.each(['93.184.216.34', '2606:2800:220:1:248:1893:25c8:1946'])('takes %s', (address) => {
    expect(isGlobal(address)).toBe(true);
  });

  it.each([
    ['loopback', '127.0.0.1'],
    ['private', '10.1.2.3'],
    ['private', '192.168.0.1'],
    ['link-local, where clouds keep their metadata', '169.254.169.254'],
    ['carrier-grade NAT', '100.64.0.1'],
    ['unspecified', '0.0.0.0'],
    ['broadcast', '255.255.255.255'],
    ['loopback', '::1'],
    ['unique local', 'fd00::1'],
    ['link-local', 'fe80::1'],
    ['mapped', '::ffff:127.0.0.1'],
    ['mapped public', '::ffff:93.184.216.34'],
    ['NAT64', '64:ff9b::7f00:1'],
    ['6to4', '2002:7f00:1::'],
    ['no address', 'localhost'],
  ])('refuses a %s address: %s', (_kind, address) => {
    expect(isGlobal(address)).toBe(false);
  });
});

describe('isPrivateHost', () => {
  it('finds this machine by its name and by its number', async () => {
    expect(await isPrivateHost('localhost')).toBe(true);
    expect(await isPrivateHost('127.0.0.1')).toBe(true);
    expect(await isPrivateHost('::1')).toBe(true);
  });

  it('does not take a name that resolves to nothing for a private one', async () => {
    expect(await isPrivateHost('nothing.invalid')).toBe(false);
  });
});
