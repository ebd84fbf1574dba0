/** What reaches a proxy's port: everything that isn't one plain request to its own address is refused before the broker hears of it. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { statusForNobody } from '../support/servers/raw-get.ts';
import { lines, openPort, reached, sendAllThenRead, sendBytes, verdict } from './port-rig.ts';

const isRoot = process.getuid?.() === 0;

type Place = Awaited<ReturnType<typeof openPort>>;

/** How the port refuses these bytes, of which the broker hears nothing. */
async function refusal(bytes: (place: Place) => string, options?: Parameters<typeof openPort>[0]) {
  const place = await openPort(options);
  const answer = await sendBytes(place.port, bytes(place));
  expect(place.asked).toEqual([]);
  return { answer, ...verdict(answer) };
}

const tunnel = 'CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n';

async function connected(port: number) {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
}

const notPermitted = { status: 403, reason: 'not_permitted' };

describe('a proxy’s port', () => {
  it('hands a plain request to its own address on', async () => {
    const { port, host, target, asked, state } = await openPort();
    const answer = await sendBytes(port, lines({ target, headers: [`Host: ${host}`] }));
    expect(state).toBe('open');
    expect(verdict(answer)).toEqual({ status: 403, reason: 'consent_denied' });
    expect(answer).toContain(reached);
    expect(asked).toEqual(['e']);
  });

  it.each([
    ['a name of a page’s own (DNS rebinding)', ['Host: evil.example']],
    ['such a name with our port', ['Host: evil.example:PORT']],
    ['localhost, which is another origin', ['Host: localhost:PORT']],
    ['another port', ['Host: 127.0.0.1:1']],
    ['another spelling of the address', ['Host: 127.1:PORT']],
    ['no port', ['Host: 127.0.0.1']],
    ['an IPv6 address', ['Host: [::1]:PORT']],
  ])('H-9: refuses the Host of %s', async (_what, headers) => {
    const named = ({ port }: Place) => headers.map((line) => line.replace('PORT', String(port)));
    expect(await refusal((place) => lines({ target: place.target, headers: named(place) }))).toMatchObject(
      notPermitted,
    );
  });

  it.each([
    'Origin: https://evil.example',
    'Origin: http://127.0.0.1:PORT',
    'Origin: null',
    'Sec-Fetch-Site: cross-site',
    'Sec-Fetch-Site: none',
  ])('H-8: refuses a page of a browser, whoever it says it is: %s', async (line) => {
    const { answer, ...how } = await refusal(({ port, host, target }) =>
      lines({ target, headers: [`Host: ${host}`, line.replace('PORT', String(port))] }),
    );
    expect(how).toEqual(notPermitted);
    expect(answer.toLowerCase()).not.toContain('access-control');
  });

  it('reads nothing more of what a page sends', async () => {
    const head = 'Origin: https://evil.example\r\nContent-Length: 1000000000';
    const sent = ({ host, target }: Place) => `POST ${target} HTTP/1.1\r\nHost: ${host}\r\n${head}\r\n\r\nx`;
    expect((await refusal(sent, { restTimeout: 2 ** 30 })).status).toBe(403);
  });

  it.each([
    ['nothing', '/'],
    ['no path', '/mcp'],
    ['a wrong path', '/pppppppppppppppppppppppppppppppq/mcp'],
    ['the beginning of the path', '/pppp/mcp'],
    ['a place below', 'TARGET/more'],
    ['a slash at the end', 'TARGET/'],
    ['a way up and down again', 'TARGET/../mcp'],
    ['an encoded way up', 'TARGET/%2e%2e/mcp'],
    ['two slashes', '/TARGET'],
    ['an encoded slash', '/PATH%2fmcp'],
    ['an encoded letter', '/PATH/%6dcp'],
    ['another case', '/PATH/MCP'],
    ['a parameter', 'TARGET;x=1'],
    ['the form of a proxy', 'http://127.0.0.1:PORTTARGET'],
    ['another server in the form of a proxy', 'http://evil.exampleTARGET'],
    ['no slash at all', '*'],
  ])('H-10: refuses %s as its path', async (_what, spelled) => {
    const how = await refusal(({ port, path, host, target }) => {
      const there = spelled.replace('TARGET', target).replace('PATH', path).replace('PORT', String(port));
      return lines({ target: there, headers: [`Host: ${host}`] });
    });
    expect(how).toMatchObject({ status: 404, reason: 'not_found' });
  });

  it.each(['OPTIONS', 'PUT', 'PATCH', 'TRACE', 'PROPFIND'])('H-11: refuses the method %s', async (method) => {
    const { answer, status } = await refusal(({ host, target }) =>
      lines({ method, target, headers: [`Host: ${host}`] }),
    );
    expect(status).toBe(405);
    expect(answer).toMatch(/allow: POST, GET, DELETE/i);
  });

  it('H-11: opens no tunnel', async () => {
    expect((await refusal(() => tunnel)).status).toBe(405);
  });

  it('H-11: serves on after many clients that broke a tunnel off', async () => {
    const { port, host, target } = await openPort();
    for (let left = 20; left > 0; left -= 1) {
      const socket = await connected(port);
      socket.write(tunnel);
      socket.resetAndDestroy();
      await once(socket, 'close');
    }
    const answer = await sendBytes(port, lines({ target, headers: [`Host: ${host}`] }));
    expect(verdict(answer).status).toBe(403);
  });

  it('H-11: keeps no place for a tunnel whose client keeps its side open', async () => {
    const socket = await connected((await openPort()).port);
    socket.resume().write(tunnel);
    await once(socket, 'end');
    // Where the other side is gone, what is written is answered by a reset.
    const gone = new Promise((resolve) => socket.once('close', resolve));
    const writing = setInterval(() => socket.write('x'), 20);
    onTestFinished(() => clearInterval(writing));
    await gone;
  });

  const upgrade = ['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Key: x'];
  it.each([
    ['H-12: a GET with a body', 'GET', []],
    ['H-11: a change to another protocol', 'POST', upgrade],
  ])('%s is an invalid request', async (_what, method, more) => {
    const how = await refusal(({ host, target }) =>
      lines({ method, target, headers: [`Host: ${host}`, ...more] }),
    );
    expect(how).toMatchObject({ status: 400, reason: 'invalid_request' });
  });

  it.each([
    ['two lengths', ['Content-Length: 2']],
    ['a length and chunks', ['Transfer-Encoding: chunked']],
    ['a coding that nobody knows', ['Transfer-Encoding: xchunked']],
    ['two hosts', ['Host: evil.example']],
    ['a folded header', ['X-A: 1', ' 2']],
    ['a space before the colon', ['X-A : 1']],
    ['a line feed alone', ['X-A: 1\nX-B: 2']],
    ['a header without end', [`X-A: ${'a'.repeat(20_000)}`]],
  ])('H-12: refuses a request that could be read in two ways: %s', async (_what, more) => {
    const { status } = await refusal(({ host, target }) =>
      lines({ target, headers: [`Host: ${host}`, ...more], body: '{}' }),
    );
    expect(status).toBeGreaterThanOrEqual(400);
  });

  it('H-12: takes what stands behind a refused request for no second one', async () => {
    const { answer, status } = await refusal(({ host, target }) => {
      const headers = [`Host: ${host}`];
      return lines({ target: '/', headers, body: lines({ target, headers }) });
    });
    expect(status).toBe(404);
    expect(answer.match(/HTTP\/1\.1/g)).toHaveLength(1);
  });

  const chunk = `100000\r\n${'a'.repeat(0x100000)}\r\n`;
  it.each([
    ['says that it is too long', 'Content-Length: 17000000', ''],
    ['doesn’t say how long it is', 'Transfer-Encoding: chunked', chunk.repeat(17)],
  ])('H-18: reads no more of a body that %s', async (_what, header, body) => {
    const sent = ({ host, target }: Place) =>
      `POST ${target} HTTP/1.1\r\nHost: ${host}\r\n${header}\r\n\r\n${body}`;
    expect(await refusal(sent)).toMatchObject({ status: 413, reason: 'invalid_request' });
  });

  it.each([
    ['that is too long', 'TARGET', 413],
    ['for another path', '/', 404],
  ])(
    'answers a request %s though its client reads only once all of it is sent',
    async (_what, there, status) => {
      const { port, host, target, asked } = await openPort({ restTimeout: 60_000 });
      const body = 'a'.repeat(0x4000000);
      const request = lines({ target: there.replace('TARGET', target), headers: [`Host: ${host}`], body });
      expect(verdict(await sendAllThenRead(port, request)).status).toBe(status);
      expect(asked).toEqual([]);
    },
  );

  describe('its places', () => {
    const soon = { headersTimeout: 100, requestTimeout: 200, connectionsCheckingInterval: 20 };

    it.each([
      ['a connection that says nothing', ''],
      ['half of a line', 'POST /'],
      ['headers without end', 'POST TARGET HTTP/1.1\r\nHost: HOST\r\nX-A: '],
      ['a body that doesn’t come', 'POST TARGET HTTP/1.1\r\nHost: HOST\r\nContent-Length: 9\r\n\r\n{'],
    ])('H-18: answers %s with a 408, and closes it', async (_what, sent) => {
      const bytes = ({ host, target }: Place) => sent.replace('TARGET', target).replace('HOST', host);
      expect((await refusal(bytes, soon)).status).toBe(408);
    });

    it('H-18: refuses connections beyond its places, and serves once a place is free', async () => {
      const { port, host, target, asked } = await openPort({ maxConnections: 2 });
      const held = [connect(port, '127.0.0.1'), connect(port, '127.0.0.1')];
      onTestFinished(() => held.forEach((socket) => socket.destroy()));
      await Promise.all(held.map((socket) => once(socket, 'connect')));
      const request = lines({ target, headers: [`Host: ${host}`] });
      expect(await sendBytes(port, request)).toBe('');
      expect(asked).toEqual([]);
      held[0]?.destroy();
      // Its end reaches the port some time later.
      await expect.poll(async () => verdict(await sendBytes(port, request)).reason).toBe('consent_denied');
    });
  });

  it('H-13: tells the client which message was refused', async () => {
    const { port, host, target } = await openPort();
    const body = JSON.stringify({ jsonrpc: '2.0', id: 'seven', method: 'ping' });
    const answer = await sendBytes(port, lines({ target, headers: [`Host: ${host}`], body }));
    expect(JSON.parse(answer.split('\r\n\r\n')[1] ?? '')).toMatchObject({
      jsonrpc: '2.0',
      id: 'seven',
      error: { message: reached, data: { reason: 'consent_denied' } },
    });
  });

  it('H-7: says that its port is taken, and takes no other', async () => {
    const { port } = await openPort();
    expect((await openPort({}, port)).state).toBe('portTaken');
  });

  it('H-7: listens on no other address of this machine', async () => {
    const { port } = await openPort();
    for (const host of ['::1', '127.0.0.2']) {
      const socket = connect(port, host);
      const [error] = await once(socket, 'error');
      expect(error.code).toMatch(/ECONNREFUSED|EADDRNOTAVAIL|EAFNOSUPPORT/);
    }
  });

  it.runIf(isRoot && process.platform === 'linux')('answers no other user, path or no path', async () => {
    const { host, target, asked } = await openPort();
    expect(await statusForNobody(`http://${host}${target}`)).toBe('');
    expect(asked).toEqual([]);
  });
});
