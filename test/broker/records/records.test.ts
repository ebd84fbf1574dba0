/** The records of sign-ins, permissions, apps, registrations. */
import { signInOf } from '../nowhere.ts';
import { describe, expect, it } from 'vitest';
import { signInRules, type SignIn } from '../../../src/broker/records/sign-in.ts';
import { SignIns } from '../../../src/broker/records/sign-ins.ts';
import { Apps, appSchema } from '../../../src/broker/records/app.ts';
import { Permissions, permissionSchema, type Permission } from '../../../src/broker/records/permission.ts';
import { type RecordList, listOf } from '../../../src/store/home-document.ts';
import { Registrations } from '../../../src/broker/records/registrations.ts';
import type { z } from 'zod';
import { memoryVault } from '../../../src/vault/memory.ts';
import { registrationAt } from '../../oauth/parties.ts';
import { itemsOf, newRecords, refusal, testDocument } from '../rig.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { getIfAny } from '../../../src/vault/base/vault.ts';

async function file<Item>(schema: z.ZodType<Item>): Promise<RecordList<Item>> {
  const document = testDocument(temporaryFolder());
  const records = listOf(document, 'records', schema);
  await document.verify();
  return records;
}

describe('sign-ins', () => {
  const fields = signInOf('default');
  const open = async (changed: (signIns: readonly SignIn[]) => void = () => undefined): Promise<SignIns> => {
    const { signIns: store } = await newRecords();
    return new SignIns(store, () => changed(store.items));
  };

  it('report every change once it is on the disk, and no change that was refused', async () => {
    const heard: (readonly SignIn[])[] = [];
    const signIns = await open((all) => heard.push(all));
    const read = await signIns.add(fields);
    const newer = await signIns.change(read, { scope: [] });
    await refusal(signIns.change(read, { scope: ['late'] }));
    expect(heard).toEqual([[read], [newer]]);
  });

  it('a sign-in that is ended while a change waits stays ended', async () => {
    const signIns = await open();
    const read = await signIns.add(fields);
    const late = signIns.change(read, { scope: ['read', 'write'] });
    const state = { kind: 'revoked', receipt: 'pending', endedAt: 1 } as const;
    const ended = signIns.update(read.id, () => ({ state }));
    expect(signIns.byId(read.id)?.state).toEqual(state);
    await Promise.allSettled([late, ended]);
    expect(signIns.byId(read.id)?.state).toEqual(state);
  });

  it('unused item names are listed for deletion in the same change', async () => {
    const { signIns: store, unused } = await newRecords();
    const signIns = new SignIns(store, () => undefined);
    const [one, two] = [`s-${'1'.repeat(22)}`, `s-${'2'.repeat(22)}`];
    await unused.change(() => [{ name: two }]);
    const read = await signIns.add({ ...fields, item: one });
    const newer = await signIns.change(read, { item: two, earlier: [{ item: one, registrationId: 'r' }] });
    expect(unused.items).toEqual([]);
    await signIns.change(newer, { item: undefined, earlier: undefined });
    expect(unused.items).toEqual([{ name: two }, { name: one }]);
  });

  it.each([
    ['is ended', { state: { kind: 'revoked', receipt: 'pending', endedAt: 1 } }, true],
    ['needs a sign-in', { state: { kind: 'signInRequired', why: '' } }, true],
    ['needs a sign-in, gets a scope', { state: { kind: 'signInRequired', why: '' }, scope: ['a'] }, false],
    ['gets a scope', { scope: ['read', 'write'] }, false],
  ] as const)('a sign-in that %s: whether that only takes away', (_what, more, isLess) => {
    const signIn = { ...fields, id: '0'.repeat(16) };
    expect(signInRules.isLess?.({ ...signIn, ...more } as SignIn, signIn)).toBe(isLess);
    expect(signInRules.isLess?.(signIn, { ...signIn, ...more } as SignIn)).toBe(false);
  });

  it('PROMISE-8: refuse a writer whose knowledge is stale', async () => {
    const signIns = await open();
    const read = await signIns.add(fields);
    const newer = await signIns.change(read, { scope: ['read', 'write'] });
    expect(signIns.isCurrent(read)).toBe(false);
    const late = signIns.change(read, { state: { kind: 'signInRequired', why: 'late' } });
    expect(await refusal(late)).toMatchObject({ reason: 'conflict' });
    expect(signIns.byId(read.id)).toEqual(newer);
  });
});

