/** Files of a home that can't be read: reported with what to do, kept as they are, never taken for empty. */
import { chmodSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { homeInWorld, newHome, type Run, TestHome } from '../../support/home.ts';
import { askBroker } from '../../support/homes/ask-broker.ts';
import { tellStoryOf } from '../../support/homes/common-home.ts';
import { signInItems } from '../../support/homes/named-items.ts';
import { allow, deny, signIn, startBroker, stopBroker } from '../../support/homes/owner-acts.ts';
import { rawItems } from '../../vault/keychain/keyring.ts';

const resource = 'https://notes.example/mcp';

describe('a file that can’t be read', () => {
  const garbage = '{"version":1,"items":[{"half a rec';

  /** A home that was used and stopped; with a vault that lasts, else there would be no records. */
  async function usedHome(): Promise<TestHome> {
    const home = newHome({ vault: 'keychain' });
    await startBroker(home);
    await allow(home, 'cli', resource);
    await stopBroker(home);
    return home;
  }

  /** One home without records for all tests that look only at its start. Each leaves its files as they were, and no broker. */
  let stopped: TestHome;
  beforeAll(async () => {
    stopped = new TestHome();
    await startBroker(stopped);
    await stopBroker(stopped);
  });
  tellStoryOf(() => [stopped]);
  afterAll(() => stopped.close());

  /** What a command says while the file has this content, which the broker must leave there. Puts back what was there. */
  async function refusalWith(file: string, content: string): Promise<Run> {
    const before = readFileSync(file, 'utf8');
    writeFileSync(file, content);
    try {
      const run = await stopped.keyturn(['sign-in', 'list']);
      expect(readFileSync(file, 'utf8')).toBe(content);
      return run;
    } finally {
      writeFileSync(file, before);
    }
  }

  it('PROMISE-9: an unreadable document stops every token, and stays as it is', async () => {
    const home = await usedHome();
    const files = [path.join(home.paths.state, 'authority.json')];
    for (const file of files) writeFileSync(file, garbage, { mode: 0o600 });
    expect(await home.keyturn(['token', resource])).toMatchObject({ code: 7, stdout: '' });
    const refused = { reason: 'file_unreadable' };
    await expect(allow(home, 'cli', resource)).rejects.toMatchObject(refused);
    await expect(deny(home, 'cli', resource)).rejects.toMatchObject(refused);
    expect(await home.keyturn(['app', 'list'])).toMatchObject({ code: 7, stdout: '' });
    const { unreadable } = await askBroker(home, 'status', {});
    expect(unreadable.map(({ file }) => file)).toEqual(files);
    await stopBroker(home);
    for (const file of files) expect(readFileSync(file, 'utf8'), file).toBe(garbage);
  });

  it('a document that somebody wrote in, of another format, or gone gives nobody a token, and is shown for what it is', async () => {
    const home = await usedHome();
    const file = path.join(home.paths.state, 'authority.json');
    const forged = readFileSync(file, 'utf8').replaceAll('notes.example', 'bank.example');
    writeFileSync(file, forged);
    // Lists show what stands there; nothing needs the keychain for that.
    expect(await home.ok(['app', 'list'])).toContain('bank.example');
    expect((await askBroker(home, 'status', {})).unreadable).toEqual([]);
    const run = await home.keyturn(['token', 'https://bank.example/mcp']);
    expect(run).toMatchObject({ code: 7, stdout: '' });
    expect(run.stderr).toContain('Keyturn did not write it');
    expect(await home.keyturn(['app', 'deny', 'cli', resource])).toMatchObject({ code: 7 });
    const shown = await home.ok(['status']);
    expect(shown).toContain(`UNREADABLE ${file}`);
    expect(shown).toMatch(/UNREADABLE .*\n +hint: Restore it, or begin again: `keyturn reset`\./);
    const listed = await home.keyturn(['app', 'list']);
    expect(listed.stdout).toMatch(/^cli +cli +https:\/\/bank.example\/mcp +allowed \(ignored\) /m);
    expect(listed.stderr).toContain(`marked entries are ignored: ${file} can't be read`);
    await stopBroker(home);
    expect(readFileSync(file, 'utf8')).toBe(forged);

    rmSync(file);
    const without = await home.keyturn(['token', resource, '--no-input']);
    expect(without).toMatchObject({ code: 7, stdout: '' });
    expect(without.stderr).toContain('is gone');
    await stopBroker(home);

    // The same file in another format is refused, and left as it is.
    const otherFormat = forged.replace('"version":1', '"version":2');
    writeFileSync(file, otherFormat, { mode: 0o600 });
    const old = await home.keyturn(['token', resource]);
    expect(old).toMatchObject({ code: 7, stdout: '' });
    expect(old.stderr).toContain('its format is 2');
    expect(await home.ok(['reset', '--yes'])).toContain(file);
    expect(readFileSync(file, 'utf8')).toBe(otherFormat);
    rmSync(file);
    const anew = await home.keyturn(['token', resource, '--no-input']);
    expect(anew).toMatchObject({ code: 3, stdout: '' });
  });

  it.each([
    ['settings.json', 8, 'Keyturn left it as it is'],
    ['owner.key', 7, 'It was kept'],
  ])('an unreadable %s keeps the broker from starting, and is left as it is', async (name, code, hint) => {
    const run = await refusalWith(path.join(stopped.paths.config, name), garbage);
    expect(run).toMatchObject({ code, stdout: '' });
    expect(run.stderr).toContain(name);
    expect(run.stderr).toContain(`hint: ${hint}`);
  });

  it('PROMISE-7 settings.json: a refusal of settings with a value nobody knows names the setting', async () => {
    const file = path.join(stopped.paths.config, 'settings.json');
    const run = await refusalWith(file, '{"vault":"shoebox"}');
    expect(run).toMatchObject({ code: 8, stdout: '' });
    expect(run.stderr).toContain(`${file}: vault has a bad value: it takes keychain, sealed-file or memory.`);
  });

  it('DOOR-3: an owner’s key that others may read opens nothing until its mode is mended', async () => {
    const home = stopped;
    const file = path.join(home.paths.config, 'owner.key');
    const key = readFileSync(file, 'utf8');
    chmodSync(file, 0o644);
    const run = await home.keyturn(['sign-in', 'list']);
    expect(run).toMatchObject({ code: 7, stdout: '' });
    expect(run.stderr).toContain(`chmod 600 ${file}`);
    expect(await home.keyturn(['broker', 'run'])).toMatchObject({ code: 7, stdout: '' });
    expect(statSync(file).mode & 0o777).toBe(0o644);
    expect(readFileSync(file, 'utf8')).toBe(key);
    chmodSync(file, 0o600);
    expect(await home.keyturn(['sign-in', 'list'])).toMatchObject({ code: 0 });
    await stopBroker(home);
  });

  it('owner.key of another home is named, and the home’s broker can be ended all the same', async () => {
    const home = stopped;
    const file = path.join(home.paths.config, 'owner.key');
    const before = readFileSync(file, 'utf8');
    await home.ok(['sign-in', 'list']);
    writeFileSync(file, before.replace(/"brokerId":"[^"]*"/, `"brokerId":"${'x'.repeat(22)}"`));
    const run = await home.keyturn(['sign-in', 'list']);
    expect(run).toMatchObject({ code: 8, stdout: '' });
    expect(run.stderr).toMatch(
      /hint: If .*owner\.key was exchanged or deleted, end the broker \(keyturn broker stop/,
    );
    const [pid] = home.brokers();
    const stopping = await home.keyturn(['broker', 'stop']);
    expect(stopping).toMatchObject({ code: 0, stdout: '' });
    expect(stopping.stderr).toContain(`(process ${pid}) takes no request of this command; a signal ends it.`);
    expect(home.brokers()).toEqual([]);
    writeFileSync(file, before);
    await home.ok(['sign-in', 'list']);
    // Without the owner's key no command can ask the broker that runs.
    rmSync(path.join(home.paths.config, 'owner.key'));
    await home.ok(['broker', 'stop']);
    expect(home.brokers()).toEqual([]);
    await home.ok(['sign-in', 'list']);
    await stopBroker(home);
  });
});

describe('keyturn status and keyturn doctor', () => {
  it('explain in one sentence each: a missing item, an older document, and one that Keyturn did not write', async () => {
    const { home, resource: server } = await homeInWorld({ vault: 'keychain' });
    await startBroker(home);
    const file = path.join(home.paths.state, 'authority.json');
    const items = rawItems(`keyturn/${home.homeId}`);
    onTestFinished(() => items.close());
    const explained = async (sentence: string): Promise<void> => {
      await home.keyturn(['token', server, '--no-input']);
      expect(await home.ok(['status'])).toContain(sentence);
      expect((await home.keyturn(['doctor'])).stdout).toContain(sentence);
      await stopBroker(home);
    };
    await signIn(home, server);
    await stopBroker(home);
    const older = readFileSync(file);
    await startBroker(home);
    await allow(home, 'cli', server);
    for (const name of signInItems(home.paths.state).values()) await items.delete(name);
    await stopBroker(home);
    await explained(`The vault has no token for "${server}".`);
    const newest = readFileSync(file, 'utf8');
    writeFileSync(file, older);
    await explained('is not the newest one that your vault knows.');
    writeFileSync(file, newest.replace('"cli"', '"cly"'));
    await explained("can't be read, or Keyturn did not write it");
  });
});
