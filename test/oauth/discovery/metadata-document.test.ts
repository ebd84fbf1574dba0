/** Fetching a metadata document from a real server that does not always behave. */
import { gzipSync } from 'node:zlib';
import { Agent, fetch as fetchBy } from 'undici';
import { describe, expect, it, onTestFinished } from 'vitest';
import { RuleRefusal, Unreachable } from '../../../src/base/errors.ts';
import { ResponseLost } from '../../../src/oauth/base/http.ts';
import { fetchMetadata, firstMetadata } from '../../../src/oauth/discovery/metadata-document.ts';
import { startLoopbackServer } from '../../support/servers/loopback-server.ts';
import { refusalOf } from '../refusal.ts';
import { siteOfFile, type Page } from '../site.ts';

const reason = 'authorization_server_unreachable';

const site = await siteOfFile();

const get = (path = '/doc', http = site.http) => fetchMetadata(site.origin + path, http, reason);

const json = { 'content-type': 'application/json' };

describe('a metadata document', () => {
  it('is found as JSON, with a +json type, and after redirects within the origin', async () => {
    site.lay('/doc', { status: 302, headers: { location: '/two' } });
    site.lay('/two', { status: 308, headers: { location: `${site.origin}/three` } });
    site.lay('/three', { status: 307, headers: { location: 'four' } });
    site.lay('/four', { headers: { 'content-type': 'application/x+json; charset=utf-8' }, body: '{"a":1}' });
    expect(await get()).toMatchObject({ kind: 'found', url: `${site.origin}/four`, json: { a: 1 } });
  });

  it.each([401, 404])('N-12: a document is absent if the server answers %i', async (status) => {
    site.lay('/doc', { status, body: { error: 'x' } });
    expect(await get()).toEqual({ kind: 'absent', status });
  });

  it('M-6: stops reading a document at the limit of its size, even if it never ends', async () => {
    const headers = json;
    site.lay('/doc', { headers, body: `"${'x'.repeat(300 * 1024)}`, hangs: true });
    expect(await refusalOf(() => get())).toMatchObject({ reason: 'metadata_invalid' });
  });

  it('M-6: the limit of a document counts its unpacked size', async () => {
    const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
    site.lay('/doc', { headers, body: gzipSync(JSON.stringify({ a: 'x'.repeat(10_000_000) })) });
    expect(await refusalOf(() => get())).toMatchObject({ reason: 'metadata_invalid' });
  });

  it.each(['text/plain', ''])('reads JSON of the type "%s", as plain file servers send it', async (type) => {
    site.lay('/doc', { headers: type === '' ? {} : { 'content-type': type }, body: '{"a":1}' });
    expect(await get()).toMatchObject({ kind: 'found', json: { a: 1 } });
  });

  const latin = { 'content-type': 'application/json; charset=latin1' };
  it.each<[string, Page]>([
    ['JSON that is called a web page', { headers: { 'content-type': 'text/html' }, body: ' {"a":1}' }],
    ['a web page that is called JSON', { headers: json, body: '<html>' }],
    ['broken JSON', { headers: json, body: '{' }],
    ['text that is not UTF-8', { headers: latin, body: '{"a":"\ud800"' }],
    ['a tower of lists', { headers: json, body: `{"a":${'['.repeat(99_999)}${']'.repeat(99_999)}}` }],
    ['a redirect to another origin', { status: 302, headers: { location: 'https://localhost:1/doc' } }],
    ['a redirect to http', { status: 302, headers: { location: 'http://127.0.0.1/doc' } }],
  ])('M-6: refuses a document that is %s', async (_what, page) => {
    site.lay('/doc', page);
    const refusal = await refusalOf(() => get());
    expect(refusal).toBeInstanceOf(RuleRefusal);
    expect(refusal.reason).toBe('metadata_invalid');
  });

  it('M-6: follows three redirects and no fourth', async () => {
    site.lay('/doc', { status: 302, headers: { location: '/doc' } });
    await refusalOf(() => get());
    expect(site.asked).toHaveLength(4);
  });

  it.each([429, 503])('a document is neither absent nor invalid if the server answers %i', async (status) => {
    site.lay('/doc', { status, headers: { 'retry-after': '7' } });
    const error = await refusalOf(() => get());
    expect(error).toBeInstanceOf(Unreachable);
    expect(error).toMatchObject({ reason, retryAfter: 7 });
  });

  it('M-6: a document is unreachable after a time-out in the middle of it', async () => {
    site.lay('/doc', { headers: json, body: '{', hangs: true });
    const ended = new AbortController();
    const http = { ...site.http, deadline: () => ended.signal };
    const waiting = refusalOf(() => get('/doc', http));
    ended.abort();
    expect(await waiting).toMatchObject({ reason, message: expect.stringContaining('in time') });
  });

  it('is unreachable over http or TLS by mistake, with a hint that says so', async () => {
    const plain = site.origin.replace('https:', 'http:');
    const loopback = { ...site.http, allowInsecureLoopback: true };
    const error = await refusalOf(() => fetchMetadata(`${plain}/doc`, loopback, reason));
    expect(error.hint).toContain('The server may want https');
    const spoken = (await startLoopbackServer((_request, response) => response.end())).replace(
      'http:',
      'https:',
    );
    const other = await refusalOf(() => fetchMetadata(`${spoken}/doc`, site.http, reason));
    expect(other.hint).toContain('does not speak TLS');
  });

  it('a document is unreachable with an untrusted certificate, with a hint', async () => {
    const error = await refusalOf(() =>
      get('/doc', { ...site.http, fetch: (url, init) => fetch(url, init) }),
    );
    expect(error).toBeInstanceOf(Unreachable);
    expect(error.hint).toContain('keyturn settings set extraAuthorities');
  });

  it('is unreachable with a certificate for another name', async () => {
    const agent = new Agent({ connect: { ca: site.ca, servername: 'other.example' } });
    onTestFinished(() => agent.destroy());
    const error = await refusalOf(() =>
      get('/doc', { ...site.http, fetch: (url, init) => fetchBy(url, { ...init, dispatcher: agent }) }),
    );
    expect(error).toBeInstanceOf(Unreachable);
    expect(error.message).toContain('ERR_TLS_CERT_ALTNAME_INVALID');
    expect(error.hint).toContain('for another name');
    expect(error.hint).not.toMatch(/authorit/i);
  });

  /** The refusal of a fetch that TLS ends with this fault. */
  const brokenBy = async (code: string) => {
    const cause = Object.assign(new Error('tls'), { code });
    const fails = async (): Promise<never> => Promise.reject(new TypeError('fetch failed', { cause }));
    return refusalOf(() => get('/doc', { ...site.http, fetch: fails }));
  };

  it.each([
    ['CERT_HAS_EXPIRED', 'has expired'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'extraAuthorities'],
    ['CERT_SIGNATURE_FAILURE', 'can not be used'],
  ])('a document is unreachable after %s, with the hint for that fault', async (code, hint) => {
    const error = await brokenBy(code);
    // Nothing was sent: the answer isn't lost.
    expect(error).not.toBeInstanceOf(ResponseLost);
    expect(error.hint).toContain(hint);
    expect(error.hint?.includes('extraAuthorities')).toBe(hint === 'extraAuthorities');
  });

  it('may be lost after an alert about our certificate, which comes late', async () => {
    const error = await brokenBy('ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED');
    expect(error).toBeInstanceOf(ResponseLost);
    expect(error.hint).not.toMatch(/certificate/i);
  });
});

