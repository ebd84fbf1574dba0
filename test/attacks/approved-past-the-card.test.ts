/**
 * Another program of the same user wants the vault of a home of the app to confirm a setting that nobody confirmed, or
 * to forget one that the person chose.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { openDesk, openHeadless } from '../support/homes/desk-home.ts';
import { newHome, type TestHome } from '../support/home.ts';
import { writeSettings } from '../support/homes/settings-file.ts';

const resource = 'https://server.invalid/mcp';
const closed = { reason: 'not_permitted', message: expect.stringContaining('app isn’t running') as string };

/** A home whose app opened the vault once, and ended. */
async function closedDesk(settings: Readonly<Record<string, string>> = {}): Promise<TestHome> {
  const home = newHome({ vault: 'keychain' });
  const desk = await openDesk(home);
  await desk.owner.call('permission.set', { app: 'cli', resource, decision: 'deny' });
  for (const [name, value] of Object.entries(settings)) {
    await desk.owner.call('settings.set', { name, value });
  }
  await desk.stop();
  return home;
}

/** What counts, and what the app would ask about, once it runs again. */
async function atTheDesk(home: TestHome): Promise<unknown> {
  const { owner } = await openDesk(home, { leaves: true });
  await owner.call('permission.set', { app: 'cli', resource, decision: 'deny' });
  return owner.call('settings.get', {});
}

function takeSettingOut(home: TestHome, name: string): void {
  const file = path.join(home.paths.config, 'settings.json');
  const { [name]: _, ...rest } = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
  writeFileSync(file, JSON.stringify(rest), { mode: 0o600 });
}

const proxy = 'http://127.0.0.1:9';

describe('a headless broker in a home of the app', () => {
  it('settings.json: sets nothing to a value from the file before the vault was asked', async () => {
    const home = await closedDesk();
    writeSettings(home, { httpsProxy: proxy });
    const { line, stop } = await openHeadless(home);
    const set = line.request('settings.set', { name: 'httpsProxy', value: proxy });
    await expect(set).rejects.toMatchObject(closed);
    await stop();
    expect(await atTheDesk(home)).not.toHaveProperty('settings.httpsProxy');
  });
});

describe('a setting that only takes away, written before the app first opened the vault', () => {
  it('settings.json: counts on when another program takes it out of the file', async () => {
    const home = newHome({ vault: 'keychain' });
    const headless = await openHeadless(home);
    await headless.line.request('settings.set', { name: 'lockAfter', value: 600 });
    await headless.stop();
    const desk = await openDesk(home);
    await desk.owner.call('permission.set', { app: 'cli', resource, decision: 'deny' });
    await desk.stop();
    takeSettingOut(home, 'lockAfter');
    expect(await atTheDesk(home)).toMatchObject({ settings: { lockAfter: 600 } });
  });
});
