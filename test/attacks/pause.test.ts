/** Another program of the same user writes every file of the home, and has the owner’s key, to lift a pause of all access. */
import { cpSync, rmSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { copyFolder, openDesk, openHeadless } from '../support/homes/desk-home.ts';
import { newHome, type TestHome } from '../support/home.ts';

const resource = 'https://server.invalid/mcp';
const allowed = { app: 'cli', resource, decision: 'allow' } as const;
const wanted = { resource, interaction: 'never' };
const paused = { reason: 'paused', hint: expect.stringContaining('keyturn resume') };

/** A home that the person paused at a desk; the function puts back every file of the time before. */
async function pausedHome(): Promise<{ home: TestHome; goBack: () => void }> {
  const home = newHome({ vault: 'keychain' });
  const { owner, stop } = await openDesk(home);
  await owner.call('permission.set', allowed);
  const before = temporaryFolder();
  cpSync(home.folder, before, { recursive: true });
  await owner.call('pause', {});
  await stop();
  const goBack = (): void => {
    rmSync(home.folder, { recursive: true });
    copyFolder(before, home.folder);
  };
  return { home, goBack };
}

describe('a pause of all access', () => {
  it('outlives a restart; the owner’s key can’t end it while the app is closed', async () => {
    const { home } = await pausedHome();
    const { line, stop } = await openHeadless(home);
    await expect(line.request('token.get', wanted)).rejects.toMatchObject(paused);
    expect(await line.request('status')).toHaveProperty('pause.since');
    await expect(line.request('resume')).rejects.toMatchObject({
      reason: 'not_permitted',
      message: expect.stringContaining('app isn’t running'),
    });
    await stop();
    const desk = await openDesk(home);
    // Before anything else was asked of the vault: the card comes all the same.
    const resuming = desk.line.request('resume');
    const { id, command } = await desk.card();
    expect(command).toBe('resume');
    await expect(desk.line.request('token.get', wanted)).rejects.toMatchObject(paused);
    await desk.answer(id, 'yes');
    await resuming;
    await expect(desk.line.request('token.get', wanted)).rejects.toMatchObject({ reason: 'login_required' });
  });

  it('is not lifted by an older copy of every file: nothing is served from it', async () => {
    const { home, goBack } = await pausedHome();
    goBack();
    const { line } = await openHeadless(home);
    await expect(line.request('token.get', wanted)).rejects.toMatchObject({
      reason: 'file_unreadable',
      message: expect.stringContaining('not the newest one'),
    });
  });
});
