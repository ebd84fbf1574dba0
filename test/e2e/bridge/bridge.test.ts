/** The end of `keyturn bridge`, and a sign-in at its start. What it does for a client: test/cli/bridge.txt. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { builtBin } from '../../support/built.ts';
import { homeInWorld, isAlive, until } from '../../support/home.ts';
import { allow, startBroker } from '../../support/homes/owner-acts.ts';
import { startClient, waitingLine } from '../../support/processes/bridge-client.ts';
import { paired } from '../../support/processes/program.ts';
import { childrenOf } from '../../support/processes/process-table.ts';

/** Node's flag for a module that runs before the command. */
const before = (code: string): string[] => ['--import', `data:text/javascript,${encodeURIComponent(code)}`];

/** Stays in the loading of the bridge's modules until the parent is gone. */
const slowLoading = before(`
  import { registerHooks } from 'node:module';
  import { writeSync } from 'node:fs';
  const parent = process.ppid;
  registerHooks({ load(url, context, next) {
    if (url.endsWith('/bridge/bridge.js')) {
      writeSync(1, 'loading');
      while (process.ppid === parent) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
    }
    return next(url, context);
  } });
`);

/** Makes the command believe that this is Node 20, so that it hands over to another process. */
const oldNode = before(
  "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.20.2' } })",
);

it.each([
  ['', []],
  [', and it dies while the modules are loaded', slowLoading],
  [', and an older Node handed over to the one that runs it', oldNode],
])('BR-2: the bridge ends with the process that started it%s', async (_how, flags) => {
  const { home, resource } = await homeInWorld();
  // A shell starts it in the background and dies; the pipes are the test's own and stay open.
  const script = '"$0" "$@" <&3 & echo "pid $!" >&2; read -r _';
  const shell = spawn(
    'sh',
    ['-c', script, process.execPath, ...flags, builtBin, 'bridge', resource, '--as', 'an-editor'],
    { env: home.env, stdio: ['pipe', 'pipe', 'pipe', 'pipe'] },
  );
  onTestFinished(() => void shell.kill());
  const [said] = (await once(shell.stderr, 'data')) as [Buffer];
  const pid = Number(/pid (\d+)/.exec(said.toString())?.[1]);
  const [, , , input] = shell.stdio;
  // It may end before it has read the line.
  input?.on('error', () => undefined);
  if (input instanceof Writable) input.write('{\n');
  expect(String(((await once(shell.stdout, 'data')) as [Buffer])[0])).toMatch(/-32700|loading/);
  // With an older Node the bridge is a child of this process.
  const bridge = childrenOf(pid)[0] ?? pid;
  shell.kill('SIGKILL');
  await until('the bridge ends', () => !isAlive(bridge) && !isAlive(pid));
});

it('says that a sign-in waits, once its page is open', async () => {
  const { home, world, resource } = await homeInWorld({ env: { KEYTURN_BROWSER: 'true' } });
  await startBroker(home);
  // It answers, as slowly as many servers do.
  world.authorizationServer.server.on('POST', '*', () => sleep(2500, undefined));
  await paired(home, 'an-editor');
  await allow(home, 'an-editor', resource);
  const { connected, output } = startClient(home, resource, '--as', 'an-editor');
  connected.catch(() => undefined);
  await until('the line', () => output.stderr === waitingLine('an-editor', resource));
});