describe('permissions', () => {
  const permission: Permission = {
    appId: 'editor',
    endpoint: 'https://a.example/mcp',
    decision: 'allow',
    createdAt: 0,
  };
  const open = async (): Promise<Permissions> => new Permissions(await file(permissionSchema));

  it('a permission keeps the user’s newer decision over a stale change', async () => {
    const permissions = await open();
    await permissions.set(permission);
    const read = permissions.find('editor', permission.endpoint, 0);
    if (!read) throw new Error('there is none');
    const denied = permissions.set({ ...permission, decision: 'deny' });
    const late = refusal(permissions.replace(read, { ...read, resource: 'https://a.example' }));
    expect(await late).toMatchObject({ reason: 'conflict' });
    await denied;
    expect(permissions.find('editor', permission.endpoint, 0)?.decision).toBe('deny');
  });
});

describe('apps', () => {
  const open = async (): Promise<Apps> => new Apps(await file(appSchema));

  it('a program is named by its name, which no other gets, or by its id', async () => {
    const clients = await open();
    const one = await clients.add('editor', 0);
    for (const name of ['editor', 'Editor', 'cli']) {
      await expect(clients.add(name, 0)).rejects.toMatchObject({ reason: 'conflict' });
    }
    expect(clients.resolve('editor')).toBe(one.id);
    expect(clients.resolve(one.id)).toBe(one.id);
    expect(() => clients.resolve('nobody')).toThrow(expect.objectContaining({ reason: 'not_found' }));
    await clients.remove(one.id);
    expect(clients.resolve((await clients.add('editor', 0)).id)).not.toBe(one.id);
  });

  it('a program can’t take the place of another by its id as a name', async () => {
    const clients = await open();
    const victim = await clients.add('editor', 0);
    await clients.add(victim.id, 0);
    expect(clients.resolve(victim.id)).toBe(victim.id);
  });

  it('a program is found by a prefix of its id, which no other name can take', async () => {
    const clients = await open();
    const victim = await clients.add('editor', 0);
    const typed = victim.id.slice(0, 6);
    expect(clients.resolve(typed)).toBe(victim.id);
    expect(() => clients.resolve(victim.id.slice(0, 3))).toThrow(
      expect.objectContaining({ reason: 'not_found' }),
    );
    const other = await clients.add(typed, 0);
    expect(() => clients.resolve(typed)).toThrow(
      expect.objectContaining({
        reason: 'conflict',
        message: expect.stringContaining(`${victim.id}, ${other.id}`) as string,
      }),
    );
  });
});

describe('registrations', () => {
  const issuer = 'https://i.example';
  const open = async () => {
    const [vault, records] = [memoryVault(), await newRecords()];
    const registrations = new Registrations(records.registrations, itemsOf(records, vault));
    return { vault, records, registrations };
  };

  it('whose record can’t be written keep their former secret, and leave no other', async () => {
    const { registrations, records, vault } = await open();
    const record = await registrations.add(registrationAt(issuer), 'first');
    records.registrations.change = async () => {
      throw new Error('no space left');
    };
    const full = { message: 'no space left' };
    await expect(registrations.add(registrationAt(issuer), 'new')).rejects.toMatchObject(full);
    await expect(registrations.renew(record, registrationAt(issuer), 'new', {})).rejects.toMatchObject(full);
    Reflect.deleteProperty(records.registrations, 'change');
    const left = records.unused.items.map(({ name }) => name);
    expect(left).toHaveLength(2);
    await itemsOf(records, vault).tidy();
    expect(await Promise.all(left.map((name) => getIfAny(vault, name)))).toEqual([undefined, undefined]);
    expect(records.unused.items).toEqual([]);
    expect(await registrations.secret(record)).toBe('first');
  });
});
