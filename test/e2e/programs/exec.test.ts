/** `keyturn exec`: a real command with a token of a real server in its environment, its files, its signals and its terminal. */
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { builtBin } from '../../support/built.ts';
import { newHome, type TestHome, until } from '../../support/home.ts';
import { askBroker } from '../../support/homes/ask-broker.ts';
import { commonHome } from '../../support/homes/common-home.ts';
import * as owner from '../../support/homes/owner-acts.ts';
import { inTerminal } from '../../support/processes/terminal.ts';

const hash = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Prints what it was given, and no token: a hash of it. */
const telling = `
  const { createHash } = require('node:crypto');
  const { readFileSync } = require('node:fs');
  const { NOTES_TOKEN: token, ...rest } = process.env;
  console.log(JSON.stringify({
    token: createHash('sha256').update(token).digest('hex'),
    rest,
    args: process.argv.slice(1),
    isInArguments: [process.pid, process.ppid].some((pid) => readFileSync('/proc/' + pid + '/cmdline', 'utf8').includes(token)),
  }));
`;

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

describe('the environment', () => {
  it('keyturn exec puts the token in its variable and changes nothing else in the environment; no argument has it', async () => {
    const { home, env, resource } = common();
    const token = (await home.ok(['token', resource])).trim();
    const told = await home.ok(['exec', '--env', env, '--', process.execPath, '-e', telling, '--', '--help']);
    expect(JSON.parse(told)).toEqual({
      token: hash(token),
      rest: home.env,
      args: ['--help'],
      isInArguments: false,
    });
  });
});

describe('the exit code', () => {
  it('the exit code of keyturn exec is the command’s own, or tells the signal that ended it', async () => {
    const { home, env } = common();
    const run = async (...command: string[]) => home.keyturn(['exec', '--env', env, '--', ...command]);
    expect(await run('sh', '-c', 'exit 7')).toEqual({ code: 7, stdout: '', stderr: '' });
    expect(await run('sh', '-c', 'kill -TERM $$')).toEqual({ code: 143, stdout: '', stderr: '' });
    expect(await run('no-such-command')).toMatchObject({ code: 127, stdout: '' });
    expect(await run('/')).toMatchObject({ code: 126, stdout: '' });
  });

  it('keyturn exec exits 5 and runs nothing if every token would be too old', async () => {
    const { home, resource } = brief;
    await owner.allow(home, 'cli', resource);
    const env = `NOTES_TOKEN=${resource}`;
    const run = await home.keyturn(['exec', '--env', env, '--', 'echo', 'ran']);
    expect(run).toMatchObject({ code: 5, stdout: '' });
    expect(run.stderr).toMatch(/lives \d+ s more, and the command needs 60 s\. Nothing was run\./);
    expect(run.stderr).toContain('reason: token_invalid');
    const less = await home.keyturn(['exec', '--min-validity', '1s', '--env', env, '--', 'echo', 'ran']);
    expect(less).toEqual({ code: 0, stdout: 'ran\n', stderr: '' });
  });

  it('keyturn exec exits 3 and runs nothing if a permission is missing', async () => {
    const { home } = common();
    const other = ['--env', 'NOTES_TOKEN=https://other.example/mcp'];
    const run = await home.keyturn(['exec', '--no-input', ...other, '--', 'echo', 'ran']);
    expect(run).toMatchObject({ code: 3, stdout: '' });
  });
});

/** Says on standard error which signals it gets, until it gets SIGTERM. */
const listening = `
  for (const name of ['SIGUSR2', 'SIGINT', 'SIGHUP', 'SIGQUIT']) process.on(name, () => console.error('got ' + name));
  process.on('SIGTERM', () => process.exit(9));
  setInterval(() => undefined, 1000);
  console.error('ready ' + process.pid);
`;

describe('signals', () => {
  it('signals to keyturn exec reach its command if no terminal sends them', async () => {
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

  it('signals of a terminal come once to the command of keyturn exec, and a shell stops and continues both as one job', async () => {
    const { home, env } = common();
    const terminal = inTerminal(home, ['bash', '--norc', '-i'], { LISTENING: listening });
    const words = [
      process.execPath,
      builtBin,
      'exec',
      '--env',
      env,
      '--',
      process.execPath,
      '-e',
      '"$LISTENING"',
    ];
    terminal.type(`${words.join(' ')}\n`);
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

  it('a file of keyturn exec holds the token, is the user’s alone, and is gone when the command ends', async () => {
    const { home, resource } = common();
    const runtime = runtimeFolder();
    const token = (await home.ok(['token', resource])).trim();
    const command =
      'printf %s "$(sha256sum < "$AT")|$AT|$(stat -c %a "$AT" "$(dirname "$AT")" | tr "\\n" " ")"';
    const told = await home.ok(['exec', '--file', `AT=${resource}`, '--', 'sh', '-c', command], {
      env: { XDG_RUNTIME_DIR: runtime },
    });
    const [sum, file = '', modes] = told.split('|');
    expect(sum).toContain(hash(token));
    expect(path.dirname(path.dirname(file))).toBe(runtime);
    expect(modes).toBe('600 700 ');
    expect(readdirSync(runtime)).toEqual([]);
  });

  it('a file of keyturn exec is replaced before its token ends, and removed also when a signal ends the command', async () => {
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

  it('signals reach the command of keyturn exec also while its file is being replaced, and keyturn ends with it', async () => {
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

  it('a file of keyturn exec keeps the one token that the person allowed, and a line says that it is not replaced', async () => {
    const { home, resource } = brief;
    const running = home.start(
      ['exec', '--file', `AT=${resource}`, '--min-validity', '1s', '--', 'sh', '-c', 'exec sleep 600'],
      { env: { XDG_RUNTIME_DIR: runtimeFolder() } },
    );
    const question = await brief.onlyQuestion('allow');
    await askBroker(home, 'request.answer', { id: question.id, answer: 'yes', lease: { once: true } });
    await running.says('the token of AT could not be replaced (consent_required)');
    expect(await askBroker(home, 'request.list', {})).toEqual({ requests: [] });
    running.signal('SIGTERM');
    await running.ended;
  });

  it('a file of a keyturn that was killed is removed by the next one; that of one that runs stays', async () => {
    const { home, resource } = common();
    const env = { XDG_RUNTIME_DIR: runtimeFolder() };
    const words = (script: string) => ['exec', '--file', `AT=${resource}`, '--', 'sh', '-c', script];
    const killed = home.start(
      words('echo "at $AT" >&2; while kill -0 $PPID; do sleep 0.1; done 2>/dev/null'),
      {
        env,
      },
    );
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

  it('keyturn exec refuses a file if no folder in memory is the user’s alone, before it asks the person', async () => {
    const home = newHome();
    const words = ['exec', '--file', 'AT=https://notes.example/mcp', '--', 'echo', 'ran'];
    const onDisk = mkdtempSync('/var/tmp/keyturn-test-');
    onTestFinished(() => rmSync(onDisk, { recursive: true }));
    const open = 'and only 0700 is safe';
    for (const [folder, why] of [
      [undefined, 'names no folder'],
      ['/proc', open],
      [onDisk, 'is on a disk'],
      ['/dev/shm', open],
    ] as const) {
      const run = await home.keyturn(words, { env: { XDG_RUNTIME_DIR: folder } });
      expect(run).toMatchObject({ code: 7, stdout: '' });
      expect(run.stderr).toContain(why);
      expect(run.stderr).toContain('reason: file_unreadable');
    }
    expect(home.brokers()).toEqual([]);
  });
});

const status = (pid: number): string => readFileSync(`/proc/${pid}/status`, 'utf8');
