/** The end of a home: asked for, complete, told, and finished by a second run where a crash cut it short. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { homeInBentWorld } from '../../support/bent/home.ts';
import { homeInWorld, isAlive, type TestHome, until } from '../../support/home.ts';
import { filesBelow } from '../../support/secret-scan.ts';
import type { ResultOf } from '../../../src/ipc/protocol/methods.ts';
import { askBroker } from '../../support/homes/ask-broker.ts';
import { allow, enter, signIn, startBroker, stopBroker, tokenAt } from '../../support/homes/owner-acts.ts';
import { ofTest } from '../../support/lasting.ts';
import { namedItems } from '../../support/homes/named-items.ts';
import { keyturnInTerminal } from '../../support/processes/terminal.ts';
import { ownKeyring, rawItems } from '../../vault/keychain/keyring.ts';

const reset = async (home: TestHome) =>
  JSON.parse(await home.ok(['reset', '--yes', '--json'])) as ResultOf<'home.reset'>;

describe('keyturn reset', () => {
  it('revokes everything, empties the keychain and removes the files', async () => {
    const { home, world, resource } = await homeInWorld({ vault: 'keychain' });
    await startBroker(home);
    await signIn(home, resource);
    await signIn(home, resource, { account: 'work' });
    const elsewhere = 'https://login.example';
    await enter(home, { issuer: elsewhere, clientId: 'abc', clientSecret: 'hush' });
    const homeId = home.homeId;
    const owner = JSON.parse(readFileSync(path.join(home.paths.config, 'owner.key'), 'utf8')) as object;
    mkdirSync(path.join(home.paths.config, 'apps'), { mode: 0o700 });
    writeFileSync(path.join(home.paths.config, 'apps', 'editor.key'), JSON.stringify(owner), { mode: 0o600 });
    const items = rawItems(`keyturn/${homeId}`);
    onTestFinished(() => items.close());
    const names = ['root', 'newest', ...namedItems(home.paths.state)];
    const present = async (): Promise<string[]> => {
      const there: string[] = [];
      for (const name of names) if ((await items.get(name)) !== undefined) there.push(name);
      return there;
    };
    await until('every item', async () => (await present()).length === names.length);
    const { pid } = await askBroker(home, 'status', {});

    const left = await reset(home);
    expect(left.revoked.map(({ receipt }) => receipt)).toEqual(['confirmed', 'confirmed']);
    expect(left).toMatchObject({ unreadable: [], files: [] });
    expect(left).not.toHaveProperty('vaultLeft');
    expect(left.oauthClients.map(({ issuer }) => issuer)).toEqual([
      world.authorizationServer.issuer,
      elsewhere,
    ]);
    expect(isAlive(pid)).toBe(false);
    expect(await present()).toEqual([]);
    expect(filesBelow(home.folder)).toEqual([]);

    // Nothing is there to reset any more, and nothing is started for it.
    expect(await home.keyturn(['reset', '--yes'])).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(filesBelow(home.folder)).toEqual([]);
    await startBroker(home);
    expect((await askBroker(home, 'signIn.list', {})).signIns).toEqual([]);
    expect(home.homeId).not.toBe(homeId);
    await reset(home);
  });

  it('goes on after a crash, and names what the issuer was never told', async () => {
    const { home, url, authorizationServer } = await homeInBentWorld({ vault: 'keychain' });
    const { server } = authorizationServer;
    await startBroker(home);
    await signIn(home, url);
    server.on('POST', '/revoke', 'hang');
    const { pid } = await askBroker(home, 'status', {});
    const cut = home.start(['reset', '--yes']);
    await until('the issuer is asked', () => server.asked('/revoke', 'POST').length > 0);
    process.kill(pid, 'SIGKILL');
    expect(await cut.ended).toMatchObject({ code: 8, stdout: '' });
    expect(await home.json('sign-in', 'list')).toMatchObject([{ state: 'revoked', receipt: 'pending' }]);
    server.on('POST', '/revoke', { status: 503 });
    const note = path.join(home.paths.state, 'note.txt');
    writeFileSync(note, 'mine');
    const { code, stdout } = await home.keyturn(['reset', '--yes']);
    expect(code).toBe(0);
    expect(stdout).toContain(
      `${url} at ${authorizationServer.issuer}: revoked here; the authorization server never confirmed it`,
    );
    expect(stdout).toContain(`kept, since it is not Keyturn's: ${note}\n`);
    expect(filesBelow(home.folder)).toEqual([note]);
  });

  it('refuses if the keychain is locked, and with --yes names what stays', async () => {
    const keyring = await ofTest(ownKeyring());
    const { DBUS_SESSION_BUS_ADDRESS, XDG_RUNTIME_DIR } = keyring.env;
    const { home, world, resource } = await homeInWorld({
      env: { KEYTURN_VAULT: 'keychain', DBUS_SESSION_BUS_ADDRESS, XDG_RUNTIME_DIR },
    });
    await startBroker(home);
    await allow(home, 'cli', resource);
    await signIn(home, resource);
    await tokenAt(home, resource);
    const service = `keyturn/${home.homeId}`;
    await stopBroker(home);
    await keyring.lock();
    const terminal = keyturnInTerminal(home, 'reset');
    await terminal.shows(/Type 'yes' to continue: /);
    terminal.type('yes\n');
    expect(await terminal.ended).toEqual([7, null]);
    expect(terminal.shown()).toContain('Nothing was reset.');
    expect(terminal.shown()).toContain(service);
    expect(await home.json('sign-in', 'list')).toMatchObject([{ state: 'active' }]);
    const left = await reset(home);
    expect(left.revoked).toMatchObject([{ receipt: 'abandoned' }]);
    expect(left.vaultLeft).toContain(service);
    expect(filesBelow(home.folder)).toEqual([]);
    expect(world.counts().authorizationServer.revocations).toBe(0);
  });
});
