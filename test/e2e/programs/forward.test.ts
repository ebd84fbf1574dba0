/** Forwards: programs of a sandbox and of another machine ask a broker that they can't reach otherwise. */
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { codeBlocks, page } from '../../docs/pages.ts';
import { builtBin } from '../../support/built.ts';
import { homeInWorld, TestHome, until } from '../../support/home.ts';
import { askBroker, type Question, questionOf } from '../../support/homes/ask-broker.ts';
import { commonHome } from '../../support/homes/common-home.ts';
import * as owner from '../../support/homes/owner-acts.ts';
import { pids, processFacts } from '../../support/processes/process-table.ts';
import { sshServer } from '../../support/processes/ssh-server.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

/** The desk of the tests that don't ask for one of their own. Each leaves it without a forward, and pairs programs of its own. */
const there = commonHome();

/** A home that has nothing of the desk's but the socket. */
function farHome(socket: string, launcher: readonly string[] = []): TestHome {
  const far = new TestHome({ env: { KEYTURN_SOCKET: socket, KEYTURN_VAULT: undefined }, launcher });
  onTestFinished(() => far.close());
  return far;
}

/** Says yes to the next question of this kind, and answers it. */
async function answered(home: TestHome, kind: Question['kind'], answer: 'approve' | 'deny' = 'approve') {
  const question = await questionOf(home, kind);
  await askBroker(home, 'request.answer', { id: question.id, answer });
  return question;
}

it('the printed command for bubblewrap gets a token, and keeps the pairing', async () => {
  const { home, resource } = await homeInWorld();
  const folder = temporaryFolder();
  const [user, commands] = [path.join(folder, 'user'), path.join(folder, 'bin')];
  for (const made of [user, commands]) mkdirSync(made);
  symlinkSync(builtBin, path.join(commands, 'keyturn'));
  const env = {
    XDG_RUNTIME_DIR: folder,
    HOME: user,
    PATH: `${commands}:${path.dirname(process.execPath)}:${process.env['PATH']}`,
    KEYTURN_HOME: undefined,
    KEYTURN_VAULT: undefined,
  };
  const [opening = '', sandboxed = ''] = codeBlocks(page('docs/guides/remote-and-sandboxes.md'), 'sh')
    .filter((block) => block.includes('/box'))
    .map((block) => block.replace('https://notes.example/mcp', resource));
  const forward = home.startLines(opening, { env: { XDG_RUNTIME_DIR: folder, HOME: user, PATH: env.PATH } });
  // The shell would leave it running.
  onTestFinished(async () => void (await home.keyturn(['forward', 'close', 'agent'])));
  await forward.prints('.sock');

  const far = new TestHome({ env });
  onTestFinished(() => far.close());
  const first = far.startLines(sandboxed, { env });
  await answered(home, 'pair');
  await answered(home, 'allow');
  expect(await first.ended).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\S+\n$/) });
  const unasked = sandboxed.replace(' token ', ' token --no-input ');
  const second = await far.startLines(unasked, { env }).ended;
  expect(second).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\S+\n$/) });
  expect(await home.json('app', 'list')).toMatchObject({ apps: [{}, { name: 'token@agent' }] });
});

