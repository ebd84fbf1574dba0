/** `keyturn exec`: a real command with a token of a real server in its environment, its files, its signals and its terminal. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { builtBin } from '../../support/built.ts';
import { type TestHome, until } from '../../support/home.ts';
import { commonHome } from '../../support/homes/common-home.ts';
import * as owner from '../../support/homes/owner-acts.ts';
import { inTerminal } from '../../support/processes/terminal.ts';

/** A folder as a login session has it: in memory, the user's alone. */
function runtimeFolder(): string {
  const folder = mkdtempSync('/dev/shm/keyturn-test-');
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** The user is signed in, and `cli` is allowed. */
async function allowAndSignIn(home: TestHome, resource: string): Promise<void> {
  await owner.allow(home, 'cli', resource);
  await owner.signIn(home, resource);
}

/** The home of all tests that leave it signed in and want no short-lived tokens. */
const there = commonHome();
beforeAll(() => allowAndSignIn(there.home, there.resource));

/** Tokens live ten seconds there. Somebody is signed in; each test begins without a permission. */
const brief = commonHome({ issuing: { accessTokenLifetime: 10 } });
beforeAll(() => brief.ask('signIn.start', { resource: brief.resource, timeout: 60 }));
afterEach(async () => {
  const { apps: clients } = await brief.ask('app.list', {});
  for (const { name, permissions } of clients)
    for (const { resource } of permissions) await brief.ask('permission.end', { app: name, resource });
});

function common() {
  const { home, resource } = there;
  return { home, resource, env: `NOTES_TOKEN=${resource}` };
}

/** Says on standard error which signals it gets, until it gets SIGTERM. */
const listening = `
  for (const name of ['SIGUSR2', 'SIGINT', 'SIGHUP', 'SIGQUIT']) process.on(name, () => console.error('got ' + name));
  process.on('SIGTERM', () => process.exit(9));
  setInterval(() => undefined, 1000);
  console.error('ready ' + process.pid);
`;

describe('signals', () => {
  it('reach the command of keyturn exec', async () => {
    const { home, env } = common();
    const running = home.start(['exec', '--env', env, '--', process.execPath, '-e', listening]);
    await running.says('ready');
    for (const name of ['SIGUSR2', 'SIGINT', 'SIGHUP', 'SIGQUIT'] as const) {
      running.signal(name);
      await running.says(`got ${name}`);
    }
    running.signal('SIGTERM');
    expect(await running.ended).toMatchObject({ code: 9 });
    const script = 'echo ready >&2; exec sleep 600';
    const kept = home.start(['exec', '--env', env, '--', 'nohup', 'sh', '-c', script]);
    await kept.says('ready');
    kept.signal('SIGHUP');
    kept.signal('SIGTERM');
    // Without nohup it would be 129.
    expect(await kept.ended).toMatchObject({ code: 143 });
  });

  it('of a terminal come once, and a shell stops and continues one job', async () => {
    const { home, env } = common();
    const terminal = inTerminal(home, ['bash', '--norc', '-i'], { LISTENING: listening });
    const { execPath } = process;
    terminal.type(`${execPath} ${builtBin} exec --env ${env} -- ${execPath} -e "$LISTENING"\n`);
    const [, pid = ''] = await terminal.shows(/ready (\d+)/);
    terminal.type('\u0003');
    await terminal.shows(/got SIGINT/);
    terminal.type('\u001a');
    await terminal.shows(/Stopped/);
    const wrapper = Number(/PPid:\s+(\d+)/.exec(status(Number(pid)))?.[1]);
    expect(status(Number(pid))).toMatch(/State:\s+T/);
    expect(status(wrapper)).toMatch(/State:\s+T/);
    terminal.type('fg\n');
    await until('both go on', () => ![Number(pid), wrapper].some((one) => /State:\s+T/.test(status(one))));
    terminal.type('\u0003');
    await until('the second interrupt came', () => terminal.shown().split('got SIGINT').length === 3);
    process.kill(wrapper, 'SIGTERM');
    terminal.type('echo "code $?"\n');
    await terminal.shows(/code 9/);
    expect(terminal.shown().split('got SIGINT')).toHaveLength(3);
    terminal.type('exit\n');
    await terminal.ended;
  });
});

describe('a file', () => {
  const allowed = async () => {
    const { ask, home, resource, world } = brief;
    await ask('permission.set', { app: 'cli', resource, decision: 'allow' });
    return { home, resource, world };
  };

  it('is replaced before its token ends, and removed after a signal too', async () => {
    const { home, resource } = await allowed();
    const runtime = runtimeFolder();
    const command = ['--min-validity', '1s', '--', 'sh', '-c', 'echo "$AT" >&2; exec sleep 600'];
    const running = home.start(['exec', '--file', `AT=${resource}`, ...command], {
      env: { XDG_RUNTIME_DIR: runtime },
    });
    const file = await until('the file is there', () => {
      const [folder] = readdirSync(runtime);
      const at = path.join(runtime, folder ?? '', 'AT');
      return folder !== undefined && existsSync(at) ? at : undefined;
    });
    await running.says(file);
    // The inode first: if the file is replaced in between, the next one still differs from it.
    const { ino } = statSync(file);
    const first = readFileSync(file, 'utf8');
    await until('another token is there', () => readFileSync(file, 'utf8') !== first);
    expect(statSync(file).ino).not.toBe(ino);
    running.signal('SIGTERM');
    expect(await running.ended).toMatchObject({ code: 143 });
    expect(readdirSync(runtime)).toEqual([]);
  });

  it('lets signals reach the command while it is being replaced', async () => {
    const { home, resource, world } = await allowed();
    const asked = Promise.withResolvers<void>();
    const answered = Promise.withResolvers<void>();
    const running = home.start(
      ['exec', '--file', `AT=${resource}`, '--min-validity', '1s', '--', process.execPath, '-e', listening],
      { env: { XDG_RUNTIME_DIR: runtimeFolder() } },
    );
    await running.says('ready');
    world.authorizationServer.setTokenGate(async () => {
      asked.resolve();
      await answered.promise;
      return 'pass' as const;
    });
    await asked.promise;
    running.signal('SIGINT');
    await running.says('got SIGINT');
    answered.resolve();
    world.authorizationServer.setTokenGate();
    running.signal('SIGTERM');
    expect(await running.ended).toMatchObject({ code: 9 });
  });

  it('of a keyturn that was killed is removed by the next one', async () => {
    const { home, resource } = common();
    const env = { XDG_RUNTIME_DIR: runtimeFolder() };
    const words = (script: string) => ['exec', '--file', `AT=${resource}`, '--', 'sh', '-c', script];
    const whileThere = 'echo "at $AT" >&2; while kill -0 $PPID; do sleep 0.1; done 2>/dev/null';
    const killed = home.start(words(whileThere), { env });
    await killed.says('at ');
    killed.signal('SIGKILL');
    await killed.ended;
    const kept = home.start(words('echo "at $AT" >&2; exec cat'), { env, stdinStaysOpen: true });
    await kept.says('at ');
    expect(readdirSync(env.XDG_RUNTIME_DIR)).toHaveLength(1);
    await home.ok(words('test -s "$AT"'), { env });
    expect(readdirSync(env.XDG_RUNTIME_DIR)).toHaveLength(1);
    kept.signal('SIGTERM');
    await kept.ended;
    expect(readdirSync(env.XDG_RUNTIME_DIR)).toEqual([]);
  });
});

const status = (pid: number): string => readFileSync(`/proc/${pid}/status`, 'utf8');
