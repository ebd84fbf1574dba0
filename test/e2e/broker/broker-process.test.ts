/** The broker as a process: how it starts, stops, stays alone, and what others can see of it. */
import { describe, expect, it } from 'vitest';
import { homeInWorld, isAlive, newHome, processFacts, until } from '../../support/home.ts';
import { askBroker } from '../../support/homes/ask-broker.ts';
import { homeDuringRefresh, refusesNewRequests } from '../../support/homes/refreshing-home.ts';

it('a broker ends when it is stopped, though a page is open and a question waits', async () => {
  const { home, resource } = await homeInWorld({ browser: 'true' });
  expect(await home.keyturn(['token', resource, '--timeout', '1s'])).toMatchObject({ code: 3 });
  expect(await home.keyturn(['login', resource, '--timeout', '10s'])).toMatchObject({ code: 3 });
  const { requests: interactions } = await askBroker(home, 'request.list', {});
  expect(new Set(interactions.map(({ kind }) => kind))).toEqual(new Set(['allow', 'signIn']));
  const { pid } = await askBroker(home, 'status', {});
  expect(await home.keyturn(['broker', 'stop'])).toMatchObject({ code: 0 });
  expect(isAlive(pid)).toBe(false);
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