it('apps of another machine ask over ssh, under its verified host key', async () => {
  // Of its own: another run on this machine may have forwards too.
  const temporary = temporaryFolder();
  const { home, resource } = await there.newWorld();
  const folder = mkdtempSync(path.join(temporaryFolder(), 's'));
  const machine = await sshServer(path.join(folder, 'one'), 'buildbox');
  const pathBefore = (commands: string): string => `${commands}:${process.env['PATH'] ?? ''}`;
  const env = { TMPDIR: temporary, PATH: pathBefore(machine.commands) };
  const forward = home.start(['forward', 'open', 'buildbox', resource], { env });
  const socket = (await forward.prints('.sock')).trim();
  expect(path.dirname(socket)).toBe(machine.far);
  expect(path.basename(socket)).toMatch(/^buildbox@[0-9a-f]{8}\.sock$/);
  expect(statSync(machine.far).mode & 0o777).toBe(0o700);

  const far = farHome(socket);
  const token = far.start(['token', resource]);
  await token.says('Its code is ');
  const origin = { label: 'buildbox', hostKey: machine.hostKey };
  expect(await answered(home, 'pair')).toMatchObject({ app: 'token@buildbox', forward: origin });
  expect(await answered(home, 'allow')).toMatchObject({ forward: origin });
  expect(await token.ended).toMatchObject({ code: 0 });
  expect(await far.ok(['token', resource, '--no-input'])).toMatch(/^\S+\n$/);

  // Attacks: the other end opens connections without end, and ssh notes each; another program removes the notes.
  const [notes = ''] = readdirSync(temporary).filter((name) => name.startsWith('keyturn-ssh-'));
  const log = path.join(temporary, notes, 'log');
  appendFileSync(log, 'debug1: a connection\n'.repeat(100_000));
  await until('the notes are cut', () => statSync(log).size < 1_000_000);
  rmSync(log);

  machine.stop();
  expect(await forward.ended).toMatchObject({
    code: 6,
    stderr: expect.stringContaining('The connection to "buildbox" is gone'),
  });
  expect(await home.json('forward', 'list')).toEqual([]);

  const other = await sshServer(path.join(folder, 'two'), 'buildbox');
  const anew = home.start(['forward', 'open', 'buildbox', resource], {
    env: { TMPDIR: temporary, PATH: pathBefore(other.commands) },
  });
  const elsewhere = { env: { KEYTURN_SOCKET: (await anew.prints('.sock')).trim() } };
  expect(await far.keyturn(['token', resource, '--no-input'], elsewhere)).toMatchObject({
    code: 4,
    stderr: expect.stringContaining('unpaired'),
  });
  // Another machine of this name can't take the name of the app of before. Nothing has to be moved away there.
  await home.ok(['app', 'remove', 'token@buildbox']);
  const pairing = far.start(['token', resource], elsewhere);
  await pairing.says('Its code is ');
  const hostKey = other.hostKey;
  expect(await answered(home, 'pair')).toMatchObject({ app: 'token@buildbox', forward: { hostKey } });
  await answered(home, 'allow');
  expect(await pairing.ended).toMatchObject({ code: 0 });
  anew.signal('SIGTERM');
  expect(await anew.ended).toMatchObject({ code: 130 });
  expect(existsSync(other.far)).toBe(false);

  expect(readdirSync(temporary).filter((name) => name.startsWith('keyturn-ssh-'))).toEqual([]);

  const unknown = await home.keyturn(['forward', 'open', 'buildbox', resource], { env });
  expect(unknown).toMatchObject({ code: 6, stderr: expect.stringContaining('can’t be reached over ssh') });
});

it('a command that is killed leaves no ssh, and the next removes its folder', async () => {
  const long = 'x'.repeat(60);
  const { home, resource } = await homeInWorld({ folderName: `${long}:%h` });
  await owner.startBroker(home);
  const folder = mkdtempSync(path.join(temporaryFolder(), 's'));
  const machine = await sshServer(folder, 'buildbox', { isKnownByAuthority: true });
  const env = { PATH: `${machine.commands}:${process.env['PATH'] ?? ''}` };
  const open = async () => {
    const forward = home.start(['forward', 'open', 'buildbox', resource], { env });
    const socket = (await forward.prints('.sock')).trim();
    return { forward, socket };
  };
  const first = await open();
  const { forwards } = await askBroker(home, 'forward.list', {});
  expect(forwards).toMatchObject([{ hostKey: machine.hostKey }]);
  const running = () =>
    pids()
      .map((pid) => processFacts(pid).argv.join(' '))
      .filter((line) => line.includes(folder) && line.includes('keyturn-ssh-'));
  const [leftover = ''] = /\S+\/keyturn-ssh-[^/]+/.exec(running().join('\n')) ?? [];
  first.forward.signal('SIGKILL');
  await until('the end of ssh', () => running().length === 0);
  expect(existsSync(leftover)).toBe(true);
  await until('the end', async () => (await askBroker(home, 'forward.list', {})).forwards.length === 0);

  const second = await open();
  expect(second.socket).toBe(first.socket);
  expect(existsSync(leftover)).toBe(false);

  // Another desk of the same label there: each has a socket of its own.
  const beside = there.home.start(['forward', 'open', 'buildbox', there.resource], { env });
  expect((await beside.prints('.sock')).trim()).not.toBe(second.socket);
  expect(readdirSync(machine.far)).toHaveLength(2);
  expect(await farHome(second.socket).keyturn(['token', resource, '--no-input'])).toMatchObject({
    stderr: expect.stringContaining('unpaired'),
  });
  for (const forward of [beside, second.forward]) forward.signal('SIGTERM');
  expect(await second.forward.ended).toMatchObject({ code: 130 });
  expect(await beside.ended).toMatchObject({ code: 130 });
});
