/** Another program of the same user writes every file of the home, and has the owner’s key, to lift a pause of all access. */
import { chmodSync, cpSync, rmSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { openDesk, openHeadless } from '../support/homes/desk-home.ts';
import { newHome, type TestHome } from '../support/home.ts';

const resource = 'https://server.invalid/mcp';
const allowed = { client: 'cli', resource, decision: 'allow' } as const;
const wanted = { resource, interaction: 'never' };
const paused = { reason: 'paused', hint: expect.stringContaining('keyturn resume') };

function copyOf(from: string, to: string): void {
  cpSync(from, to, { recursive: true });
  for (const name of ['', 'config', 'state', 'run']) chmodSync(path.join(to, name), 0o700);
}

/** A home whose files are of the time before the pause that its vault has. */
async function pausedHome(): Promise<TestHome> {
  const home = newHome({ vault: 'keychain' });
  const { owner, stop } = await openDesk(home);
  await owner.call('permission.set', allowed);
  const before = temporaryFolder();
  cpSync(home.folder, before, { recursive: true });
  await owner.call('access.pause', {});
  await stop();
  rmSync(home.folder, { recursive: true });
  copyOf(before, home.folder);
  return home;
}

describe('a pause of all access', () => {
  it('outlives a restart and an older copy of every file; at the closed desk the owner’s key can’t end it', async () => {
    const home = await pausedHome();
    const { line, stop } = await openHeadless(home);
    await expect(line.request('token.get', wanted)).rejects.toMatchObject(paused);
    expect(await line.request('status')).toHaveProperty('pause.since');
    await expect(line.request('access.resume')).rejects.toMatchObject({
      reason: 'not_permitted',
      message: expect.stringContaining('desk is closed'),
    });
    await stop();
    const desk = await openDesk(home);
    // Before anything else was asked of the vault: the card comes all the same.
    const resuming = desk.line.request('access.resume');
    const { id, command } = await desk.card();
    expect(command).toBe('resume');
    await expect(desk.line.request('token.get', wanted)).rejects.toMatchObject(paused);
    await desk.answer(id, 'yes');
    await resuming;
    await expect(desk.line.request('token.get', wanted)).rejects.toMatchObject({ reason: 'login_required' });
  });

  it('stays in the vault when a broker on a copy of the home, which runs since before, writes what it knows', async () => {
    const home = newHome({ vault: 'keychain' });
    const early = await openHeadless(home);
    await early.line.request('permission.set', allowed);
    await early.stop();
    const copy = newHome({ vault: 'keychain' });
    copyOf(home.folder, copy.folder);
    const other = await openHeadless(copy);
    await other.line.request('permission.set', allowed);
    const mine = await openHeadless(home);
    await mine.line.request('access.pause', {});
    await other.line.request('settings.set', { name: 'lockAfter', value: 600 });
    await mine.stop();
    const { line } = await openHeadless(home);
    await expect(line.request('token.get', wanted)).rejects.toMatchObject(paused);
  });

  it('is not shortened by a second one', async () => {
    const { line } = await openHeadless(newHome());
    const until = Math.floor(Date.now() / 1000) + 3600;
    await line.request('access.pause', { until });
    expect(await line.request('access.pause', { until: until - 3500 })).toMatchObject({ until });
    await expect(line.request('token.get', wanted)).rejects.toMatchObject(paused);
  });
});
