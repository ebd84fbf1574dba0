/** The broker as a process: how it starts, stops, stays alone, and what others can see of it. */
import { describe, expect, it } from 'vitest';
import { reasonOf } from '../../../src/base/errors.ts';
import { homeInWorld, isAlive, newHome, until } from '../../support/home.ts';
import { askBroker } from '../../support/homes/ask-broker.ts';
import { signIn as signInAt, tokenAt } from '../../support/homes/owner-acts.ts';

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
    const { home, world, resource } = await homeInWorld({ vault: 'keychain' });
    await home.ok(['app', 'allow', 'cli', resource]);
    await signInAt(home, resource);
    const old = await tokenAt(home, resource);
    const { pid: broker } = await askBroker(home, 'status', {});
    const held = world.holdTokenRequests();
    const asking = home.start(['token', resource, '--rejected-token-stdin'], { stdin: old });
    await held.arrived;
    const isStopping = async (): Promise<boolean> =>
      (await askBroker(home, 'status', {}).then(() => 'ok', reasonOf)) === 'broker_stopping';
    process.kill(broker, 'SIGTERM');
    await until('it refuses new requests', isStopping);
    // More signals change nothing: the broker still finishes the refresh.
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGTERM'] as const) {
      process.kill(broker, signal);
      expect(await isStopping(), signal).toBe(true);
    }
    const next = home.start(['sign-in', 'list', '--json']);
    expect(home.brokers()).toEqual([broker]);
    held.release();
    expect(await asking.ended).toMatchObject({ code: 0 });

    const [signIn] = JSON.parse((await next.ended).stdout) as { state: string }[];
    expect(signIn?.state).toBe('active');
    expect(isAlive(broker)).toBe(false);
    expect(await home.keyturn(['token', resource])).toMatchObject({ code: 0 });
    expect(world.counts().authorizationServer).toMatchObject({ signIns: 1, refreshReuses: 0 });
  });
});
