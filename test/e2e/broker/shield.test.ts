/** What others can see of the broker's processes: their memory, their arguments, what a crash leaves behind. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { builtBin } from '../../support/built.ts';
import { homeInWorld, newHome, processFacts, type TestHome, until } from '../../support/home.ts';
import { askBroker } from '../../support/homes/ask-broker.ts';
import { allow, signIn, tokenAt } from '../../support/homes/owner-acts.ts';
import {
  dumpingCore,
  linkAsNeighbour,
  readAsNeighbour,
  withoutPrivileges,
} from '../../support/processes/plain-user.ts';
import { childrenOf } from '../../support/processes/process-table.ts';
import { secretsIn, secretsKnown, told } from '../../support/secrets.ts';

/** The module as the desktop host has it: a file of its own. */
const builtShield = path.join(builtBin, '..', '..', 'app', 'src', 'base', 'shield.js');

const isRoot = process.getuid?.() === 0;

/** The keychain worker of a broker. */
function workerOf(broker: number): number {
  const found = childrenOf(broker).find((pid) =>
    processFacts(pid).argv.join(' ').includes('keychain-worker'),
  );
  if (found === undefined) throw new Error('no keychain worker runs');
  return found;
}

/** A core's size limits, soft and hard. */
function coreLimits(pid: number): string[] {
  const limits = readFileSync(`/proc/${pid}/limits`, 'utf8');
  return /^Max core file size\s+(\S+)\s+(\S+)/m.exec(limits)?.slice(1) ?? [];
}

async function brokerIn(home: TestHome): Promise<number> {
  const pid = await home.brokerPid();
  if (pid === undefined) throw new Error('no broker runs');
  return pid;
}

