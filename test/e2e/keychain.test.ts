/** The keychain as the vault of real processes: what survives a restart, what a locked one says, and where no secret may be. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { keychainVault } from '../../src/vault/keychain/keychain.ts';
import { openHeadless } from '../support/homes/desk-home.ts';
import { homeOnOwnKeyring } from '../support/homes/own-keyring-home.ts';
import { filesBelow, homeInWorld, newHome, type TestHome, userAgent } from '../support/home.ts';
import { verdictOn } from '../support/servers/notebook.ts';
import { openWorld } from '../support/world.ts';

describe('the keychain', () => {
  it('the keychain keeps a grant over a restart: no second sign-in, one refresh, and the rotated token is kept again', async () => {
    const { home, world, resource } = await homeInWorld({ vault: 'keychain' });
    await home.ok(['allow', 'cli', resource]);
    const first = await home.ok(['token', resource]);
    for (const restart of [1, 2]) {
      await home.ok(['daemon', '--stop']);
      const token = await home.ok(['token', resource, '--no-interaction']);
      expect(token).not.toBe(first);
      expect((await verdictOn(world, token.trim())).status).toBe(200);
      expect(world.counts().authorizationServer).toMatchObject({
        signIns: 1,
        registrations: 1,
        refreshes: restart,
        refreshReuses: 0,
      });
    }
  });

  it('a locked keychain leads to exit 7 and spends no refresh token, and the broker goes on once it is open', async () => {
    const { keyring, home, world, resource, token: old } = await homeOnOwnKeyring();
    await keyring.lock();
    const run = await home.keyturn(['token', resource, '--rejected-stdin'], { stdin: old });
    expect(run).toMatchObject({ code: 7, stdout: '' });
    expect(run.stderr).toMatch(/hint: .*unlock/);
    expect(world.counts().authorizationServer.tokenRequests).toBe(1);

    await keyring.restartUnlocked();
    // Programs leave a locked keychain alone for a while; a person asks it at once.
    await home.ok(['unlock']);
    const token = await home.ok(['token', resource, '--no-interaction']);
    expect((await verdictOn(world, token.trim())).status).toBe(200);
    expect(world.counts().authorizationServer).toMatchObject({ signIns: 1, refreshes: 1, refreshReuses: 0 });
  });

  it('an absent keychain refuses before any sign-in, and nothing else takes its place', async () => {
    const { home, world, resource } = await homeInWorld({
      env: { KEYTURN_VAULT: 'keychain', DBUS_SESSION_BUS_ADDRESS: 'unix:path=/nonexistent/bus' },
    });
    for (const command of ['allow cli', 'token']) {
      const run = await home.keyturn([...command.split(' '), resource]);
      expect(run, command).toMatchObject({ code: 7, stdout: '' });
      expect(run.stderr).toContain('reason: vault_unavailable');
      expect(run.stderr).toContain('keyturn settings vault sealed-file');
    }
    // What can be told without a keychain is.
    expect(await home.ok(['clients'])).toContain('cli');
    expect(world.counts().authorizationServer.signIns).toBe(0);

    // The way that the hint names works, one hint after the other.
    const { stderr } = await home.keyturn(['settings', 'vault', 'sealed-file']);
    expect(stderr).toContain('keyturn unlock');
    expect(await home.json('status')).toMatchObject({ vault: 'sealed-file' });
    await home.ok(['unlock', '--passphrase-stdin'], { stdin: 'correct horse battery\n' });
    await home.ok(['allow', 'cli', resource]);
    await home.ok(['token', resource]);
  });
});

describe('no secret', () => {
  it('no secret is in a file or a line of output, after everything that a user does', async () => {
    const world = await openWorld();
    onTestFinished(() => world.close());
    const resource = world.protectedServer.resource;
    const visited = path.join(path.dirname(world.caFile), 'visited.txt');
    const browser = userAgent(world, visited, 'test/support/browsers/recording-browser.ts');
    const home = newHome({ world, vault: 'keychain', browser });
    await home.ok(['allow', 'cli', resource]);
    const first = (await home.ok(['token', resource])).trim();
    const refreshTokens = [await refreshTokenOf(home)];
    const fresh = (await home.ok(['token', resource, '--rejected-stdin'], { stdin: first })).trim();
    refreshTokens.push(await refreshTokenOf(home));
    const wide = (await home.ok(['token', resource, '--scope', 'notes:write'])).trim();
    refreshTokens.push(await refreshTokenOf(home));
    for (const command of ['list', 'clients', 'status', 'pending']) {
      await home.ok([command]);
      await home.ok([command, '--json']);
    }
    world.failTokenRequests(1);
    await home.keyturn(['token', resource, '--rejected-stdin'], { stdin: wide });
    await home.keyturn(['token', resource, '--status', '500', '--rejected-stdin'], { stdin: wide });
    await home.ok(['revoke', resource]);
    await home.ok(['daemon', '--stop']);

    const codes = readFileSync(visited, 'utf8').matchAll(/[?&]code=([^&\s]+)/g);
    const secrets = [first, fresh, wide, ...refreshTokens, ...[...codes].map(([, code]) => code ?? '')];
    // Two sign-ins, two codes; all secrets differ and none is empty.
    expect(new Set(secrets).size).toBe(8);
    for (const secret of secrets) expect(secret.length).toBeGreaterThan(20);
    expect(placesOf(home, secrets)).toEqual([]);
  });

  it('the keychain loses the value of an API key that no record names, as a killed broker leaves it, at its next use', async () => {
    const home = newHome({ vault: 'keychain' });
    const first = await openHeadless(home);
    const set = { resource: 'https://tickets.example/mcp', header: 'X-Api-Key', unchecked: true };
    await first.line.request('key.set', { ...set, value: 'ak_of-this-server' });
    await first.stop();
    const { homeId } = JSON.parse(readFileSync(path.join(home.paths.state, 'home.json'), 'utf8')) as {
      homeId: string;
    };
    const vault = keychainVault({ service: `keyturn/${homeId}` });
    onTestFinished(() => vault.close());
    const list = await vault.read('keys');
    await vault.write('keys', list.replace('[', '["0123456789abcdef",'));
    await vault.write('key.0123456789abcdef', 'as of a change that was cut short');
    const { line } = await openHeadless(home);
    expect(await line.request('proxy.list')).toEqual({ proxies: [] });
    expect(await vault.find('key.0123456789abcdef')).toBeUndefined();
    expect(await vault.read('keys')).toBe(list);
    await line.request('key.remove', { resource: set.resource });
  });
});

/** Straight from the keychain, as the broker left it. */
async function refreshTokenOf(home: TestHome): Promise<string> {
  const { homeId } = JSON.parse(readFileSync(path.join(home.paths.state, 'home.json'), 'utf8')) as {
    homeId: string;
  };
  const [grant] = await home.json<{ id: string }[]>('list');
  const vault = keychainVault({ service: `keyturn/${homeId}` });
  try {
    const secret = JSON.parse(await vault.read(`grant.${grant?.id}`)) as { refreshToken: string };
    return secret.refreshToken;
  } finally {
    await vault.close();
  }
}

/** Where a secret stands that mustn't: every file of the home, and every line but the token itself. */
function placesOf(home: TestHome, secrets: readonly string[]): string[] {
  const files = filesBelow(home.folder).filter((file) => !file.endsWith('.sock'));
  const texts = new Map(files.map((file) => [file, readFileSync(file, 'latin1')]));
  expect([...texts.keys()].map((file) => path.basename(file))).toContain('audit.jsonl');
  home.printed.forEach(({ stdout, stderr }, n) => {
    texts.set(`stderr of command ${n}`, stderr);
    if (!secrets.includes(stdout.trim())) texts.set(`stdout of command ${n}`, stdout);
  });
  return [...texts]
    .filter(([, text]) => secrets.some((secret) => text.includes(secret)))
    .map(([place]) => place);
}
