/** Another program of the same user writes settings.json or owner.key, or sets variables: nothing of it decides where secrets of a home of the app go. */
import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { openDesk, openHeadless } from '../support/homes/desk-home.ts';
import { newHome, type TestHome } from '../support/home.ts';
import { proxyEar } from '../support/servers/proxy-ear.ts';
import { writeHomeId, writeSettings } from '../support/homes/settings-file.ts';

const resource = 'https://server.invalid/mcp';
const issuer = 'https://login.invalid';

/** A home whose app opened the vault once, and ended. */
async function usedDesk(): Promise<TestHome> {
  const home = newHome({ vault: 'keychain' });
  const desk = await openDesk(home);
  const allow = { app: 'cli', resource, decision: 'allow' };
  await desk.owner.call('permission.set', allow);
  // A client that needs no person: a request of a program goes out at once.
  const client = { clientId: 'abc', clientSecret: 'aClientSecret-0815', grantType: 'client_credentials' };
  await desk.owner.call('oauthClient.add', { issuer, ...client });
  await desk.stop();
  return home;
}

const reasonOf = (error: { reason: string }): string => error.reason;

describe('settings.json, written while the app is closed', () => {
  it('settings.json: sends nothing through its proxy, and status tells the difference', async () => {
    const home = await usedDesk();
    const proxy = await proxyEar();
    const authorities = path.join(home.folder, 'evil.pem');
    writeFileSync(authorities, 'not vouched for');
    writeSettings(home, { httpsProxy: proxy.url, extraAuthorities: authorities });
    const { owner, line } = await openDesk(home);
    const asked = line.request('token.get', { resource }).then(() => 'a token', reasonOf);
    expect(await asked).toBe('mcp_server_unreachable');
    expect(proxy.asked).toEqual([]);
    const status = JSON.stringify(await owner.call('status', {}));
    expect(status).toContain('"differing":[');
    rmSync(authorities);
  });

  it('preferences.json settings.json: leaves the vault open behind no locked screen', async () => {
    const home = newHome({ vault: 'keychain' });
    const first = await openDesk(home);
    await first.owner.call('settings.set', { name: 'lockWithScreen', value: true });
    await first.stop();
    writeSettings(home, { lockWithScreen: false });
    const { owner, card } = await openDesk(home);
    await owner.call('permission.set', { app: 'cli', resource, decision: 'deny' });
    expect((await card()).settings).toEqual([{ name: 'lockWithScreen', value: false, inEffect: true }]);
    expect(await owner.call('settings.get', {})).toMatchObject({ settings: { lockWithScreen: true } });
  });

  it('settings.json: moves the home to no other vault, in the app and headless', async () => {
    const home = await usedDesk();
    writeSettings(home, { vault: 'memory' });
    const headless = (): ReturnType<typeof openHeadless> => openHeadless(home, { KEYTURN_VAULT: undefined });
    for (const open of [headless, () => openDesk(home)]) {
      const { line, stop } = await open();
      const allow = { app: 'cli', resource: 'https://other.invalid/mcp', decision: 'allow' };
      await expect(line.request('permission.set', allow)).rejects.toMatchObject({
        reason: 'file_unreadable',
        message: expect.stringContaining('the secrets are in another one'),
      });
      await expect(line.request('token.get', { resource })).rejects.toMatchObject({
        reason: 'file_unreadable',
      });
      expect(JSON.stringify(await line.request('status'))).toContain('"state":"mismatched"');
      await stop();
    }
  });
});

describe('the card about settings that nobody confirmed', () => {
  const env = { KEYTURN_ALLOW_INSECURE_LOOPBACK: '1' };
  const plain = { resource: 'http://127.0.0.1:9/mcp', timeout: 1 };

  it('blocks the network until it is answered; the owner’s key can’t approve', async () => {
    const { owner, line, card } = await openDesk(newHome({ env }), { leaves: true });
    const { id, settings } = await card();
    expect(settings).toEqual([{ name: 'insecureLoopback', value: true, inEffect: false }]);
    await expect(owner.call('signIn.start', plain)).rejects.toMatchObject({
      reason: expect.stringMatching(/consent_pending|invalid_resource/),
    });
    await expect(owner.call('signIn.start', { resource, timeout: 1 })).rejects.toMatchObject({
      reason: 'consent_pending',
    });
    await expect(line.request('request.answer', { id, answer: 'approve' })).rejects.toMatchObject({
      reason: 'not_permitted',
    });
  });

  it('settings.json: lets nothing of them count after a denial, and shows them', async () => {
    const { owner, card, answer } = await openDesk(newHome({ env }), { leaves: true });
    await answer((await card()).id, 'deny');
    await expect(owner.call('signIn.start', plain)).rejects.toMatchObject({ reason: 'invalid_resource' });
    expect(await owner.call('status', {})).toMatchObject({
      insecureLoopback: false,
      homeState: { differing: [{ name: 'insecureLoopback', value: true }] },
    });
  });
});

it('owner.key: written while the app is closed, it begins no new home', async () => {
  const home = await usedDesk();
  writeHomeId(home, 'A'.repeat(22));
  const lost = { reason: 'file_unreadable', message: expect.stringContaining('are of two homes') };
  const headless = await openHeadless(home);
  const setting = { name: 'httpsProxy', value: 'http://proxy.invalid:3128' };
  await expect(headless.line.request('settings.set', setting)).rejects.toMatchObject(lost);
  await expect(headless.line.request('token.get', { resource })).rejects.toMatchObject(lost);
  await headless.stop();
  const { owner, line } = await openDesk(home);
  await expect(line.request('token.get', { resource })).rejects.toMatchObject(lost);
  await expect(owner.call('settings.set', setting)).rejects.toMatchObject(lost);
});

describe('variables of the process that starts a headless broker in a home of the app', () => {
  it('name no browser, no plain http and no other vault', async () => {
    const home = await usedDesk();
    const { line, stop } = await openHeadless(home, {
      KEYTURN_BROWSER: 'evil-browser',
      KEYTURN_ALLOW_INSECURE_LOOPBACK: '1',
    });
    await line.request('permission.set', { app: 'cli', resource, decision: 'deny' });
    expect(await line.request('status')).toMatchObject({ insecureLoopback: false });
    expect(await line.request('status')).not.toHaveProperty('browser');
    await stop();
    const other = await openHeadless(home, { KEYTURN_VAULT: 'memory' });
    const denied = other.line.request('permission.set', { app: 'cli', resource, decision: 'deny' });
    await expect(denied).rejects.toMatchObject({ reason: 'file_unreadable' });
  });

  it('send nothing through their proxy', async () => {
    const home = await usedDesk();
    const proxy = await proxyEar();
    const { line } = await openHeadless(home, { HTTPS_PROXY: proxy.url });
    const asked = line.request('token.get', { resource }).then(() => 'a token', reasonOf);
    expect(await asked).toBe('mcp_server_unreachable');
    expect(proxy.asked).toEqual([]);
  });
});
