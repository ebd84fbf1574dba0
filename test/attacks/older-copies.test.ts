/**
 * Another program of the same user puts back, mixes or deletes the files of authority while no broker runs,
 * so that what the person took away would count again.
 */
import { chmodSync, cpSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { Proxies } from '../../src/broker/records/proxy.ts';
import { Registrations } from '../../src/broker/records/registrations.ts';
import { registrationAt } from '../oauth/parties.ts';
import { refusal } from '../broker/rig.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { intruder, lastingVault, startOn } from '../support/homes/authority-home.ts';
import type { AuthorityBroker } from '../support/homes/authority-home.ts';
import type { Vault } from '../../src/vault/base/vault.ts';

const endpoint = 'https://notes.example/mcp';
const now = 1_000;

interface Scene {
  readonly folder: string;
  readonly vault: Vault;
  readonly broker: AuthorityBroker;
  readonly program: string;
  readonly attacker: ReturnType<typeof intruder>;
  readonly restart: () => Promise<AuthorityBroker>;
}

/** A home with one paired program that is allowed one server. */
async function scene(): Promise<Scene> {
  const [folder, vault] = [temporaryFolder(), lastingVault()];
  const broker = await startOn(folder, vault);
  const { id: program } = await broker.clients.add('editor', now);
  await broker.clients.confirm(program);
  await broker.permissions.set({ clientId: program, endpoint, decision: 'allow', createdAt: now });
  const restart = (): Promise<AuthorityBroker> => startOn(folder, vault);
  return { folder, vault, broker, program, attacker: intruder(folder), restart };
}

/** Whether the program can get a token for the endpoint; a refusal by name is a no. */
function isAllowed({ clients, permissions }: AuthorityBroker, program: string): boolean {
  try {
    const isPaired = clients.usable(program, now) !== undefined;
    return isPaired && permissions.find(program, endpoint, now)?.decision === 'allow';
  } catch {
    return false;
  }
}

describe('an older copy of a file of authority', () => {
  it('clients.json: does not bring a removed program back', async () => {
    const { broker, program, attacker, restart } = await scene();
    attacker.keeps('clients.json', 'permissions.json');
    await broker.permissions.endAllOf(program);
    await broker.clients.remove(program);
    attacker.restores('clients.json', 'permissions.json');
    const next = await restart();
    expect(() => next.clients.usable(program, now)).toThrow(
      expect.objectContaining({
        reason: 'file_unreadable',
        message: expect.stringContaining('it is an older copy (epoch 0; the vault knows epoch 1)'),
        hint: expect.stringContaining('Put its newest copy back'),
      }),
    );
    expect(next.troubles()).toEqual([
      expect.stringContaining('clients.json'),
      expect.stringContaining('permissions.json'),
    ]);
  });

  it('permissions.json: does not undo a denial', async () => {
    const { broker, program, attacker, restart } = await scene();
    attacker.keeps('permissions.json');
    await broker.permissions.set({ clientId: program, endpoint, decision: 'deny', createdAt: now });
    attacker.restores('permissions.json');
    expect(isAllowed(await restart(), program)).toBe(false);
  });

  it('permissions.json: does not make a denied question come back', async () => {
    const { broker, program, attacker, restart } = await scene();
    const other = 'https://other.example/mcp';
    attacker.keeps('permissions.json');
    await broker.permissions.set({ clientId: program, endpoint: other, decision: 'deny', createdAt: now });
    attacker.restores('permissions.json');
    const next = await restart();
    expect(() => next.permissions.find(program, other, now)).toThrow(/older copy/);
  });

  it('permissions.json: does not make a refused scope be asked about again', async () => {
    const { broker, program, attacker, restart } = await scene();
    attacker.keeps('permissions.json');
    const read = broker.permissions.find(program, endpoint, now);
    if (!read) throw new Error('there is none');
    await broker.permissions.replace(read, { ...read, scope: ['read'], refused: ['write'] });
    attacker.restores('permissions.json');
    expect(isAllowed(await restart(), program)).toBe(false);
  });

  it('permissions.json: does not bring an ended permission back', async () => {
    const { broker, program, attacker, restart } = await scene();
    attacker.keeps('permissions.json');
    await broker.permissions.end(program, endpoint);
    attacker.restores('permissions.json');
    expect(isAllowed(await restart(), program)).toBe(false);
  });

  it('overrides.json: does not switch an override on again', async () => {
    const { broker, attacker, restart } = await scene();
    await broker.overrides.set(endpoint, 'no-resource', true);
    attacker.keeps('overrides.json');
    await broker.overrides.set(endpoint, 'no-resource', false);
    attacker.restores('overrides.json');
    const next = await restart();
    expect(() => next.overrides.for(endpoint)).toThrow(/older copy/);
  });

  it('proxies.json: does not bring back a removed proxy, nor the path of before', async () => {
    const { broker, attacker, restart } = await scene();
    const proxies = new Proxies(broker.records.proxies);
    const { id } = await proxies.add({ name: 'notes', endpoint, port: 20_000, createdAt: now });
    for (const change of [() => proxies.rotate(id), () => proxies.remove(id)]) {
      attacker.keeps('proxies.json');
      await change();
      attacker.restores('proxies.json');
      const next = new Proxies((await restart()).records.proxies);
      expect(() => next.all()).toThrow(/older copy/);
    }
  });

  it('registrations.json: does not bring back a client that was removed at an issuer', async () => {
    const { broker, vault, attacker, restart } = await scene();
    const registrations = new Registrations(broker.records.registrations, vault);
    const record = await registrations.add(registrationAt('https://i.example'), undefined);
    attacker.keeps('registrations.json');
    await registrations.remove(record);
    attacker.restores('registrations.json');
    const next = new Registrations((await restart()).records.registrations, vault);
    expect(() => next.for('https://i.example', 0)).toThrow(/older copy/);
  });

  it('clients.json: does not count beside newer files', async () => {
    const { broker, program, attacker, restart } = await scene();
    attacker.keeps('clients.json');
    await broker.clients.remove(program);
    attacker.keeps('permissions.json');
    await broker.permissions.end(program, endpoint);
    attacker.restores('clients.json', 'permissions.json');
    const next = await restart();
    expect(isAllowed(next, program)).toBe(false);
    expect(next.troubles()).toHaveLength(2);
  });

  it('permissions.json: does not count where the broker was killed between its two steps, and the file before was put back', async () => {
    const { folder, vault, program, attacker, restart } = await scene();
    // It has something harmless denied, and kills the broker once the file has the next epoch and the vault has not.
    attacker.keeps('permissions.json');
    await startAndDie(folder, vault);
    const branch = intruder(folder);
    branch.keeps('permissions.json');
    attacker.restores('permissions.json');
    const honest = await restart();
    expect(isAllowed(honest, program)).toBe(true);
    await honest.permissions.end(program, endpoint);
    branch.restores('permissions.json');
    expect(isAllowed(await restart(), program)).toBe(false);
  });
});

/** A broker that ends when the file is written and the vault is not asked yet. */
async function startAndDie(folder: string, vault: Vault): Promise<void> {
  const reached = Promise.withResolvers<void>();
  const broker = await startOn(folder, {
    ...vault,
    write: () => {
      reached.resolve();
      return new Promise<void>(() => undefined);
    },
  });
  const harmless = {
    clientId: 'x',
    endpoint: 'https://x.example/mcp',
    decision: 'deny',
    createdAt: 0,
  } as const;
  await Promise.race([broker.permissions.set(harmless), reached.promise]);
}

describe('a file of authority that is gone', () => {
  it('permissions.json: is refused, not taken for empty, once something was taken away in it', async () => {
    const { broker, program, attacker, restart } = await scene();
    await broker.permissions.set({ clientId: program, endpoint, decision: 'deny', createdAt: now });
    attacker.deletes('permissions.json');
    const next = await restart();
    expect(() => next.permissions.find(program, endpoint, now)).toThrow(
      expect.objectContaining({
        message: expect.stringContaining('it is gone, though the vault has recorded it (epoch 1)'),
        hint: expect.stringContaining('keyturn reset'),
      }),
    );
    const set = next.permissions.set({ clientId: program, endpoint, decision: 'allow', createdAt: now });
    expect(await refusal(set)).toMatchObject({ reason: 'file_unreadable' });
    expect(next.troubles()).toHaveLength(1);
  });

  it('permissions.json: counts as empty where it only ever grew', async () => {
    const { program, attacker, restart } = await scene();
    attacker.deletes('permissions.json');
    const next = await restart();
    expect(next.permissions.find(program, endpoint, now)).toBeUndefined();
    expect(next.troubles()).toEqual([]);
  });
});

describe('a copy of the whole home, in which another broker runs,', () => {
  it('permissions.json: does not make the vault forget what was taken away in the home', async () => {
    const { folder, vault, broker, program, attacker, restart } = await scene();
    const { id: decoy } = await broker.clients.add('decoy', now);
    const copy = temporaryFolder();
    cpSync(folder, copy, { recursive: true });
    for (const name of ['config', 'state']) chmodSync(path.join(copy, name), 0o700);
    const other = await startOn(copy, vault);
    attacker.keeps('permissions.json');
    await broker.permissions.set({ clientId: program, endpoint, decision: 'deny', createdAt: now });
    // It only takes away, which the owner's key may do everywhere.
    await other.clients.remove(decoy);
    attacker.restores('permissions.json');
    cpSync(path.join(copy, 'state', 'clients.json'), path.join(folder, 'state', 'clients.json'));
    expect(isAllowed(await restart(), program)).toBe(false);
  });
});
