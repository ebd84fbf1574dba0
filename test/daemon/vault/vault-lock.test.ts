/** The lock desk over the broker's real parts: what a lock drops and waits for, and how it opens again. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { VaultLock } from '../../../src/daemon/vault/vault-lock.ts';
import { fresh } from '../../vault/doubles.ts';
import { VaultGuard } from '../../../src/vault/guard.ts';
import { openVault, type LockableVault } from '../../../src/vault/open.ts';
import { SessionBus } from '../../../src/vault/keychain/session-bus.ts';
import { VaultError } from '../../../src/vault/base/trouble.ts';
import { VaultWatch } from '../../../src/vault/base/watch.ts';
import { inWorld, brokerRig, refusal, turnOfEvents } from '../../broker/rig.ts';
import { worldOfFile } from '../../broker/places.ts';

const world = worldOfFile();

/** A desk in front of a rig's vault; `lockable`: how that one opens, at once unless told otherwise. */
async function deskFor({
  lockable = {},
  lockAfter,
}: { lockable?: Partial<LockableVault>; lockAfter?: number | undefined } = {}) {
  let guard: VaultGuard | undefined;
  let watch: VaultWatch | undefined;
  const rig = await brokerRig(inWorld(world), {
    front: (vault, clock) => {
      watch = new VaultWatch(() => clock.now());
      guard = new VaultGuard(vault, watch);
      return guard;
    },
  });
  if (!guard || !watch) throw new Error('the rig did not ask for its guard');
  const bus = new SessionBus({});
  const usual = {
    ...openVault('memory', { service: 'unused', sealed: { folder: '', key: 'keychain' }, ...fresh }),
    vault: rig.vault,
  };
  const settings = { lockAfter };
  const vaultLock = new VaultLock({
    secrets: { guard, watch, bus, lockable: { ...usual, ...lockable } },
    broker: rig.parts,
    settings,
    changed: () => undefined,
    log: () => undefined,
  });
  onTestFinished(() => vaultLock.stop());
  const rows = () => {
    const lines = readFileSync(path.join(rig.folder, 'audit.jsonl'), 'utf8').trim().split('\n');
    const all = lines.map((line) => JSON.parse(line) as { event: string; outcome: string });
    return all.filter(({ event }) => event === 'vault').map(({ outcome }) => outcome);
  };
  return { rig, vaultLock, watch, bus, settings, rows };
}

const here = (): AbortSignal => new AbortController().signal;
const client = { role: 'app' } as const;
const owner = { role: 'owner' } as const;
const locked = { reason: 'locked' };

