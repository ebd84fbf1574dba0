/** The variables of a proxy, as curl reads them. */
import { expect, it } from 'vitest';
import { NoProxy, proxyOf } from '../../../src/base/system/proxy-variables.ts';

it.each([
  [{}, undefined],
  [{ https_proxy: '', HTTPS_PROXY: 'http://a:1' }, 'http://a:1'],
  [{ https_proxy: 'b:2', HTTPS_PROXY: 'http://a:1' }, 'http://b:2'],
  [{ ALL_PROXY: 'https://u:p%40%6q%@a:1' }, 'https://u:p%40%256q%25@a:1'],
  [{ HTTP_PROXY: 'http://a:1', http_proxy: 'http://a:1' }, undefined],
])('takes the proxy of %j', (env, proxy) => {
  expect(proxyOf(env)).toBe(proxy);
});

it.each([
  [{ ALL_PROXY: 'socks5h://u:secret@a:1' }, /^ALL_PROXY names a SOCKS proxy, which/],
  [
    { https_proxy: 'ftp://u:secret@a:1', ALL_PROXY: 'http://a:1' },
    /^https_proxy names no http or https proxy, /,
  ],
])('goes past no proxy that it can’t use: %j', (env, words) => {
  expect(() => proxyOf(env)).toThrow(words);
  expect(() => proxyOf(env)).not.toThrow(/secret/);
});

it.each([
  ['*', 'https://a.example/', true],
  ['a.example', 'https://a.example/', true],
  ['a.example', 'https://b.a.example./', true],
  ['*.a.example', 'https://b.a.example/', true],
  ['a.example', 'https://ba.example/', false],
  ['b.example a.example', 'https://a.example/', true],
  ['a.example:8443', 'https://a.example:8443/', true],
  ['a.example:8443', 'https://a.example/', false],
  ['10.0.0.0/8', 'https://10.1.2.3/', true],
  ['10.0.0.0/8', 'https://11.1.2.3/', false],
  ['10.1.2', 'https://10.1.2.3/', false],
  ['fd00::/8', 'https://[fd12::1]/', true],
  ['[fd12::1]:443', 'https://[fd12::1]/', true],
  ['', 'https://127.0.0.1/', true],
  ['', 'https://a.example/', false],
])('NO_PROXY=%s and %s: direct %s', (list, url, isDirect) => {
  expect(new NoProxy(list).isDirect(new URL(url))).toBe(isDirect);
});