describe('a list of locations', () => {
  const first = (...paths: string[]) =>
    firstMetadata(
      paths.map((path) => site.origin + path),
      { field: 'a', values: [1] },
      site.http,
      reason,
    );

  it('prefers a later document to one without the field that it is for, or with another value', async () => {
    site.lay('/one', { body: { error: 'not found' } });
    expect(await first('/one', '/two', '/three')).toMatchObject({ json: { error: 'not found' } });
    site.lay('/two', { body: { a: 2 } });
    expect(await first('/one', '/two', '/three')).toMatchObject({ json: { a: 2 } });
    site.lay('/three', { body: { a: 1 } });
    expect(await first('/one', '/two', '/three')).toMatchObject({ json: { a: 1 } });
  });

  it('reports an invalid document if no location has a valid one', async () => {
    expect(await first('/one', '/two')).toBe('absent');
    site.lay('/one', { headers: json, body: '{' });
    expect((await refusalOf(() => first('/one', '/two'))).reason).toBe('metadata_invalid');
  });

  it.each<[string, Page]>([
    ['a web page', { headers: { 'content-type': 'text/html; charset=utf-8' }, body: '<p>Welcome' }],
    ['plain words', { headers: { 'content-type': 'text/plain' }, body: 'ok' }],
  ])('E-3: finds no document if each location has %s', async (_what, page) => {
    site.lay('/one', page);
    site.lay('/two', page);
    expect(await first('/one', '/two')).toBe('page');
    site.lay('/two', { body: { a: 1 } });
    expect(await first('/one', '/two')).toMatchObject({ json: { a: 1 } });
  });
});
