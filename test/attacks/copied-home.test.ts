/** Another program of the same user runs a broker of its own on a copy of the home, beside the app. */
import { describe, expect, it } from 'vitest';
import { copyFolder, openDesk, openHeadless } from '../support/homes/desk-home.ts';
import { newHome } from '../support/home.ts';
import type { TestHome } from '../support/home.ts';

const allowed = (place: string): object => ({
  app: 'cli',
  resource: `https://server.invalid/${place}`,
  decision: 'allow',
});
const evil = allowed('evil');
const proxy = { name: 'httpsProxy', value: 'http://proxy.invalid:3128' };

function copyOf(home: TestHome): TestHome {
  const copy = newHome({ vault: 'keychain' });
  copyFolder(home.folder, copy.folder);
  return copy;
}

describe('a headless broker on a copy of the home', () => {
  it('gives nothing after the app changed the home', async () => {
    const home = newHome({ vault: 'keychain' });
    const early = await openHeadless(home);
    await early.line.request('permission.set', allowed('early'));
    await early.stop();
    const other = await openHeadless(copyOf(home));
    await other.line.request('proxy.list');
    const desk = await openDesk(home);
    await desk.owner.call('proxy.list', {});
    await desk.answer((await desk.card()).id, 'yes');
    const settled = { homeState: { isWaiting: false } };
    await expect.poll(() => desk.owner.call('status', {})).toMatchObject(settled);
    const closed = { reason: 'not_permitted', message: expect.stringContaining('app isn’t running') };
    const copied = { reason: 'vault_unreadable', message: expect.stringContaining('another broker') };
    await expect(other.line.request('permission.set', evil)).rejects.toMatchObject(copied);
    await expect(other.line.request('settings.set', proxy)).rejects.toMatchObject(copied);
    const deny = { app: 'cli', resource: 'https://server.invalid/early', decision: 'deny' };
    await expect(other.line.request('permission.set', deny)).rejects.toMatchObject(copied);
    await desk.stop();
    const { line } = await openHeadless(home);
    await expect(line.request('permission.set', evil)).rejects.toMatchObject(closed);
  });
});
