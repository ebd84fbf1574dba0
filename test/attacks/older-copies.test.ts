/**
 * Another program of the same user puts back or deletes the document while no broker runs,
 * so that what the person took away would count again.
 */
import { chmodSync, cpSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
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
  const { id: program } = await broker.apps.add('editor', now);
  await broker.apps.confirm(program);
  await broker.permissions.set({ appId: program, endpoint, decision: 'allow', createdAt: now });
  const restart = (): Promise<AuthorityBroker> => startOn(folder, vault);
  return { folder, vault, broker, program, attacker: intruder(folder), restart };
}

/** Whether the program can get a token for the endpoint; a refusal by name is a no. */
function isAllowed({ apps, permissions }: AuthorityBroker, program: string): boolean {
  try {
    const isPaired = apps.usable(program, now) !== undefined;
    return isPaired && permissions.find(program, endpoint, now)?.decision === 'allow';
  } catch {
    return false;
  }
}

describe('an older copy of the document', () => {
  it('authority.json: does not bring a removed program back', async () => {
    const { broker, program, attacker, restart } = await scene();
    attacker.keeps('authority.json');
    await broker.permissions.endAllOf(program);
    await broker.apps.remove(program);
    attacker.restores('authority.json');
    const next = await restart();
    expect(() => next.apps.usable(program, now)).toThrow(
      expect.objectContaining({
        reason: 'file_unreadable',
        message: expect.stringContaining('is not the newest one that your vault knows'),
        hint: expect.stringContaining('Put the newest one back'),
      }),
    );
    expect(next.troubles()).toEqual([expect.stringContaining('authority.json')]);
  });

  it('authority.json: is ignored if the broker was killed between its two steps', async () => {
    const { folder, vault, program, attacker, restart } = await scene();
    // It has something harmless denied, and kills the broker once the file is written and the vault has not got its number.
    attacker.keeps('authority.json');
    await startAndDie(folder, vault);
    const branch = intruder(folder);
    branch.keeps('authority.json');
    attacker.restores('authority.json');
    const honest = await restart();
    expect(isAllowed(honest, program)).toBe(true);
    await honest.permissions.end(program, endpoint);
    branch.restores('authority.json');
    expect(isAllowed(await restart(), program)).toBe(false);
  });
});

/** A broker that ends when the file is written and the vault is not asked yet. */
async function startAndDie(folder: string, vault: Vault): Promise<void> {
  const reached = Promise.withResolvers<void>();
  const broker = await startOn(folder, {
    ...vault,
    replace: () => {
      reached.resolve();
      return new Promise(() => undefined);
    },
  });
  const harmless = {
    appId: 'x',
    endpoint: 'https://x.example/mcp',
    decision: 'deny',
    createdAt: 0,
  } as const;
  await Promise.race([broker.permissions.set(harmless), reached.promise]);
}

describe('a document that is gone', () => {
  it('authority.json: is refused, not taken for empty, and no other one is made', async () => {
    const { broker, program, attacker, restart } = await scene();
    await broker.permissions.set({ appId: program, endpoint, decision: 'deny', createdAt: now });
    attacker.deletes('authority.json');
    const next = await restart();
    expect(() => next.permissions.find(program, endpoint, now)).toThrow(
      expect.objectContaining({
        message: expect.stringContaining('is gone, and your vault knows that there was one'),
        hint: expect.stringContaining('keyturn reset'),
      }),
    );
    const set = next.permissions.set({ appId: program, endpoint, decision: 'allow', createdAt: now });
    expect(await refusal(set)).toMatchObject({ reason: 'file_unreadable' });
    expect(next.troubles()).toHaveLength(1);
  });
});

describe('a copy of the whole home, in which another broker runs,', () => {
  it('authority.json: restores nothing that was taken away, and ends what the home serves', async () => {
    const { folder, vault, broker, program, attacker, restart } = await scene();
    const { id: decoy } = await broker.apps.add('decoy', now);
    const copy = temporaryFolder();
    cpSync(folder, copy, { recursive: true });
    for (const name of ['config', 'state']) chmodSync(path.join(copy, name), 0o700);
    const other = await startOn(copy, vault);
    attacker.keeps('authority.json');
    await broker.permissions.set({ appId: program, endpoint, decision: 'deny', createdAt: now });
    // It only takes away, which the owner's key may do everywhere.
    expect(await refusal(other.apps.remove(decoy))).toMatchObject({ reason: 'vault_unreadable' });
    expect(isAllowed(other, program)).toBe(false);
    for (const file of [path.join(copy, 'state', 'authority.json'), undefined]) {
      if (file) cpSync(file, path.join(folder, 'state', 'authority.json'));
      else attacker.restores('authority.json');
      expect(isAllowed(await restart(), program)).toBe(false);
    }
  });
});
