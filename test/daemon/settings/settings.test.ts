/** Which of environment and settings.json counts, what a bad value says, and settings that change while a broker runs. */
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { SettingsBook } from '../../../src/daemon/settings/settings-book.ts';
import { readSettings } from '../../../src/daemon/settings/settings.ts';
import { homePaths } from '../../../src/base/paths.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

let folder: string;
let file: string;

beforeEach(() => {
  folder = temporaryFolder();
  mkdirSync(path.join(folder, 'config'), { mode: 0o700 });
  file = path.join(folder, 'config', 'settings.json');
});

/** What nobody has to set: how servers of the earlier revision are told of the protocol's version, and a sealed file's key. */
const version = {
  vaultKey: 'passphrase',
  defaultDuration: 'run',
  protocolVersionHeader: 'CTX-Protocol-Version',
  protocolVersion: '2025-03-26',
  logLevel: 'info',
};

function read(env: Record<string, string>, isNewHome: boolean, autoStarted = true) {
  return readSettings({ paths: homePaths({ KEYTURN_HOME: folder }), env, isNewHome, autoStarted });
}

describe('a new home', () => {
  it('records the environment it is made in, over a file that is there already', () => {
    const written = { version: 1, vault: 'sealed-file', lockAfter: 60, logLevel: 'debug' };
    writeFileSync(file, JSON.stringify(written), { mode: 0o600 });
    const made = read(
      { KEYTURN_VAULT: 'memory', BROWSER: 'lynx', https_proxy: 'http://proxy.example:3128' },
      true,
    );
    expect(made).toEqual({
      vault: 'memory',
      browser: 'lynx',
      httpsProxy: 'http://proxy.example:3128',
      insecureLoopback: false,
      lockWithScreen: false,
      ...version,
      lockAfter: 60,
      logLevel: 'debug',
    });
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ version: 1, ...made });
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it('B-28: takes the name and the value of the version header from the file', () => {
    const named = { protocolVersionHeader: 'X-Protocol-Version', protocolVersion: '2026-07-28' };
    writeFileSync(file, JSON.stringify(named), { mode: 0o600 });
    expect(read({}, false)).toMatchObject(named);
  });
});

it('a home takes the environment for one run if the user starts the broker', () => {
  read({ KEYTURN_VAULT: 'memory', BROWSER: 'lynx' }, true);
  expect(read({ BROWSER: 'firefox' }, false, false)).toMatchObject({ vault: 'memory', browser: 'firefox' });
  expect(read({}, false)).toMatchObject({ vault: 'memory', browser: 'lynx' });
});

describe('a value that can’t be used', () => {
  it.each([
    ['KEYTURN_VAULT', 'shoebox'],
    ['KEYTURN_VAULT_KEY', 'doormat'],
    ['HTTPS_PROXY', 'socks5://proxy.example:3128'],
    ['KEYTURN_CLIENT_METADATA_URL', 'http://keyturn.example/client.json'],
    ['KEYTURN_CLIENT_METADATA_URL', 'https://keyturn.example/a/../client.json'],
  ])('B-16: in the variable %s is named: %s', (name, value) => {
    expect(() => read({ [name]: value }, true)).toThrow(
      expect.objectContaining({ reason: 'invalid_request', message: expect.stringContaining(name) }),
    );
  });

  it.each([
    ['{"vault":', 'is not JSON'],
    ['{"vault":"shoebox"}', 'vault has a bad value'],
    ['{"protocolVersionHeader":"a b"}', 'protocolVersionHeader has a bad value'],
    ['{"version":2,"vault":"shoebox"}', 'its format is 2, and this Keyturn knows 1'],
  ])('in the file (%s) is reported, and the file stays as it is', (text, said) => {
    writeFileSync(file, text, { mode: 0o600 });
    const message = expect.stringMatching(new RegExp(`${file}.*${said}`));
    for (const isNew of [false, true])
      expect(() => read({}, isNew)).toThrow(expect.objectContaining({ reason: 'file_unreadable', message }));
    expect(readFileSync(file, 'utf8')).toBe(text);
  });
});

function book(env: Record<string, string> = {}, autoStarted = true): SettingsBook {
  const paths = homePaths({ KEYTURN_HOME: folder });
  return new SettingsBook({ paths, env, isNewHome: false, autoStarted });
}

function change(settings: SettingsBook, name: string, value: unknown): string {
  const checked = settings.check(name, value);
  return settings.set(checked.name, checked.value);
}

describe('a change of settings', () => {
  it('of a live setting applies at once, and of another setting at the next start', () => {
    const settings = book();
    expect(change(settings, 'browser', 'firefox')).toBe('now');
    expect(settings.current.browser).toBe('firefox');
    expect(change(settings, 'insecureLoopback', 'true')).toBe('nextStart');
    expect(settings.current.insecureLoopback).toBe(false);
    expect(book().current).toMatchObject({ browser: 'firefox', insecureLoopback: true });
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it('waits for the next start if the environment sets it now', () => {
    const settings = book({ KEYTURN_BROWSER: 'lynx' }, false);
    expect(change(settings, 'browser', 'firefox')).toBe('nextStart');
    expect(settings.current.browser).toBe('lynx');
  });

  it.each([
    ['lockAfter', '5m', 'lockAfter takes a whole number of seconds from 1 to 2592000 (30 days).'],
    ['vault', 'shoebox', 'vault takes keychain, sealed-file or memory.'],
    ['httpsProxy', 'socks5://me:hunter2@a.example', 'httpsProxy takes the URL of an http or https proxy.'],
  ])('of %s to %j is refused with accepted values, not repeating the given one', (name, value, said) => {
    expect(() => change(book(), name, value)).toThrow(expect.objectContaining({ message: said }));
  });
});
