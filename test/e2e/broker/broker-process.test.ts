/** The broker as a process: how it starts, stops, stays alone, and what others can see of it. */
import { existsSync, statSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { homeInWorld, isAlive, newHome, processFacts, until } from '../../support/home.ts';
import { askBroker } from '../../support/homes/ask-broker.ts';
import { homeDuringRefresh, refusesNewRequests } from '../../support/homes/refreshing-home.ts';

describe('in the foreground', () => {
  it('runs until it gets a signal to stop, and leaves no socket behind', async () => {
    const home = newHome();
    const broker = home.start(['broker', 'run']);
    await broker.says('the broker listens on');
    const socket = path.join(home.paths.run, 'broker.sock');
    expect((await askBroker(home, 'status', {})).pid).toBe(broker.pid);
    expect(statSync(socket).mode & 0o777).toBe(0o600);
    expect(statSync(home.paths.run).mode & 0o777).toBe(0o700);

    expect(await home.keyturn(['broker', 'stop'])).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(isAlive(broker.pid)).toBe(false);
    expect(await broker.ended).toMatchObject({ code: 0, stdout: '' });
    expect(existsSync(socket)).toBe(false);
    expect(await home.keyturn(['status'])).toMatchObject({ code: 8 });
  });

  it('PROMISE-2: a second one exits 8 and says why, and the first goes on', async () => {
    const home = newHome();
    const first = home.start(['broker', 'run']);
    await first.says('the broker listens on');
    const second = await home.keyturn(['broker', 'run']);
    expect(second).toMatchObject({ code: 8, stdout: '' });
    expect(second.stderr).toMatch(
      new RegExp(`A broker already runs for this home \\(.*\\): "node", process ${first.pid}\\.`),
    );
    expect(second.stderr).toContain('keyturn broker stop');
    expect(second.stderr).toContain('reason: broker_running');
    expect((await askBroker(home, 'status', {})).pid).toBe(first.pid);
  });
});

describe('in the middle of something', () => {
  it('ends when it is stopped, though a page is open and a question waits', async () => {
    const { home, resource } = await homeInWorld({ browser: 'true' });
    expect(await home.keyturn(['token', resource, '--timeout', '1s'])).toMatchObject({ code: 3 });
    expect(await home.keyturn(['login', resource, '--timeout', '10s'])).toMatchObject({ code: 3 });
    const { requests: interactions } = await askBroker(home, 'request.list', {});
    expect(new Set(interactions.map(({ kind }) => kind))).toEqual(new Set(['allow', 'signIn']));
    const { pid } = await askBroker(home, 'status', {});
    expect(await home.keyturn(['broker', 'stop'])).toMatchObject({ code: 0 });
    expect(isAlive(pid)).toBe(false);
  });
});

describe('started by a command', () => {
  it('PROMISE-2: is one, however many commands find none at the same moment', async () => {
    const home = newHome();
    const runs = await Promise.all(
      Array.from({ length: 10 }, () => home.keyturn(['sign-in', 'list', '--json'])),
    );
    for (const run of runs) expect(run).toMatchObject({ code: 0, stdout: '[]\n' });
    expect(home.brokers()).toEqual([(await askBroker(home, 'status', {})).pid]);
  });

  it('PROMISE-3: waits for one that is finishing a refresh', async () => {
    const { home, world, resource, broker, asking, release } = await homeDuringRefresh();
    process.kill(broker, 'SIGTERM');
    await until('it refuses new requests', () => refusesNewRequests(home));
    // More signals change nothing: the broker still finishes the refresh.
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGTERM'] as const) {
      process.kill(broker, signal);
      expect(await refusesNewRequests(home), signal).toBe(true);
    }
    const next = home.start(['sign-in', 'list', '--json']);
    expect(home.brokers()).toEqual([broker]);
    release();
    expect(await asking.ended).toMatchObject({ code: 0 });

    const [grant] = JSON.parse((await next.ended).stdout) as { state: string }[];
    expect(grant?.state).toBe('active');
    expect(isAlive(broker)).toBe(false);
    expect(await home.keyturn(['token', resource])).toMatchObject({ code: 0 });
    expect(world.counts().authorizationServer).toMatchObject({ signIns: 1, refreshReuses: 0 });
  });

  it('gets of the environment only what is on its list, and shows no token', async () => {
    const keyLog = '/nonexistent/keyturn-tls-keys';
    const { home, resource } = await homeInWorld({
      env: {
        NODE_OPTIONS: '--no-warnings',
        NODE_TLS_REJECT_UNAUTHORIZED: '0',
        NODE_TLS_ANYTHING: '1',
        SSLKEYLOGFILE: keyLog,
        LD_LIBRARY_PATH: '/nonexistent',
        LD_PRELOAD: '',
        LD_AUDIT: '',
        DYLD_INSERT_LIBRARIES: '/nonexistent',
        DYLD_LIBRARY_PATH: '/nonexistent',
        ELECTRON_RUN_AS_NODE: '1',
        ELECTRON_NO_ASAR: '1',
        AWS_SECRET_ACCESS_KEY: 'not-for-the-broker',
        LC_ALL: 'C.UTF-8',
        TZ: 'UTC',
      },
    });
    await home.ok(['app', 'allow', 'cli', resource]);
    const token = (await home.ok(['token', resource])).trim();
    const { argv, environ } = processFacts((await askBroker(home, 'status', {})).pid);
    const names = environ.map((entry) => entry.split('=', 1)[0] ?? '');
    expect(new Set(names)).toEqual(
      new Set([
        'HOME',
        'KEYTURN_BROWSER',
        'KEYTURN_HOME',
        'KEYTURN_VAULT',
        'LC_ALL',
        'NODE_EXTRA_CA_CERTS',
        'PATH',
        'TZ',
      ]),
    );
    expect(argv.slice(1, 3)).toEqual(['--disable-sigusr1', '--max-semi-space-size=2']);
    expect(argv.slice(4)).toEqual(['broker', 'run', '--auto-started']);
    expect([...argv, ...environ].join('\n')).not.toContain(token);
  });
});
