/** The bridge's fetch without a proxy: what a server compresses, how a connection is used again, and what ends a request. */
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { brotliCompressSync, createGzip, gzipSync, zstdCompressSync } from 'node:zlib';
import { expect, it, onTestFinished } from 'vitest';
import { Authorities } from '../../src/base/system/tls-trust.ts';
import { directFetch } from '../../src/bridge/direct-fetch.ts';

const fetch = directFetch(new Authorities());

async function serverOf(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

it.each([
  ['gzip', gzipSync('{"a":1}')],
  ['br', brotliCompressSync('{"a":1}')],
  ['zstd', zstdCompressSync('{"a":1}')],
  ['unknown', Buffer.from('{"a":1}')],
])('an answer in the coding %s is read', async (coding, body) => {
  const url = await serverOf((_request, response) =>
    response.writeHead(200, { 'content-encoding': coding }).end(body),
  );
  expect(await (await fetch(url)).text()).toBe('{"a":1}');
});

it('a compressed event is read before the answer ends', async () => {
  const url = await serverOf((_request, response) => {
    response.writeHead(200, { 'content-encoding': 'gzip' });
    const gzip = createGzip();
    gzip.pipe(response);
    gzip.write('data: 1\n\n');
    gzip.flush();
  });
  const reader = (await fetch(url)).body?.getReader();
  expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe('data: 1\n\n');
  await reader?.cancel();
});

it('one connection carries one request after another', async () => {
  const ports = new Set<unknown>();
  const url = await serverOf(({ socket, method }, response) => {
    ports.add(socket.remotePort);
    if (method === 'DELETE') response.writeHead(204).end();
    else response.writeHead(202, { 'content-length': '0' }).end();
  });
  for (const method of ['POST', 'DELETE', 'POST']) {
    const { body } = await fetch(url, { method });
    expect(body).toBeNull();
    // Node frees the connection after the answer's end.
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(ports.size).toBe(1);
});
