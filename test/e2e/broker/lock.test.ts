/** Lock and unlock with real processes: each kind of vault, over restarts and SIGKILL, at a real terminal. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { builtBin } from '../../support/built.ts';
import { filesBelow, homeInWorld, newHome, processFacts, TestHome, until } from '../../support/home.ts';
import { askBroker, questionOf } from '../../support/homes/ask-broker.ts';
import { tellStoryOf } from '../../support/homes/common-home.ts';
import {
  allow,
  answer,
  killBroker,
  signIn,
  startBroker,
  stopBroker,
  tokenAt,
  unlock,
  vaultStateOf,
} from '../../support/homes/owner-acts.ts';
import { keepSecret } from '../../support/secrets.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { verdictOn } from '../../support/servers/notebook.ts';

const built: string = path.join(path.dirname(builtBin), '..', 'client', 'client', 'index.js');
const { connect, pair } = (await import(built)) as typeof import('../../../src/client/index.ts');

const bySealedFile = { KEYTURN_VAULT: 'sealed-file' };
const passphrase = 'correct horse battery';
const given = { stdin: `${passphrase}\n` };

/** After a wrong passphrase, once the pause that it brought is over. */
async function unlockLater(home: TestHome, typed: string): Promise<void> {
  await until('the pause is over', async () => {
    const refusal = await unlock(home, typed).then(
      () => undefined,
      (error: unknown) => error,
    );
    if (refusal !== undefined) {
      expect(refusal).toMatchObject({ reason: 'rate_limited', retryAfter: 1 });
    }
    return refusal === undefined;
  });
}

describe('a sealed file with a passphrase', () => {
  it('a passphrase is chosen at the first unlock, and no other opens: the vault begins locked at every start, keeps the grant over SIGKILL, and shows no passphrase anywhere', async () => {
    const { home, world, resource } = await homeInWorld({ env: bySealedFile });
    await startBroker(home);
    expect(await askBroker(home, 'status', {})).toMatchObject({
      vault: 'sealed-file',
      vaultKey: 'passphrase',
      vaultState: { state: 'new', hint: expect.stringContaining('keyturn unlock') },
    });
    // What would be allowed could not be proven later: its key is in the vault.
    for (const command of [
      ['token', resource],
      ['app', 'allow', 'cli', resource],
    ]) {
      const refused = await home.keyturn(command);
      expect(refused).toMatchObject({ code: 7, stdout: '' });
      expect(refused.stderr).toMatch(/hint: Choose one with: keyturn unlock[^]*reason: locked/);
    }
    expect(world.counts().authorizationServer.signIns).toBe(0);

    expect(await home.keyturn(['unlock', '--passphrase-stdin'], given)).toEqual({
      code: 0,
      stdout: '',
      stderr: expect.stringMatching(/^keyturn: the vault is new, and opens by this passphrase .*\n$/),
    });
    await allow(home, 'cli', resource);
    await signIn(home, resource);
    expect(statSync(path.join(home.paths.state, 'items', 'root')).mode & 0o777).toBe(0o600);
    const { argv, environ } = processFacts((await askBroker(home, 'status', {})).pid);

    await askBroker(home, 'vault.lock', {});
    const wrong = await home.keyturn(['unlock', '--passphrase-stdin'], { stdin: 'wrong horse\n' });
    expect(wrong).toMatchObject({ code: 7, stdout: '' });
    expect(wrong.stderr).toContain('does not open the vault');
    await unlockLater(home, passphrase);
    const changed = { stdin: `${passphrase}\nanother staple\n` };
    await home.ok(['passphrase', '--passphrase-stdin'], changed);

    await killBroker(home);
    expect(await home.keyturn(['token', resource])).toMatchObject({ code: 7, stdout: '' });
    expect(await vaultStateOf(home)).toBe('locked');
    const another = { stdin: 'another staple\n' };
    expect(await home.keyturn(['unlock', '--passphrase-stdin'], another)).toMatchObject({
      code: 0,
      stderr: '',
    });
    expect((await verdictOn(world, await tokenAt(home, resource))).status).toBe(200);
    expect(world.counts().authorizationServer).toMatchObject({ signIns: 1, refreshes: 1, refreshReuses: 0 });
    const audit = await home.ok(['audit', 'log']);
    for (const outcome of ['locked', 'unlocked', 'unlock: locked', 'passphrase changed']) {
      expect(audit).toContain(outcome);
    }
    await askBroker(home, 'vault.lock', {});
    await expect(unlock(home, passphrase), 'the former passphrase').rejects.toMatchObject({
      reason: 'locked',
    });
    const files = filesBelow(home.folder).filter((file) => !file.endsWith('.sock'));
    const texts = [
      ...files.map((file) => readFileSync(file, 'latin1')),
      ...home.printed.flatMap(({ stdout, stderr }) => [stdout, stderr]),
      ...argv,
      ...environ,
    ];
    for (const secret of [passphrase, 'another staple', 'wrong horse']) {
      expect(texts.filter((text) => text.includes(secret))).toEqual([]);
    }
  });
});

