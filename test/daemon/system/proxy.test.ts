/** Requests through a real CONNECT proxy; only the proxy can resolve the names of this test. */
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { generate } from 'selfsigned';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { readExtraAuthorities } from '../../../src/daemon/system/authorities.ts';
import { daemonFetch, type FetchOptions } from '../../../src/daemon/system/fetch.ts';
import { resolveBy } from '../../support/servers/resolver.ts';

/** No resolver knows a name below .example (RFC 6761 §6.5): only the proxy leads there. */
const name = 'server.example';
const url = `https://${name}/token`;

const folder = mkdtempSync(path.join(tmpdir(), 'keyturn-proxy-'));
const caFile = path.join(folder, 'ca.pem');
const asked: string[] = [];
let server: https.Server;
let proxy: http.Server;
let httpsProxy: string;

async function listening(listener: net.Server): Promise<number> {
  await once(listener.listen(0, '127.0.0.1'), 'listening');
  const bound = listener.address();
  return typeof bound === 'object' && bound ? bound.port : 0;
}

const selfSigned = () =>
  generate([{ name: 'commonName', value: name }], {
    keyType: 'ec',
    curve: 'P-256',
    algorithm: 'sha256',
    extensions: [{ name: 'subjectAltName', altNames: [{ type: 2, value: name }] }],
  });

beforeAll(async () => {
  const made = await selfSigned();
  writeFileSync(caFile, made.cert);
  server = https.createServer({ key: made.private, cert: made.cert }, (_request, response) =>
    response.end('behind the proxy'),
  );
  const behind = await listening(server);
  proxy = http.createServer().on('connect', (request, socket) => {
    asked.push(request.url ?? '');
    const onward = net.connect(behind, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection Established\r\n\r\n');
      socket.pipe(onward).pipe(socket);
    });
    for (const end of [socket, onward]) end.on('error', () => onward.destroy());
  });
  httpsProxy = `http://127.0.0.1:${await listening(proxy)}`;
});

afterAll(async () => {
  for (const each of [server, proxy]) {
    each.closeAllConnections();
    await new Promise((resolve) => each.close(resolve));
  }
  rmSync(folder, { recursive: true });
});

beforeEach(() => asked.splice(0));

async function bodyWith(options: FetchOptions): Promise<string> {
  const daemon = daemonFetch(async () => ({ authorities: readExtraAuthorities(caFile), ...options }));
  const signal = AbortSignal.timeout(60_000);
  const init = { method: 'GET', headers: {}, redirect: 'manual', signal } as const;
  try {
    const { body } = await daemon.fetchFor(url)(url, init);
    const chunks: Uint8Array[] = [];
    for await (const chunk of body ?? []) chunks.push(chunk);
    return Buffer.concat(chunks).toString();
  } finally {
    await daemon.close();
  }
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

  it('is the only way if it is set: no request bypasses a proxy that is down', async () => {
    await expect(bodyWith({ httpsProxy: 'http://127.0.0.1:9' })).rejects.toThrow();
    expect(asked).toEqual([]);
  });
});