describe('locking', () => {
  it('drops root key and access tokens, and refuses requests for the vault', async () => {
    const { rig, vaultLock, watch, rows } = await deskFor();
    const { vault } = rig.parts;
    await rig.allow();
    await rig.ask();
    const { apiKeys } = rig.parts;
    const header = { endpoint: 'https://keys.example', header: 'X-Api-Key' };
    const key = await apiKeys.set(header, 'ak', { setAt: 1 });
    await apiKeys.read(key);
    const before = await vault.root();
    await vaultLock.lock('locked');
    expect(rig.parts.cache.of(rig.signIn().id)).toEqual([]);
    expect(apiKeys.held(key.id)).toBeUndefined();
    expect(await refusal(vault.root())).toMatchObject(locked);
    expect(await refusal(rig.ask())).toMatchObject({
      reason: 'locked',
      hint: 'Unlock it with: keyturn unlock',
    });
    expect(watch.state.state).toBe('locked');
    expect(rows()).toEqual(['locked']);

    await vaultLock.unlock({}, here());
    expect((await vault.root()).equals(before)).toBe(true);
    await rig.ask();
    expect(rows()).toEqual(['locked', 'unlocked']);
    expect(rig.signIn().state.kind).toBe('active');
  });

  it('refuses every request of local programs, and the owner’s requests for tokens', async () => {
    const { vaultLock } = await deskFor();
    await vaultLock.lock('locked');
    for (const method of ['token.get', 'token.reject', 'signIn.list', 'signIn.show'] as const) {
      expect(() => vaultLock.admit(client, method)).toThrow(expect.objectContaining(locked));
    }
    expect(() => vaultLock.admit(owner, 'token.get')).toThrow(expect.objectContaining(locked));
    for (const method of ['signIn.list', 'status', 'signIn.revoke', 'vault.unlock', 'broker.stop'] as const) {
      expect(() => vaultLock.admit(owner, method)).not.toThrow();
    }
    expect(() => vaultLock.refuseIfLocked()).toThrow(expect.objectContaining(locked));
    await vaultLock.unlock({}, here());
    expect(() => vaultLock.admit(client, 'token.get')).not.toThrow();
  });

  it('waits for a refresh under way, whose rotated token is stored first', async () => {
    const { rig, vaultLock, rows } = await deskFor();
    await rig.allow();
    const old = await rig.ask();
    rig.broker.rejections.reject({ appId: 'editor', token: { tokenId: old.tokenId } });
    const held = world.holdTokenRequests();
    const asking = rig.ask();
    await held.arrived;
    const writes = (): number => rig.vault.done.filter((call) => call.startsWith('set s-')).length;
    const before = writes();
    const locking = vaultLock.lock('locked').then(writes);
    // All that a lock does besides: its row is on the disk.
    await rig.parts.audit.flush();
    await turnOfEvents();
    expect(rows()).toEqual(['locked']);
    expect(() => vaultLock.admit(client, 'token.get')).toThrow(expect.objectContaining(locked));
    held.release();
    expect(await locking).toBe(before + 1);
    await asking.catch(() => undefined);
    await vaultLock.unlock({}, here());
    await rig.ask();
    expect(world.counts().authorizationServer.refreshReuses).toBe(0);
  });

  it('keeps a rotated token that the vault could not take, until it can', async () => {
    const { rig, vaultLock } = await deskFor();
    await rig.allow();
    const old = await rig.ask();
    rig.broker.rejections.reject({ appId: 'editor', token: { tokenId: old.tokenId } });
    rig.vault.failing.add('set');
    expect(await refusal(rig.ask())).toMatchObject({ reason: 'vault_unavailable' });
    await vaultLock.lock('locked');
    rig.vault.failing.clear();
    await vaultLock.unlock({}, here());
    await rig.ask();
    expect(world.counts().authorizationServer.refreshReuses).toBe(0);
    expect(rig.signIn().state.kind).toBe('active');
  });

  it('cancels open sign-ins, because their tokens could not be kept', async () => {
    const { rig, vaultLock } = await deskFor();
    rig.person.isThere = false;
    const login = rig.login();
    login.catch(() => undefined);
    await rig.question('signIn');
    await vaultLock.lock('locked');
    expect(await refusal(login)).toMatchObject({ reason: 'login_failed' });
    expect(rig.parts.approvalRequests.list()).toEqual([]);
  });
});

describe('unlocking', () => {
  it('asks once for all callers, and all get the same result', async () => {
    const answered = Promise.withResolvers<void>();
    let asked = 0;
    const unlock = async (): Promise<void> => {
      asked += 1;
      await answered.promise;
    };
    const { vaultLock, rig } = await deskFor({ lockable: { unlock } });
    await vaultLock.lock('locked');
    const all = Array.from({ length: 5 }, () => vaultLock.unlock({}, here()));
    await turnOfEvents();
    expect(await refusal(rig.parts.vault.root())).toMatchObject({ reason: 'locked', kind: 'waiting' });
    answered.resolve();
    await Promise.all(all);
    expect(asked).toBe(1);
    await rig.parts.vault.root();
  });

  it('pauses after a wrong passphrase, longer each time, and notes each failure', async () => {
    const unlock = async (_patience: number, passphrase?: string): Promise<void> => {
      if (passphrase !== 'right') throw new VaultError('locked', 'this passphrase does not open the vault');
    };
    const { vaultLock, rig, rows } = await deskFor({ lockable: { hasPassphrase: true, unlock } });
    await vaultLock.lock('locked');
    const pauses: number[] = [];
    for (let wrong = 0; wrong < 11; wrong += 1) {
      expect(await refusal(vaultLock.unlock({ passphrase: 'wrong' }, here()))).toMatchObject(locked);
      const soon = (await refusal(vaultLock.unlock({ passphrase: 'right' }, here()))) as {
        retryAfter: number;
      };
      expect(soon).toMatchObject({ reason: 'rate_limited' });
      pauses.push(soon.retryAfter);
      rig.clock.advance(soon.retryAfter * 1000);
    }
    // A quarter of each pause is left to chance.
    for (const [n, pause] of pauses.entries()) {
      expect(pause).toBeLessThanOrEqual(Math.min(2 ** n, 300));
      expect(pause).toBeGreaterThanOrEqual(Math.min(2 ** n, 300) * 0.75);
    }
    await vaultLock.unlock({ passphrase: 'right' }, here());
    expect(rows().filter((outcome) => outcome === 'unlock: locked')).toHaveLength(11);
    expect(rows().at(-1)).toBe('unlocked');
    await vaultLock.lock('locked');
    expect(await refusal(vaultLock.unlock({ passphrase: 'wrong' }, here()))).toMatchObject(locked);
    rig.clock.advance(1000);
    await vaultLock.unlock({ passphrase: 'right' }, here());
  });

  it('opens nothing if a lock comes during it', async () => {
    const answered = Promise.withResolvers<void>();
    const { vaultLock, rig, watch } = await deskFor({ lockable: { unlock: () => answered.promise } });
    const unlocking = vaultLock.unlock({}, here());
    await turnOfEvents();
    await vaultLock.lock('locked');
    answered.resolve();
    expect(await refusal(unlocking)).toMatchObject(locked);
    expect(watch.state.state).toBe('locked');
    expect(await refusal(rig.parts.vault.root())).toMatchObject({ kind: 'locked' });
  });
});

