/** A broker whose socket is lost, or was made in another environment: every command of the home still reaches it. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { isAlive, until } from '../../support/home.ts';
import { type Desk, newDesk } from './desk.ts';

async function withBroker(): Promise<{ desk: Desk; pid: number }> {
  const desk = newDesk();
  expect(await desk.keyturn('sign-in', 'list')).toMatchObject({ code: 0 });
  return { desk, pid: desk.broker() ?? 0 };
}

const lose: Record<string, (run: string) => void> = {
  'the runtime folder was emptied': (run) => rmSync(path.join(run, 'keyturn'), { recursive: true }),
  'the runtime folder is gone, and cannot be made': (run) => {
    rmSync(run, { recursive: true });
    writeFileSync(run, '');
  },
  'something else is mounted there': (run) => {
    renameSync(run, `${run}.old`);
    mkdirSync(run, { mode: 0o700 });
  },
  'the socket was exchanged for a file': (run) => {
    rmSync(path.join(run, 'keyturn', 'broker.sock'));
    writeFileSync(path.join(run, 'keyturn', 'broker.sock'), '', { mode: 0o600 });
  },
};

test.each(Object.entries(lose))('a command reaches the same broker again after %s', async (_what, loseIt) => {
  const { desk, pid } = await withBroker();
  loseIt(desk.run);
  const { code, stdout } = await desk.keyturn('status', '--json');
  expect({ code, pid: (JSON.parse(stdout) as { pid: number }).pid }).toEqual({ code: 0, pid });
  expect(await desk.keyturnIn({}, 'sign-in', 'list')).toMatchObject({ code: 0 });
});

test('a command in a sandbox that hides the socket says where it is, and leaves the broker', async ({
  skip,
}) => {
  const { desk, pid } = await withBroker();
  const hide = `mount -t tmpfs -o mode=700 tmpfs '${desk.run}' && exec "$@"`;
  const hidden = ['-m', 'sh', '-c', hide, 'sh'];
  if (spawnSync('unshare', [...hidden, 'true']).status !== 0) skip('no mount namespaces can be made here');
  const { code, stderr } = await desk.keyturnWithin(['unshare', ...hidden], 'sign-in', 'list');
  expect({ code, stderr }).toMatchObject({
    code: 8,
    stderr: expect.stringContaining('does not answer at "'),
  });
  expect(stderr).toContain('keyturn forward');
  expect(await desk.keyturn('sign-in', 'list')).toMatchObject({ code: 0 });
  expect(desk.broker()).toBe(pid);
});

// stellar-core#652: each container counts its processes from 1.
test.each([
  ['from outside', ['env']],
  ['from a third one', ['unshare', '-p', '-f']],
])('broker stop ends the broker of another container, %s', async (_where, here) => {
  const desk = newDesk();
  const container = desk.keyturnWithin(['unshare', '-p', '-f', '--mount-proc'], 'broker', 'run');
  await until('the broker listens', async () => (await desk.keyturn('status')).code === 0);
  expect(await desk.keyturnWithin(here, 'broker', 'stop')).toEqual({ code: 0, stdout: '', stderr: '' });
  expect(desk.broker()).toBeUndefined();
  expect(await container).toMatchObject({ code: 0 });
});

test('broker stop ends a broker without a socket, and broker restart replaces one', async () => {
  const { desk, pid } = await withBroker();
  rmSync(path.join(desk.run, 'keyturn'), { recursive: true });
  expect(await desk.keyturn('broker', 'stop')).toEqual({ code: 0, stdout: '', stderr: '' });
  expect(isAlive(pid)).toBe(false);
  await desk.keyturn('sign-in', 'list');
  const next = desk.broker();
  rmSync(path.join(desk.run, 'keyturn'), { recursive: true });
  expect(await desk.keyturn('broker', 'restart')).toMatchObject({ code: 0 });
  expect(desk.broker()).not.toBe(next);
  expect(desk.broker()).toBeGreaterThan(0);
});

test('commands of every environment reach one broker', async () => {
  const { desk, pid } = await withBroker();
  const others: Record<string, string>[] = [
    {},
    { XDG_RUNTIME_DIR: path.join(desk.run, 'snap.code') },
    { XDG_RUNTIME_DIR: '/proc/1' },
  ];
  for (const env of others) {
    expect(await desk.keyturnIn(env, 'sign-in')).toMatchObject({ code: 0 });
    expect((await desk.keyturnIn(env, 'doctor')).stdout).not.toContain('does not answer');
  }
  expect(desk.broker()).toBe(pid);
  expect(await desk.keyturnIn({}, 'broker', 'stop')).toMatchObject({ code: 0 });
  expect(isAlive(pid)).toBe(false);
});

test('a broker without a usable XDG_RUNTIME_DIR listens in the state folder', async () => {
  const desk = newDesk();
  writeFileSync(path.join(desk.folder, 'file'), '');
  const env = { XDG_RUNTIME_DIR: path.join(desk.folder, 'file', '1000') };
  expect(await desk.keyturnIn(env, 'sign-in')).toMatchObject({ code: 0 });
  expect(readFileSync(path.join(desk.state, 'broker.path'), 'utf8')).toBe(
    `${path.join(desk.state, 'run', 'broker.sock')}\n`,
  );
  expect((await desk.keyturnIn(env, 'doctor')).stdout).toContain('XDG_RUNTIME_DIR');
});

test('two homes with one runtime folder have a broker each', async () => {
  const { desk, pid } = await withBroker();
  const other = newDesk();
  const env = { XDG_RUNTIME_DIR: desk.run };
  expect(await other.keyturnIn(env, 'sign-in')).toMatchObject({ code: 0 });
  expect(await other.keyturnIn(env, 'broker', 'stop')).toMatchObject({ code: 0 });
  // The record leads to a socket that is gone, and the computed place to the first home's broker.
  expect(await other.keyturnIn(env, 'sign-in')).toMatchObject({ code: 0 });
  expect(await other.keyturnIn(env, 'reset', '--yes')).toMatchObject({ code: 0 });
  expect(await desk.keyturn('sign-in', 'list')).toMatchObject({ code: 0 });
  expect(desk.broker()).toBe(pid);
});

test('a lost owner.key is named by every command, and broker restart makes another', async () => {
  const { desk } = await withBroker();
  rmSync(path.join(desk.config, 'owner.key'));
  for (const command of ['sign-in', 'status', 'app', 'doctor'])
    expect(Object.values(await desk.keyturn(command)).join(''), command).toContain('owner.key is missing');
  expect(await desk.keyturn('broker', 'restart')).toMatchObject({ code: 0 });
  expect(await desk.keyturn('sign-in', 'list')).toMatchObject({ code: 0 });
});

test('a broker that was started without a desktop opens the browser at the desktop of the command that asks', async () => {
  const { desk } = await withBroker();
  const desktop = { XDG_RUNTIME_DIR: desk.run, DISPLAY: ':7', XDG_CURRENT_DESKTOP: 'X-Cinnamon;' };
  expect((await desk.keyturnIn(desktop, 'doctor')).stdout).toContain('this terminal is at :7');
  await desk.keyturnIn(desktop, 'sign-in', 'list');
  expect((await desk.keyturnIn(desktop, 'doctor')).stdout).not.toContain('this terminal');
  expect(JSON.parse((await desk.keyturn('status', '--json')).stdout)).toMatchObject({ display: ':7' });
});

test('a broker ends if its home is removed', async () => {
  const { desk, pid } = await withBroker();
  rmSync(desk.home, { recursive: true });
  process.kill(pid, 'SIGHUP');
  await until('the broker ends', () => !isAlive(pid));
});
