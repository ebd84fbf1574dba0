/** A broker that systemd starts for a connection: the socket is there before it, and stays behind. */
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { newHome, type TestHome, until } from '../../support/home.ts';
import { python } from '../../support/processes/interpreter.ts';

const passing = path.join(import.meta.dirname, '..', '..', 'support', 'processes', 'passing-socket.py');

/** A home whose broker gets its socket passed, and the path of that socket. */
function homeWithPassed(how: string): { home: TestHome; socket: string } {
  // The home's own folder isn't known before the home.
  const folder = mkdtempSync(path.join(tmpdir(), 'kt-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const socket = path.join(folder, 'run', 'broker.sock');
  const home = newHome({ launcher: [python(), passing, how, socket], env: { KEYTURN_HOME: folder } });
  return { home, socket };
}

describe('a broker with a passed socket', () => {
  it('answers an app that connected before it ran, and leaves the socket', async () => {
    const { home, socket } = homeWithPassed('passed');
    const broker = home.start(['broker', 'run']);
    await until('the socket', () => existsSync(socket));
    const early = connect(socket);
    onTestFinished(() => void early.destroy());
    // Written at once: the broker closes a connection that says nothing for some seconds.
    // A hello with another endpoint is answered with a refusal: somebody read it.
    early.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'hello', params: {} })}\n`);
    const answer = new Promise<string>((resolve) => early.once('data', (data) => resolve(String(data))));
    await until('the broker', async () => (await home.keyturn(['status'])).code === 0);
    expect((await home.json<{ pid: number }>('status')).pid).toBe(broker.pid);
    expect(await answer).toContain('"error"');

    expect(await home.keyturn(['broker', 'stop'])).toMatchObject({ code: 0 });
    expect(await broker.ended).toMatchObject({ code: 0 });
    expect(existsSync(socket)).toBe(true);
  });

  it('DOOR-3: refuses to serve if another socket is at the path', async () => {
    const { home, socket } = homeWithPassed('replaced');
    const refused = await home.keyturn(['broker', 'run']);
    expect(refused).toMatchObject({ code: 8, stdout: '' });
    expect(refused.stderr).toContain('reason: socket_unsafe');
    expect(refused.stderr).toContain(`ListenStream=${socket}`);
  });

  it.each([
    ['twice', 2, 'which takes one'],
    ['plain', 8, 'nothing can listen on the descriptor'],
  ] as const)('refuses what is no single socket: %s', async (how, code, words) => {
    const { home } = homeWithPassed(how);
    const refused = await home.keyturn(['broker', 'run']);
    expect(refused).toMatchObject({ code, stdout: '' });
    expect(refused.stderr).toContain(words);
  });

  it('makes its own socket if another process was meant', async () => {
    const home = newHome({ env: { LISTEN_PID: '1', LISTEN_FDS: '1' } });
    const broker = home.start(['broker', 'run']);
    await broker.says('the broker listens on');
    expect(readdirSync(home.paths.run)).toContain('broker.sock');
  });
});
