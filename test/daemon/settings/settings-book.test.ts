/** Settings that change while a broker runs: what is checked, written, in force, and shown. */
import { mkdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { SettingsBook } from '../../../src/daemon/settings/settings-book.ts';
import { homePaths } from '../../../src/base/paths.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

let folder: string;
let file: string;

beforeEach(() => {
  folder = temporaryFolder();
  mkdirSync(path.join(folder, 'config'), { mode: 0o700 });
  file = path.join(folder, 'config', 'settings.json');
});

function book(env: Record<string, string> = {}, autoStarted = true): SettingsBook {
  const paths = homePaths({ KEYTURN_HOME: folder });
  return new SettingsBook({ paths, env, isNewHome: false, autoStarted });
}

function change(settings: SettingsBook, name: string, value: unknown): string {
  const checked = settings.check(name, value);
  return settings.set(checked.name, checked.value);
}

describe('a change', () => {
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
    [
      'httpsProxy',
      'socks5://me:hunter2@proxy.example',
      'httpsProxy takes the URL of an http or https proxy.',
    ],
  ])(
    'of %s to %j is refused with the accepted values, without repeating the given one',
    (name, value, said) => {
      expect(() => change(book(), name, value)).toThrow(expect.objectContaining({ message: said }));
    },
  );
});