describe('the broker and its keychain worker', () => {
  it('PROMISE-1: leave no core, and no other program can read their memory', async () => {
    const { home, resource } = await homeInWorld({ vault: 'keychain', launcher: withoutPrivileges });
    await home.ok(['app', 'allow', 'cli', resource]);
    await signIn(home, resource);
    const { pid: broker, unshielded } = await askBroker(home, 'status', {});
    expect(unshielded).toEqual([]);
    for (const pid of [broker, workerOf(broker)]) {
      expect(coreLimits(pid)).toEqual(['0', '0']);
      for (const name of ['mem', 'environ', 'maps', 'auxv', 'fd/0']) {
        expect([name, readAsNeighbour(`/proc/${pid}/${name}`)]).toEqual([name, undefined]);
      }
    }
  });

  it('could be read if they were not shielded', async () => {
    const [command, ...args] = [...withoutPrivileges, 'sleep', '60'];
    const open = spawn(command, args, { stdio: 'ignore' });
    onTestFinished(() => void open.kill());
    const pid = open.pid ?? 0;
    // Empty while it is still becoming another program.
    await until('it can be read', () => (readAsNeighbour(`/proc/${pid}/environ`)?.length ?? 0) > 0);
  });

  it.each([
    { shield: 'shieldProcess', root: undefined },
    { shield: 'shieldDesktop', root: '/' },
  ])('$shield decides whether a portal may look into /proc/PID/root', async ({ shield, root }) => {
    const script = `
      const { ${shield} } = await import(${JSON.stringify(builtShield)});
      console.log(JSON.stringify(await ${shield}()));
      setInterval(() => undefined, 1000);
    `;
    const [command, ...args] = [...withoutPrivileges, process.execPath, '--input-type=module', '-e', script];
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    onTestFinished(() => void child.kill());
    const failed = once(child, 'close').then(([code]) => {
      throw new Error(`the shielded process ended with ${String(code)}`);
    });
    const [said] = (await Promise.race([once(child.stdout, 'data'), failed])) as [Buffer];
    const left: unknown = JSON.parse(said.toString());
    const pid = child.pid ?? 0;
    expect(coreLimits(pid)).toEqual(['0', '0']);
    expect(linkAsNeighbour(`/proc/${pid}/root`)).toBe(root);
    if (shield === 'shieldProcess') return;
    expect(readFileSync(`/proc/${pid}/coredump_filter`, 'utf8').trim()).toBe('00000000');
    // What is left open is told, unless the system forbids it by itself.
    const isOpen = readAsNeighbour(`/proc/${pid}/environ`) !== undefined;
    expect(left).toEqual(isOpen ? ['traceable'] : []);
  });

  it.each(['SIGABRT', 'SIGSEGV'] as const)(
    'PROMISE-1: leave no core file and say no secret when %s ends them',
    async (signal) => {
      const { home, resource } = await homeInWorld({ launcher: dumpingCore });
      const broker = home.start(['broker', 'run']);
      await broker.says('the broker listens on');
      await allow(home, 'cli', resource);
      await signIn(home, resource);
      await tokenAt(home, resource);
      broker.signal(signal);
      const { code, stderr } = await broker.ended;
      expect(code).toBeLessThan(0);
      // A core would lie in the working folder, which `close` finds empty; and it scans what was printed.
      expect(stderr).not.toContain('core dumped');
      await home.ok(['sign-in', 'list']);
    },
  );

  it('open no inspector when SIGUSR1 comes, and go on', async () => {
    const home = newHome();
    const broker = home.start(['broker', 'run']);
    await broker.says('the broker listens on');
    broker.signal('SIGUSR1');
    expect((await askBroker(home, 'status', {})).pid).toBe(broker.pid);
    broker.signal('SIGTERM');
    const { stderr } = await broker.ended;
    expect(stderr).not.toMatch(/debugger|inspector/i);
  });

  it.runIf(isRoot)('work as an ordinary user, who does not own their /proc', async ({ skip }) => {
    const nobody = 65_534;
    const asNobody = ['setpriv', '--reuid', `${nobody}`, '--regid', `${nobody}`, '--clear-groups'];
    const [command, ...words] = [...asNobody, process.execPath, builtBin, '--version'];
    // A checkout in a folder of root's alone can't be run by anybody else.
    if (spawnSync(command, words).status !== 0) skip();
    const folder = mkdtempSync(path.join(tmpdir(), 'kt-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    chownSync(folder, nobody, nobody);
    const env = { HOME: folder, KEYTURN_HOME: path.join(folder, 'home') };
    const home = newHome({ launcher: asNobody, env });
    await home.ok(['app', 'allow', 'cli', 'https://notes.example/mcp']);
    const pid = await brokerIn(home);
    const seen = (file: string): number | null =>
      spawnSync(asNobody[0] ?? '', [...asNobody.slice(1), 'head', '-c1', file]).status;
    expect(readFileSync(`/proc/${pid}/status`, 'utf8')).toMatch(/^Uid:\t65534\t/m);
    expect(seen(`/proc/${pid}/environ`)).not.toBe(0);
    expect(await home.json('app', 'list')).toMatchObject({ apps: [{ appId: 'cli' }] });
    await home.ok(['broker', 'stop']);
  });
});

const tellingBrowser = path.join(import.meta.dirname, '../../support/browsers/telling-browser.sh');

it('PROMISE-1: no secret is in arguments or environment of any process', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'keyturn-told-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = path.join(folder, 'browser');
  const { home, world, resource } = await homeInWorld({
    vault: 'keychain',
    env: { AWS_SECRET_ACCESS_KEY: 'not-for-the-broker' },
    browser: (there) => `sh ${tellingBrowser} ${file} ${there.browser()}`,
  });
  await home.ok(['app', 'allow', 'cli', resource]);
  const held = world.holdTokenRequests();
  const asking = home.start(['token', resource]);
  await held.arrived;
  const broker = await brokerIn(home);
  // The worker has written by then what must last before the token request.
  const pids = [asking.pid, broker, workerOf(broker)];
  const facts = pids.map((pid) => processFacts(pid));
  held.release();
  expect((await asking.ended).code).toBe(0);
  const browser = readFileSync(file, 'utf8');
  expect(browser).toMatch(/http:\/\/127\.0\.0\.1:\d+\/[\w-]{22}$/m);
  expect(browser).not.toMatch(/state=|code_challenge|client_id|authorize/);
  expect(secretsKnown()).toBeGreaterThan(3);
  expect(told(secretsIn('a process', JSON.stringify(facts)))).toBe('');
  expect(facts[1]?.argv).toEqual(expect.arrayContaining(['--disable-sigusr1', '--auto-started']));
  expect(facts[1]?.environ.join()).not.toContain('AWS_SECRET_ACCESS_KEY');
  expect(told(secretsIn('the browser', browser))).toBe('');
});
