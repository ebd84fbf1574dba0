/** Where a home is: never in the folder where a command happens to run. */
import { describe, expect, it } from 'vitest';
import { homePaths } from '../../src/base/paths.ts';

describe('the folders of a home', () => {
  it.each([
    ['empty', '', /HOME is empty/],
    ['relative', 'me', /HOME is "me", which is no absolute path/],
  ])('refuses to guess the folders of a home from a HOME that is %s', (_what, HOME, message) => {
    for (const platform of ['linux', 'darwin'] as const) {
      const find = (): unknown => homePaths({ HOME }, platform);
      expect(find).toThrow(message);
      expect(find).toThrow(expect.objectContaining({ reason: 'invalid_request' }));
    }
  });

  it('refuses a relative KEYTURN_HOME, and ignores a relative LOCALAPPDATA', () => {
    const { run } = homePaths({ HOME: '/home/me', LOCALAPPDATA: 'rel' }, 'win32');
    expect(run).toBe('/home/me/AppData/Local/Keyturn/run');
    for (const platform of ['linux', 'darwin', 'win32'] as const) {
      const find = (): unknown => homePaths({ HOME: '/home/me', KEYTURN_HOME: 'rel' }, platform);
      expect(find).toThrow(/KEYTURN_HOME is "rel", which is no absolute path/);
      expect(find).toThrow(expect.objectContaining({ reason: 'invalid_request' }));
    }
  });

  it('need no HOME if the environment names each of them', () => {
    expect(homePaths({ HOME: '', KEYTURN_HOME: '/srv/keyturn' }, 'linux').config).toBe('/srv/keyturn/config');
    const env = { HOME: '', XDG_CONFIG_HOME: '/etc/me', XDG_STATE_HOME: '/var/me' };
    expect(homePaths(env, 'linux')).toEqual({
      config: '/etc/me/keyturn',
      state: '/var/me/keyturn',
      run: '/var/me/keyturn/run',
    });
  });
});