describe('a sealed file whose key lies in the keychain', () => {
  it('a sealed file whose key lies in the keychain opens by itself, over restart and SIGKILL, and after a lock only by unlock', async () => {
    const { home, world, resource } = await homeInWorld({
      vault: 'keychain',
      env: { ...bySealedFile, KEYTURN_VAULT_KEY: 'keychain' },
    });
    await startBroker(home);
    await allow(home, 'cli', resource);
    await signIn(home, resource);
    await stopBroker(home);
    await home.ok(['token', resource, '--no-input']);
    await killBroker(home);
    await startBroker(home);
    await tokenAt(home, resource);
    await askBroker(home, 'vault.lock', {});
    expect(await home.keyturn(['token', resource])).toMatchObject({ code: 7 });
    await home.ok(['unlock']);
    await tokenAt(home, resource);
    expect(world.counts().authorizationServer).toMatchObject({ signIns: 1, refreshReuses: 0 });
    expect(await home.keyturn(['passphrase', '--passphrase-stdin'], { stdin: 'a\nb\n' })).toMatchObject({
      code: 2,
    });
  });
});

describe('a sealed file whose passphrase comes from no person', () => {
  it('a sealed file with its passphrase in a file opens by itself, from the first start on, and stays locked without it', async () => {
    const folder = temporaryFolder();
    const secret = 'unattended horse battery';
    keepSecret('passphrase', secret);
    const file = path.join(folder, 'key');
    writeFileSync(file, `${secret}\n`, { mode: 0o600 });
    const env = { ...bySealedFile, KEYTURN_VAULT_KEY: `file:${file}` };
    const { home, world, resource } = await homeInWorld({ env });
    await startBroker(home);
    await allow(home, 'cli', resource);
    await signIn(home, resource);
    await killBroker(home);
    // The setting was recorded: this start of a command knows no variable any more.
    const later = { env: { KEYTURN_VAULT_KEY: 'file:/nowhere' } };
    await home.ok(['token', resource, '--no-input'], later);
    expect(await askBroker(home, 'status', {})).toMatchObject({
      vaultKey: 'passphrase',
      vaultState: { state: 'open' },
    });
    await stopBroker(home);

    writeFileSync(file, 'another horse');
    expect(await home.keyturn(['token', resource, '--no-input'])).toMatchObject({ code: 7 });
    expect(await home.ok(['status'])).toContain('the vault is locked: its passphrase comes from the file');
    const log = readFileSync(path.join(home.paths.state, 'broker.log'), 'utf8');
    expect(log).toContain('the vault stays locked: this passphrase does not open the vault');
    await unlockLater(home, secret);
    expect(await home.ok(['status'])).toContain('opened by a typed passphrase, not from the file');
    await tokenAt(home, resource);
    expect(world.counts().authorizationServer).toMatchObject({ signIns: 1, refreshReuses: 0 });
  });
});

