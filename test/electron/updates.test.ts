/**
 * Updates of the app. No update is published and no Electron is here, so the updater is a double that is typed by the
 * real one; the folder with its configuration is real.
 */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import type { ProxyConfig } from 'electron';
import { describe, expect, it } from 'vitest';
import { Updates } from '../../electron/system/updates.ts';
import type { Updater } from '../../electron/system/updates.ts';
import { defaultSettings } from '../../src/daemon/settings/settings.ts';
import type { Settings } from '../../src/daemon/settings/settings.ts';
import { until } from '../support/home.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const hour = 60 * 60_000;
const feed = 'provider: generic\nurl: https://updates.example/keyturn\n';
const signedFeed = `${feed}publisherName:\n  - Keyturn\n`;

interface Rig {
  readonly updates: Updates;
  readonly settings: Partial<Settings>;
  readonly updater: Updater;
  readonly proxies: ProxyConfig[];
  readonly lines: string[];
  loaded: number;
  checked: number;
  fails: boolean;
  changes: number;
  /** Lets the next hour pass; false if nobody waits for it. */
  pass(): boolean;
  downloaded(): void;
}

function start(platform: NodeJS.Platform, config: string | undefined, settings: Partial<Settings> = {}): Rig {
  const resources = temporaryFolder();
  if (config !== undefined) writeFileSync(path.join(resources, 'app-update.yml'), config);
  const waiting: (() => void)[] = [];
  const heard = new Map<string, () => void>();
  let time = 0;
  const counts = { loaded: 0, checked: 0, changes: 0, fails: false };
  const proxies: ProxyConfig[] = [];
  const lines: string[] = [];
  const updater: Updater = {
    autoDownload: false,
    autoInstallOnAppQuit: false,
    allowDowngrade: true,
    disableWebInstaller: false,
    logger: console,
    netSession: { setProxy: (proxy) => Promise.resolve(void proxies.push(proxy)) },
    checkForUpdates: async () => {
      rig.checked += 1;
      if (rig.fails) throw new Error('the place of updates is gone');
    },
    on: (event, listener) => heard.set(event, listener),
  };
  const rig = Object.assign(counts, { settings, updater, proxies, lines }) as unknown as Rig;
  const updates = new Updates({
    resources,
    platform,
    owner: {
      call: async () => ({
        settings: { ...defaultSettings, ...settings },
        details: [],
        desk: 'here',
      }),
    },
    load: async () => {
      rig.loaded += 1;
      return updater;
    },
    changed: () => (rig.changes += 1),
    log: (line) => void lines.push(line),
    after: (_ms, run) => {
      waiting.push(run);
      return () => undefined;
    },
    now: () => time,
  });
  return Object.assign(rig, {
    updates,
    pass: () => {
      const run = waiting.shift();
      if (!run) return false;
      time += hour;
      run();
      return true;
    },
    downloaded: () => heard.get('update-downloaded')?.(),
  });
}

const nextHour = (rig: Rig): Promise<boolean> => until('it waits for the next hour', () => rig.pass());

describe('a build', () => {
  it.each([
    ['none', 'win32', undefined],
    ['unsigned', 'win32', feed],
    ['unsigned', 'win32', `${feed}publisherName: null\n`],
    ['unsigned', 'linux', signedFeed],
    ['possible', 'win32', signedFeed],
    ['possible', 'win32', `${feed}publisherName: "Keyturn"\n`],
    ['possible', 'darwin', feed],
  ] as const)('is %s on %s with %j', (state, platform, config) => {
    expect(start(platform, config).updates.state).toBe(state);
  });

  it.each([
    ['no place for updates', 'win32', undefined],
    ['unsigned updates', 'linux', signedFeed],
  ] as const)('with %s asks and loads nothing, whatever the setting says', (_what, platform, config) => {
    const rig = start(platform, config, { checkForUpdates: true });
    expect(rig.pass()).toBe(false);
    expect(rig).toMatchObject({ loaded: 0, checked: 0 });
  });
});

describe('updates that are possible', () => {
  it('load nothing until the person turns them on, and then are looked for once a day', async () => {
    const rig = start('win32', signedFeed);
    await nextHour(rig);
    expect(rig.loaded).toBe(0);
    rig.settings.checkForUpdates = true;
    for (let hours = 0; hours < 25; hours += 1) await nextHour(rig);
    await until('the second look', () => rig.checked === 2);
    expect(rig).toMatchObject({ loaded: 1, proxies: [] });
    expect(rig.updater).toMatchObject({
      autoDownload: true,
      allowDowngrade: false,
      disableWebInstaller: true,
      logger: null,
    });
  });

  it('say when one is there, and aren’t installed once they are turned off', async () => {
    const rig = start('darwin', feed, { checkForUpdates: true });
    await until('the look', () => rig.checked === 1);
    rig.downloaded();
    expect(rig.updates.state).toBe('ready');
    expect(rig.changes).toBe(1);
    expect(rig.updater.autoInstallOnAppQuit).toBe(true);
    rig.settings.checkForUpdates = false;
    await nextHour(rig);
    await until('it is off', () => !rig.updater.autoInstallOnAppQuit);
  });

  it('go through the proxy that is set, and are looked for again after a failure', async () => {
    const rig = start('win32', signedFeed, {
      checkForUpdates: true,
      httpsProxy: 'http://proxy.example:3128',
      noProxy: 'intranet.example',
    });
    rig.fails = true;
    for (let hours = 0; hours < 24; hours += 1) await nextHour(rig);
    await until('the next day’s look', () => rig.checked === 2);
    expect(rig.lines).toContain('desk: updates could not be looked for');
    expect(rig.proxies[0]).toEqual({
      mode: 'fixed_servers',
      proxyRules: 'http://proxy.example:3128',
      proxyBypassRules: 'intranet.example',
    });
  });
});