const session = { DBUS_SESSION_BUS_ADDRESS: 'unix:path=/run/user/1000/bus', DISPLAY: ':0' };

it('a caller’s desktop session is used for one more try if the broker has no working bus', async () => {
  const buses: (string | undefined)[] = [];
  const { vaultLock, bus } = await deskFor({
    lockable: {
      unlock: async () => {
        buses.push(bus.environment()['DBUS_SESSION_BUS_ADDRESS']);
        if (buses.at(-1) !== session.DBUS_SESSION_BUS_ADDRESS) throw new VaultError('absent', 'no bus');
      },
    },
  });
  await vaultLock.unlock({ session }, here());
  expect(buses.at(-1)).toBe(session.DBUS_SESSION_BUS_ADDRESS);
  expect(buses).toHaveLength(2);
});

it('looks for a missing keychain ever more seldom, and no more once there is one', async () => {
  let looks = 0;
  const look = async (): Promise<void> => {
    looks += 1;
    if (looks < 5) throw new VaultError('absent', 'no keychain');
  };
  const { vaultLock, rig, watch } = await deskFor({ lockable: { look } });
  const looking = vaultLock.lookForKeychain(here());
  const after = async (minutes: number): Promise<number> => {
    await turnOfEvents();
    rig.clock.advance(minutes * 60_000);
    await turnOfEvents();
    return looks;
  };
  expect([
    await after(1),
    await after(1),
    await after(1),
    await after(3),
    await after(1),
    await after(8),
  ]).toEqual([2, 2, 3, 3, 4, 5]);
  await looking;
  expect(watch.state.state).not.toBe('absent');
  expect(await after(600)).toBe(5);
});

describe('the idle lock', () => {
  it('locks after the time that the vault confirms, though the file named none', async () => {
    const { vaultLock, rig, watch, settings } = await deskFor();
    await rig.parts.vault.root();
    settings.lockAfter = 60;
    vaultLock.settingsChanged();
    rig.clock.advance(60_000);
    await turnOfEvents();
    await vaultLock.lock('joins the one under way');
    expect(watch.state.state).toBe('locked');
  });

  it('locks when no program asks, even if the owner looks', async () => {
    const { vaultLock, rig, watch, rows } = await deskFor({ lockAfter: 60 });
    const pass = async (seconds: number): Promise<void> => {
      rig.clock.advance(seconds * 1000);
      await turnOfEvents();
    };
    await rig.parts.vault.root();
    await pass(50);
    vaultLock.admit(client, 'token.get');
    await pass(50);
    expect(watch.state.state).toBe('open');
    // What a window reads again and again.
    for (const list of ['status', 'signIn.list', 'oauthClient.list', 'settings.get'] as const) {
      vaultLock.admit(owner, list);
    }
    await pass(10);
    await vaultLock.lock('joins the one under way');
    expect(watch.state.state).toBe('locked');
    expect(rows()).toEqual(['locked: idle']);
  });
});
