/** Another program of the same user at a proxy's port, which doesn't know its path or its manners. */
import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { lines, openPort, sendBytes, verdict } from '../proxy/port-rig.ts';

const tunnel = 'CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n';

async function connected(port: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
}

describe('a program that asks for a tunnel', () => {
  it('ends nothing by breaking its connection off', async () => {
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

  it('holds no place by keeping its side open', async () => {
    const { port } = await openPort();
    const socket = await connected(port);
    socket.resume().write(tunnel);
    await once(socket, 'end');
    // Where the other side is gone, what is written is answered by a reset.
    const gone = new Promise((resolve) => socket.once('close', resolve));
    const writing = setInterval(() => socket.write('x'), 20);
    onTestFinished(() => clearInterval(writing));
    await gone;
  });
});

it('a clumsy client that sends a body with a GET is told so', async () => {
  const { port, host, target, asked } = await openPort();
  const answer = await sendBytes(port, lines({ method: 'GET', target, headers: [`Host: ${host}`] }));
  expect(verdict(answer)).toEqual({ status: 400, reason: 'invalid_request' });
  expect(asked).toEqual([]);
});
