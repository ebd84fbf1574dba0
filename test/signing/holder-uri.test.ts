/** The setting that says where keys are made. */
import { expect, it } from 'vitest';
import { isHolder, tokenPlace } from '../../src/signing/base/holder-uri.ts';

it('names a token, its module and the file with its PIN, each percent-decoded', () => {
  const uri =
    'pkcs11:token=My%20token;serial=0a1b?module-path=/usr/lib/m.so&pin-source=file:///home/anna/a%20pin';
  expect(tokenPlace(uri)).toEqual({
    module: '/usr/lib/m.so',
    token: 'My token',
    serial: '0a1b',
    pinFile: '/home/anna/a pin',
  });
  expect(tokenPlace('pkcs11:token=a?module-path=/m.so')).toEqual({ module: '/m.so', token: 'a' });
  expect(isHolder('software')).toBe(true);
  expect(tokenPlace('software')).toBeUndefined();
});

it.each([
  ['a PIN in it', 'pkcs11:token=a?module-path=/m.so&pin-value=1234'],
  ['a PIN by a command', 'pkcs11:token=a?module-path=/m.so&pin-source=|/bin/echo'],
  ['a relative module', 'pkcs11:token=a?module-path=m.so'],
  ['a relative file', 'pkcs11:token=a?module-path=/m.so&pin-source=file:pin'],
  ['no module', 'pkcs11:token=a'],
  ['no token', 'pkcs11:?module-path=/m.so'],
  ['two tokens', 'pkcs11:token=a;token=b?module-path=/m.so'],
  ['an attribute that nobody knows', 'pkcs11:token=a;slot-id=1?module-path=/m.so'],
  ['a half escape', 'pkcs11:token=a%2?module-path=/m.so'],
  ['another scheme', 'file:/m.so'],
])('refuses %s', (_what, uri) => {
  expect(isHolder(uri)).toBe(false);
});