describe('a sealed file whose source of the passphrase changes', () => {
  /** One home for all: each test finds the vault as the one before left it. */
  let home: TestHome;
  beforeAll(() => {
    home = new TestHome({ env: bySealedFile });
  });
  tellStoryOf(() => [home]);
  afterAll(() => home.close());

  it('a sealed file whose credential is missing says so everywhere, and takes no typed passphrase as its first', async () => {
    const set = await home.keyturn(['settings', 'set', 'vaultKey', 'credential:keyturn']);
    const why = 'its passphrase comes from the credential "keyturn" (setting vaultKey)';
    const cause = 'There is no credential "keyturn"';
    expect(set).toMatchObject({ code: 0, stdout: '' });
    expect(set.stderr).not.toContain('choose its passphrase');
    const refusals = [
      await home.keyturn(['app', 'allow', 'cli', 'https://server.example/mcp']),
      await home.keyturn(['unlock', '--passphrase-stdin'], given),
      await home.keyturn(['unlock']),
    ];
    for (const { code, stdout, stderr } of refusals) {
      expect({ code, stdout }).toEqual({ code: 7, stdout: '' });
      expect(stderr).toMatch(/hint: .*keyturn settings set vaultKey passphrase\n.*reason: locked/s);
    }
    for (const { stderr } of [set, ...refusals]) {
      expect(stderr).toContain(why);
      expect(stderr).toContain(cause);
    }
    const status = await home.ok(['status']);
    expect(status).toContain('sealed-file (its passphrase comes from the credential "keyturn")');
    expect(status).toContain(cause);
    expect(await askBroker(home, 'status', {})).toMatchObject({
      vaultSource: { from: 'credential', name: 'keyturn', isUsed: false },
      vaultState: { state: 'new' },
    });
    await home.ok(['settings', 'set', 'vaultKey', 'passphrase']);
  });

  it('a passphrase is asked for on the terminal without an echo, twice if it is new, and never from a pipe', async () => {
    const piped = await home.keyturn(['unlock']);
    expect(piped).toMatchObject({ code: 2, stdout: '' });
    expect(piped.stderr).toContain('--passphrase-stdin');

    const first = atTerminal(home, 'unlock');
    await first.shows('choose a passphrase for the vault: ');
    first.types(`${passphrase}y\u007f\r`);
    await first.shows('once more: ');
    first.types(`${passphrase}\r`);
    expect(await first.ended).toBe(0);
    expect(first.shown()).not.toContain('hors');
    expect(await vaultStateOf(home)).toBe('open');
    expect(await home.ok(['status'])).toContain('sealed-file (opened by a passphrase)');

    await askBroker(home, 'vault.lock', {});
    const second = atTerminal(home, 'unlock');
    await second.shows('passphrase of the vault: ');
    second.types(`${passphrase}\r`);
    expect(await second.ended).toBe(0);
    expect(await vaultStateOf(home)).toBe('open');

    await askBroker(home, 'vault.lock', {});
    const third = atTerminal(home, 'unlock');
    await third.shows('passphrase of the vault: ');
    third.types('\u0003');
    expect(await third.ended).toBe(130);
    expect(await vaultStateOf(home)).toBe('locked');
    await unlock(home, passphrase);
  });

  it('a sealed file that a person opened gets a file for its passphrase later, and keeps what it holds', async () => {
    await allow(home, 'cli', 'https://server.example/mcp');
    const file = path.join(temporaryFolder(), 'key');
    writeFileSync(file, passphrase, { mode: 0o600 });
    await home.ok(['settings', 'set', 'vaultKey', `file:${file}`]);
    expect(await vaultStateOf(home)).toBe('open');
    expect((await askBroker(home, 'app.list', {})).apps).toMatchObject([
      { appId: 'cli', permissions: [{ resource: 'https://server.example/mcp', decision: 'allow' }] },
    ]);
    expect(await home.ok(['status'])).toContain(
      `sealed-file (opened by the passphrase from the file "${file}")`,
    );
  });
});

