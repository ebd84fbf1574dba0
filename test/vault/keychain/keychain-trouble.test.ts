/**
 * Every kind of keychain trouble behind the guard: its state, and the recovery from it. A real keyring
 * if the trouble can be caused there; else a scripted worker.
 */
import type { SpawnChild } from '../../../src/base/system/child.ts';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { VaultGuard } from '../../../src/vault/guard.ts';
import { forkWorker } from '../../../src/vault/keychain/keychain-process.ts';
import { VaultWatch } from '../../../src/vault/base/watch.ts';
import { ofTest } from '../../support/lasting.ts';
import { HandClock } from '../../broker/hand-clock.ts';
import { closedLater, keychainVault } from '../vaults.ts';
import { freshService, ownKeyring, removeFreshItems, requireTestKeyring } from './keyring.ts';
import { scriptedKeychain, type ScriptedKeychain } from './scripted-worker.ts';

function watched(spawnWorker: SpawnChild, service = freshService(), call = 10_000) {
  const clock = new HandClock();
  const watch = new VaultWatch(() => clock.now());
  const vault = keychainVault({ service, spawnWorker, watch, timeouts: { call } });
  onTestFinished(() => vault.close());
  /** As a user does, with this time to answer. */
  const unlock = (timeout: number): Promise<void> => vault.store.withTimeout(timeout, () => vault.unlock());
  return { guard: new VaultGuard(vault, watch), vault, unlock, watch, clock };
}

describe('a real keyring', () => {
  beforeAll(requireTestKeyring);
  afterAll(removeFreshItems);

  test('that locks is keychainLocked: only a user can open its prompt again', async () => {
    const session = await ofTest(ownKeyring());
    const started = vi.fn(() => forkWorker(session.env));
    const { guard, unlock, watch } = watched(() => started());
    await guard.set('grant', 'kept');
    await session.lock();
    await expect(guard.get('grant')).rejects.toMatchObject({ kind: 'keychainLocked' });
    expect(watch.state).toMatchObject({ state: 'keychainLocked', hint: expect.stringContaining('unlock') });
    const hint: unknown = expect.stringContaining('without a desktop');
    await expect(unlock(20_000)).rejects.toMatchObject({ reason: 'locked', hint });

    const before = started.mock.calls.length;
    await expect(guard.get('grant')).rejects.toMatchObject({ reason: 'locked', retryAfter: 5 });
    expect(started.mock.calls.length).toBe(before);

    await session.restartUnlocked();
    watch.endPause();
    await unlock(20_000);
    expect(await guard.get('grant')).toBe('kept');
    expect(watch.state.state).toBe('open');
  });

  test.each([
    ['if nothing listens at D-Bus’s address', { DBUS_SESSION_BUS_ADDRESS: 'unix:path=/nonexistent/bus' }],
    ['without D-Bus', { DBUS_SESSION_BUS_ADDRESS: undefined, XDG_RUNTIME_DIR: '/nonexistent' }],
  ])('the keychain is absent %s, and the hint says what to do', async (_, changed) => {
    const env = { ...process.env, DISPLAY: undefined, ...changed };
    const clean = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined));
    const { guard, watch } = watched(() => forkWorker(clean));
    await expect(guard.root()).rejects.toMatchObject({ reason: 'vault_unavailable', kind: 'absent' });
    expect(watch.state).toMatchObject({
      state: 'absent',
      hint: expect.stringContaining('keyturn settings set vault sealed-file'),
    });
  });
});

describe('a keychain by script', () => {
  /** A keychain that stores one grant, and then does as `act` says. */
  async function inTrouble(act: ScriptedKeychain['act'], call = 30) {
    const scripted = scriptedKeychain();
    const parts = watched(scripted.spawn, 'scripted', call);
    await parts.guard.set('grant', 'kept');
    scripted.asked.length = 0;
    scripted.act = act;
    return { ...parts, scripted };
  }

  test('that asks a user is waiting, and gets one of 20 program requests', async () => {
    const { guard, watch, scripted, clock } = await inTrouble(() => 'hang');
    const asking = Array.from({ length: 20 }, () => guard.get('grant'));
    for (const outcome of await Promise.allSettled(asking)) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: { reason: 'locked', kind: 'waiting' } });
    }
    expect(scripted.asked).toHaveLength(1);
    expect(watch.state.state).toBe('waiting');
    await expect(guard.get('grant')).rejects.toMatchObject({ retryAfter: 5 });
    clock.advance(5000);
    await expect(guard.get('grant')).rejects.toMatchObject({ reason: 'locked' });
    expect(scripted.asked).toHaveLength(2);
    await expect(guard.get('grant')).rejects.toMatchObject({ retryAfter: 10 });

    scripted.act = () => 'obey';
    clock.advance(10_000);
    expect(await guard.get('grant')).toBe('kept');
    expect(watch.state.state).toBe('open');
  });

  test('a full keychain is reported as full, not as absent, and its items can be read', async () => {
    const { guard, watch } = await inTrouble(({ op }) =>
      op === 'set' ? { refuse: '"No space left on device"' } : 'obey',
    );
    await expect(guard.set('grant', 'new')).rejects.toMatchObject({ kind: 'full' });
    expect(await guard.get('grant')).toBe('kept');
    expect(watch.state.state).toBe('full');
  });
});

test('what a broker that is killed at any call of a reset leaves, the next reset ends', async () => {
  for (let at = 1, isDone = false; !isDone; at += 1) {
    const keychain = scriptedKeychain();
    const open = () => closedLater(keychainVault({ service: 'scripted', spawnWorker: keychain.spawn }));
    const names = ['s-1', 'newest'];
    for (const name of names) await open().set(name, 'value');
    keychain.asked.length = 0;
    keychain.act = () => (keychain.asked.length < at ? 'obey' : 'die');
    isDone = await open()
      .destroy(names)
      .then(
        () => true,
        () => false,
      );
    keychain.act = () => 'obey';
    await open().destroy(names);
    expect(keychain.items(), `call ${at}`).toEqual([]);
  }
});
