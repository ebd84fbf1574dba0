/** Permissions for one run of a program, and who it is that asks: with real processes. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, realpathSync, statSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { homeInWorld, newHome, processFacts, type TestHome, until } from '../../support/home.ts';
import { askBroker, questionOf } from '../../support/homes/ask-broker.ts';
import * as owner from '../../support/homes/owner-acts.ts';
import { connected, pairedProgram } from '../../support/processes/program.ts';

describe('a permission for this run', () => {
  it('serves every connection of the process, and ends with the last', async () => {
    const { home, resource } = await homeInWorld({ vault: 'keychain' });
    await owner.startBroker(home);
    const first = await pairedProgram(home, 'editor');
    const second = await connected(home, 'editor');
    const asked = first.getToken({ resource, interaction: 'allow' });
    const question = await questionOf(home, 'allow');
    expect(question.asker).toMatchObject({
      verified: true,
      pid: process.pid,
      executable: realpathSync(process.execPath),
      file: 'interpreter',
    });
    const told = await home.ok(['request', 'list']);
    expect(told).toContain(`asked by ${question.asker?.executable} (pid ${process.pid})`);
    expect(told).toContain('an interpreter: the kernel does not tell which script it runs');
    expect(told).toContain('it claims to run: ');
    await home.ok(['request', 'approve', question.id, '--this-run', '--for', '30m']);
    const token = await asked;
    expect((await second.getToken({ resource })).tokenId).toBe(token.tokenId);
    expect(await home.ok(['app', 'list'])).toMatch(
      new RegExp(`this run of ${question.asker?.executable} \\(pid ${process.pid}\\), until \\d`),
    );
    const document = readFileSync(path.join(home.paths.state, 'authority.json'), 'utf8');
    expect(document).toContain('editor');
    expect(document).not.toContain('["permissions"');

    first.close();
    expect((await second.getToken({ resource })).tokenId).toBe(token.tokenId);
    second.close();
    await until('the permission is gone', async () => {
      const { apps: clients } = await askBroker(home, 'app.list', {});
      return clients.every(({ permissions }) => permissions.length === 0);
    });
    expect(await home.ok(['app', 'list'])).not.toContain('this run of');
    const third = await connected(home, 'editor');
    await expect(third.getToken({ resource })).rejects.toMatchObject({ reason: 'consent_required' });
  });
});

/** Asks to be paired, and, told to, becomes another program with its connection still open. */
const changeling = `
use Socket; $^F = 255; $| = 1;
socket(my $s, PF_UNIX, SOCK_STREAM, 0) or die; connect($s, pack_sockaddr_un($ARGV[0])) or die;
syswrite($s, $ARGV[1] . "\\n"); sysread($s, my $code, 4096); print $code; <STDIN>; exec 'sleep', '60';
`;

function pairing(home: TestHome, name: string): ChildProcess {
  const socket = path.join(home.paths.run, 'broker.sock');
  const { dev, ino } = statSync(socket);
  const params = { versions: [1], name, endpoint: `unix:${dev}:${ino}` };
  const line = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'pair', params });
  const child = spawn('perl', ['-e', changeling, socket, line], { stdio: ['pipe', 'pipe', 'inherit'] });
  onTestFinished(async () => {
    if (child.exitCode === null && child.kill('SIGKILL')) await once(child, 'exit');
  });
  return child;
}

describe('a process that becomes another program while its question is open', () => {
  it('is not paired: the yes is refused, and nothing is granted', async () => {
    const home = newHome();
    await owner.startBroker(home);
    const child = pairing(home, 'changeling');
    const { id, asker } = await questionOf(home, 'pair');
    expect(asker).toMatchObject({ verified: true, pid: child.pid });
    expect(asker?.executable).toMatch(/perl/);
    child.stdin?.end('\n');
    await until('it is another program', () => processFacts(child.pid ?? 0).argv[0] === 'sleep');

    const run = await home.keyturn(['request', 'approve', id]);
    expect(run).toMatchObject({ code: 2, stdout: '' });
    expect(run.stderr).toContain('is no longer the same program');
    expect(run.stderr).toContain('reason: conflict');
    expect(await home.json('app', 'list')).toMatchObject({ apps: [{ name: 'cli' }] });
    expect(await home.json('request', 'list')).toEqual([]);
    expect(await home.ok(['audit', 'log'])).toContain('void');
  });
});
