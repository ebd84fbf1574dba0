/** Requests through a real CONNECT proxy; only the proxy can resolve the names of this test. */
import { writeFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import path from 'node:path';
import { generate } from 'selfsigned';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { readExtraAuthorities } from '../../../src/daemon/system/authorities.ts';
import { daemonFetch, type FetchOptions } from '../../../src/daemon/system/fetch.ts';
import { portOf } from '../../support/servers/loopback-server.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { resolveBy } from '../../support/servers/resolver.ts';

/** No resolver knows a name below .example (RFC 6761 §6.5): only the proxy leads there. */
const name = 'server.example';
const url = `https://${name}/token`;

const caFile = path.join(temporaryFolder(afterAll), 'ca.pem');
const asked: string[] = [];

const { private: key, cert } = await generate([{ name: 'commonName', value: name }], {
  keyType: 'ec',
  curve: 'P-256',
  algorithm: 'sha256',
  extensions: [{ name: 'subjectAltName', altNames: [{ type: 2, value: name }] }],
});
writeFileSync(caFile, cert);
const server = https.createServer({ key, cert }, (_request, response) => response.end('behind the proxy'));
const behind = await portOf(server, afterAll);
const proxy = http.createServer().on('connect', (request, socket) => {
  asked.push(request.url ?? '');
  const onward = net.connect(behind, '127.0.0.1', () => {
    socket.write('HTTP/1.1 200 Connection Established\r\n\r\n');
    socket.pipe(onward).pipe(socket);
  });
  for (const end of [socket, onward]) end.on('error', () => onward.destroy());
});
const httpsProxy = `http://127.0.0.1:${await portOf(proxy, afterAll)}`;

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

  it('may have a name with a private address, because the user named it', async () => {
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
