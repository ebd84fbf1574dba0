/** Another program has the owner's key and writes every file of an app's home. It can't read the vault. */
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { copyFolder, openDesk, openHeadless } from '../support/homes/desk-home.ts';
import { newHome, type TestHome } from '../support/home.ts';
import path from 'node:path';
import { writeSettings } from '../support/homes/settings-file.ts';

const resource = 'https://server.invalid/mcp';
const allowed = { app: 'cli', resource, decision: 'allow' } as const;
const wanted = { resource, interaction: 'never' };
const paused = { reason: 'paused', hint: expect.stringContaining('keyturn resume') };

/** A home that the user paused at a desk; the function puts back every file of the time before. */
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
    await desk.answer(id, 'approve');
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

const closed = { reason: 'not_permitted', message: expect.stringContaining('app isn’t running') as string };

/** What counts, and what the app would ask about, once it runs again. */
async function atTheDesk(home: TestHome): Promise<unknown> {
  const { owner } = await openDesk(home, { leaves: true });
  await owner.call('permission.set', { app: 'cli', resource, decision: 'deny' });
  return owner.call('settings.get', {});
}

const proxy = 'http://127.0.0.1:9';

it('settings.json: a headless broker uses no value of the file before the vault’s', async () => {
  const home = newHome({ vault: 'keychain' });
  const desk = await openDesk(home);
  await desk.owner.call('permission.set', { app: 'cli', resource, decision: 'deny' });
  await desk.stop();
  writeSettings(home, { httpsProxy: proxy });
  const { line, stop } = await openHeadless(home);
  const set = line.request('settings.set', { name: 'httpsProxy', value: proxy });
  await expect(set).rejects.toMatchObject(closed);
  await stop();
  expect(await atTheDesk(home)).not.toHaveProperty('settings.httpsProxy');
});

it('settings.json: a restriction stays if another program removes it from the file', async () => {
  const home = newHome({ vault: 'keychain' });
  const headless = await openHeadless(home);
  await headless.line.request('settings.set', { name: 'lockAfter', value: 600 });
  await headless.stop();
  const desk = await openDesk(home);
  await desk.owner.call('permission.set', { app: 'cli', resource, decision: 'deny' });
  await desk.stop();
  const file = path.join(home.paths.config, 'settings.json');
  const { lockAfter: _, ...rest } = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
  writeFileSync(file, JSON.stringify(rest), { mode: 0o600 });
  expect(await atTheDesk(home)).toMatchObject({ settings: { lockAfter: 600 } });
});

const early = { ...allowed, resource: 'https://server.invalid/early' };
const evil = { ...allowed, resource: 'https://server.invalid/evil' };

it('a headless broker on a copy gives nothing after the app changed the home', async () => {
  const home = newHome({ vault: 'keychain' });
  const first = await openHeadless(home);
  await first.line.request('permission.set', early);
  await first.stop();
  const copy = newHome({ vault: 'keychain' });
  copyFolder(home.folder, copy.folder);
  const other = await openHeadless(copy);
  await other.line.request('proxy.list');
  const desk = await openDesk(home);
  await desk.owner.call('proxy.list', {});
  await desk.answer((await desk.card()).id, 'approve');
  const settled = { homeState: { isWaiting: false } };
  await expect.poll(() => desk.owner.call('status', {})).toMatchObject(settled);
  const copied = { reason: 'vault_unreadable', message: expect.stringContaining('another broker') };
  await expect(other.line.request('permission.set', evil)).rejects.toMatchObject(copied);
  await expect(
    other.line.request('settings.set', { name: 'httpsProxy', value: proxy }),
  ).rejects.toMatchObject(copied);
  const deny = { ...early, decision: 'deny' };
  await expect(other.line.request('permission.set', deny)).rejects.toMatchObject(copied);
  await desk.stop();
  const { line } = await openHeadless(home);
  await expect(line.request('permission.set', evil)).rejects.toMatchObject(closed);
});

const endpoint = 'https://tickets.example/mcp';
const value = 'ak_only-for-tickets';

const set = { resource: endpoint, header: 'X-Api-Key', value, unchecked: true } as const;
const allow = { app: 'cli', resource: endpoint, decision: 'allow' } as const;

it('the owner’s key, in another program’s hands, gives no program a key that replaced the one on the card', async () => {
  const { line, owner, card, answer } = await openDesk(newHome());
  await owner.call('apiKey.set', set);
  const allowing = line.request('apiKey.permission.set', allow);
  allowing.catch(() => undefined);
  const { id, ...shown } = await card();
  const apiKey = { header: 'X-Api-Key' };
  expect(shown).toMatchObject({ command: 'allow', app: 'cli', resource: endpoint, apiKey });
  await owner.call('apiKey.set', { ...set, header: 'Authorization', scheme: 'Bearer' });
  await answer(id, 'approve');
  await expect(allowing).rejects.toMatchObject({ reason: 'conflict' });
  expect(await owner.call('apiKey.list', {})).toMatchObject({ apiKeys: [{ apps: [] }] });
});
