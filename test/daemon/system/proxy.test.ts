/** Requests through a real CONNECT proxy; only the proxy can resolve the names of this test. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { generate } from 'selfsigned';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { readAuthorities } from '../../../src/daemon/system/authorities.ts';
import { daemonFetch, type DaemonFetch, type FetchOptions } from '../../../src/daemon/system/fetch.ts';
import { resolveBy } from '../../support/servers/resolver.ts';

/** No resolver knows a name below .example (RFC 6761 §6.5): only the proxy leads there. */
const name = 'server.example';
const url = `https://${name}/token`;
/** Of a server with the same name, whose certificate nobody trusts. */
const strangerUrl = `https://${name}:8443/token`;

const folder = mkdtempSync(path.join(tmpdir(), 'keyturn-proxy-'));
const caFile = path.join(folder, 'ca.pem');
const asked: string[] = [];
let server: https.Server;
let stranger: https.Server;
let proxy: http.Server;
let httpsProxy: string;

async function listening(listener: net.Server): Promise<number> {
  await once(listener.listen(0, '127.0.0.1'), 'listening');
  const bound = listener.address();
  return typeof bound === 'object' && bound ? bound.port : 0;
}

const ticketKeys = randomBytes(48);

const selfSigned = () =>
  generate([{ name: 'commonName', value: name }], {
    keyType: 'ec',
    curve: 'P-256',
    algorithm: 'sha256',
    extensions: [{ name: 'subjectAltName', altNames: [{ type: 2, value: name }] }],
  });

/** With the same keys of tickets, each takes the TLS sessions of the others. */
const serverWith = (made: { private: string; cert: string }): https.Server =>
  https.createServer({ key: made.private, cert: made.cert, ticketKeys }, (_request, response) => {
    response.end('behind the proxy');
  });

beforeAll(async () => {
  const made = await selfSigned();
  writeFileSync(caFile, made.cert);
  const behind = await listening((server = serverWith(made)));
  const besides = await listening((stranger = serverWith(await selfSigned())));
  proxy = http.createServer().on('connect', (request, socket) => {
    asked.push(request.url ?? '');
    const port = request.url === new URL(strangerUrl).host ? besides : behind;
    const onward = net.connect(port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection Established\r\n\r\n');
      socket.pipe(onward).pipe(socket);
    });
    for (const end of [socket, onward]) end.on('error', () => onward.destroy());
  });
  httpsProxy = `http://127.0.0.1:${await listening(proxy)}`;
});

afterAll(async () => {
  for (const each of [server, stranger, proxy]) {
    each.closeAllConnections();
    await new Promise((resolve) => each.close(resolve));
  }
  rmSync(folder, { recursive: true });
});

beforeEach(() => asked.splice(0));

async function bodyWith(options: FetchOptions, ...urls: readonly string[]): Promise<string> {
  const daemon = daemonFetch(async () => ({ authorities: readAuthorities(caFile), ...options }));
  try {
    let body = '';
    for (const each of urls.length > 0 ? urls : [url]) body = await bodyOf(daemon, each);
    return body;
  } finally {
    await daemon.close();
  }
}

async function bodyOf(daemon: DaemonFetch, from: string): Promise<string> {
  const signal = AbortSignal.timeout(60_000);
  const init = { method: 'GET', headers: {}, redirect: 'manual', signal } as const;
  const response = await daemon.fetchFor(from)(from, init);
  const chunks: Uint8Array[] = [];
  for await (const chunk of response.body ?? []) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

describe('a proxy that the settings name', () => {
  it('gets only the name of the host, and resolves it by itself', async () => {
    expect(await bodyWith({ httpsProxy })).toBe('behind the proxy');
    expect(asked).toEqual([`${name}:443`]);
  });

  it('may have a name with a private address, because the person named it', async () => {
    const looked = resolveBy((host) => (host === 'proxy.example' ? ['127.0.0.1'] : undefined));
    expect(await bodyWith({ httpsProxy: httpsProxy.replace('127.0.0.1', 'proxy.example') })).toBe(
      'behind the proxy',
    );
    expect(looked).toEqual(['proxy.example']);
  });

  it('is not used for the hosts that noProxy names', async () => {
    await expect(bodyWith({ httpsProxy, noProxy: `other.example,${name}` })).rejects.toThrow();
    expect(asked).toEqual([]);
  });

  it('changes nothing for a server that takes the TLS sessions of a trusted one', async () => {
    // The ticket of the session has come by the second answer.
    await expect(bodyWith({ httpsProxy }, url, url, strangerUrl)).rejects.toMatchObject({
      cause: { code: expect.stringMatching(/VERIFY|SELF_SIGNED/) },
    });
    expect(asked.at(-1)).toBe(`${name}:8443`);
  });

  it('is the only way if it is set: no request bypasses a proxy that is down', async () => {
    await expect(bodyWith({ httpsProxy: 'http://127.0.0.1:9' })).rejects.toThrow();
    expect(asked).toEqual([]);
  });
});