describe.each(['keychain', 'memory'] as const)('a lock of the %s vault', (vault) => {
  it('a lock of the vault refuses programs, on open connections and new ones, and serves them again without a new pairing', async () => {
    const { home, world, resource } = await homeInWorld({ vault });
    await startBroker(home);
    await signIn(home, resource);
    const pairing = pair({ name: 'editor', env: home.env, onCode: () => undefined });
    const { id } = await questionOf(home, 'pair');
    await answer(home, id, 'yes');
    await pairing;
    await allow(home, 'editor', resource);
    const program = await connect({ name: 'editor', env: home.env });
    onTestFinished(() => program.close());
    await program.getToken({ resource });

    expect(await home.keyturn(['lock'])).toEqual({ code: 0, stdout: '', stderr: '' });
    const said = 'keyturn: the vault was locked already.\n';
    expect(await home.keyturn(['lock'])).toEqual({ code: 0, stdout: '', stderr: said });
    const locked = { reason: 'locked', hint: 'Unlock it with: keyturn unlock' };
    await expect(program.getToken({ resource })).rejects.toMatchObject(locked);
    await expect(program.request('signIn.list')).rejects.toMatchObject(locked);
    // Before the broker has proved itself a program shows none of its words.
    const unproven = { reason: 'locked' };
    await expect(connect({ name: 'editor', env: home.env })).rejects.toMatchObject(unproven);
    await expect(pair({ name: 'other', env: home.env, onCode: () => undefined })).rejects.toMatchObject(
      unproven,
    );
    for (const noun of ['sign-in', 'app', 'request']) await home.ok([noun]);
    const { rows } = await askBroker(home, 'audit.tail', { count: 20 });
    expect(rows.map(({ outcome }) => outcome)).toContain('locked');
    expect(await home.ok(['status'])).toContain('locked');
    expect(await vaultStateOf(home)).toBe('locked');

    const asks = 'keyturn: if your keychain asks for a password, answer there.\n';
    expect((await home.keyturn(['unlock'])).stderr).toBe(vault === 'keychain' ? asks : '');
    expect((await program.getToken({ resource })).access_token).toBeTruthy();
    (await connect({ name: 'editor', env: home.env })).close();
    expect(world.counts().authorizationServer).toMatchObject({ signIns: 1, refreshReuses: 0 });
  });
});

it('keyturn lock locks nothing and says so if no broker runs', async () => {
  const run = await newHome().keyturn(['lock']);
  expect(run).toMatchObject({ code: 0, stdout: '' });
  expect(run.stderr).toContain('no broker runs');
});

interface Terminal {
  /** Resolves when the terminal shows `text`, after what was waited for before. */
  shows(text: string): Promise<void>;
  types(text: string): void;
  /** All that it has shown. */
  shown(): string;
  /** The command's exit code. */
  readonly ended: Promise<number>;
}

/** A command at a pseudo-terminal, which script(1) gives it. */
function atTerminal(home: TestHome, command: string): Terminal {
  const line = `'${process.execPath}' '${builtBin}' ${command}`;
  const child = spawn('script', ['-qefc', line, '/dev/null'], { env: home.env, stdio: 'pipe' });
  onTestFinished(() => void child.kill('SIGKILL'));
  let shown = '';
  let seen = 0;
  child.stdout.setEncoding('utf8').on('data', (text: string) => (shown += text));
  return {
    shows: async (text) => {
      await until(`the terminal shows "${text}"`, () => shown.includes(text, seen));
      seen = shown.indexOf(text, seen) + text.length;
    },
    types: (text) => void child.stdin.write(text),
    shown: () => shown,
    ended: once(child, 'close').then(([code]: unknown[]) => (typeof code === 'number' ? code : -1)),
  };
}
