/** Another program of the same user at a proxy's port, which doesn't know its path, or is another one at the end of its request. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished } from 'vitest';
import { lines, openPort, sendBytes, verdict } from '../proxy/port-rig.ts';
import { python } from '../support/processes/interpreter.ts';

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

/** Begins a request, then runs a shell in its own place, which sends the rest and tells the first line of the answer. */
const changer = `
import os, socket, sys
port, target = int(sys.argv[1]), sys.argv[2]
s = socket.create_connection(('127.0.0.1', port))
head = 'POST %s HTTP/1.1\\r\\nHost: 127.0.0.1:%d\\r\\nContent-Length: 2\\r\\nExpect: 100-continue\\r\\n\\r\\n' % (target, port)
s.sendall(head.encode())
s.recv(4096)
s.sendall(b'{')
print('begun', flush=True)
sys.stdin.readline()
os.dup2(s.fileno(), 9)
os.execv('/bin/sh', ['sh', '-c', "printf '}' >&9; read -r line <&9; echo \\"$line\\""])
`;

describe('a program that runs another file', () => {
  it('a program that runs another file before its request is whole passes for neither', async () => {
    const { port, host, target, asked } = await openPort();
    const child = spawn(python(), ['-c', changer, String(port), target], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const [begun] = (await once(child.stdout, 'data')) as [Buffer];
    expect(begun.toString()).toBe('begun\n');
    // A request that comes later is looked at later, and has its answer: so the first one was looked at.
    await sendBytes(port, lines({ target, headers: [`Host: ${host}`] }));
    child.stdin.write('\n');
    const said = await text(child.stdout);
    expect(said).toContain(' 403 ');
    expect(asked).toEqual([`e ${process.pid}`]);
  });
});

describe('a clumsy client', () => {
  it('a clumsy client that sends a body with a GET is told so', async () => {
    const { port, host, target, asked } = await openPort();
    const answer = await sendBytes(port, lines({ method: 'GET', target, headers: [`Host: ${host}`] }));
    expect(verdict(answer)).toEqual({ status: 400, reason: 'invalid_request' });
    expect(asked).toEqual([]);
  });
});
