/** Which permissions are more than a program had. */
import { describe, expect, it } from 'vitest';
import type { Permission } from '../../../src/broker/records/permission.ts';
import {
  decisionOf,
  denialEndRequest,
  keyPlace,
  permissionRequest,
  tokenPlace,
  widensPermission,
} from '../../../src/daemon/approvals/widening.ts';
import { signInOf, nowhere } from '../../broker/nowhere.ts';
import { brokerRig } from '../../broker/rig.ts';

const { endpoint } = nowhere;

/** In seconds: a permission's end lies ahead. */
const end = Math.floor(Date.now() / 1000) + 3600;

async function brokerWith(held: Partial<Permission> = {}) {
  const { broker, parts } = await brokerRig(nowhere);
  const { id: appId } = await parts.apps.add('editor', Date.now());
  const { id: other } = await parts.apps.add('other', Date.now());
  await parts.permissions.set({
    appId,
    endpoint,
    decision: 'allow',
    scope: ['read', 'write'],
    until: end * 1000,
    createdAt: 0,
    ...held,
  });
  return { broker, appId, other };
}

const wanted = {
  app: 'editor',
  resource: endpoint,
  decision: 'allow' as const,
  scope: 'read',
  until: end - 1,
};

describe('a permission', () => {
  it('is no wider if it asks for less, or denies', async () => {
    const { broker, appId } = await brokerWith();
    expect(widensPermission(broker, wanted)).toBe(false);
    expect(widensPermission(broker, { ...wanted, app: appId, scope: 'write read', until: end })).toBe(false);
    // As a user types it.
    expect(widensPermission(broker, { ...wanted, resource: `${endpoint}/` })).toBe(false);
    expect(widensPermission(broker, { ...wanted, app: 'other', decision: 'deny' })).toBe(false);
  });

  it.each([
    ['for another program', { app: 'other' }],
    ['for another server', { resource: 'https://mail.example' }],
    ['with a further scope', { scope: 'read admin' }],
    ['with any scope', { scope: undefined }],
    ['for longer', { until: end + 1 }],
    ['for ever', { until: undefined }],
    ['with a limit that is not known here', { limit: 'longer' }],
  ])('is wider %s', async (_how, change) => {
    const { broker } = await brokerWith();
    expect(widensPermission(broker, { ...wanted, ...change })).toBe(true);
  });

  it.each([
    ['was a denial', { decision: 'deny' as const }],
    ['was held to the scopes of its first token', { fixAtFirstToken: true, scope: undefined }],
    ['had a scope of it denied', { deniedScope: ['read'] }],
  ])('is wider if the permission that exists %s', async (_what, held) => {
    const { broker } = await brokerWith(held);
    expect(widensPermission(broker, wanted)).toBe(true);
  });
});

describe('a permission for an account', () => {
  it('is wider unless the program works as that account already', async () => {
    const { broker, appId } = await brokerWith();
    const { id } = await broker.parts.signIns.add(signInOf('alice'));
    const asAlice = { ...wanted, account: 'alice' };
    expect(widensPermission(broker, asAlice)).toBe(true);
    const [held] = broker.parts.permissions.of(appId, 0);
    await broker.parts.permissions.set({ ...(held ?? expect.fail()), signInIds: [id] });
    expect(widensPermission(broker, asAlice)).toBe(false);
    expect(() => widensPermission(broker, { ...wanted, account: 'bob' })).toThrow(
      expect.objectContaining({ reason: 'not_found' }),
    );
  });

  it('chooses the account named last where there are several', async () => {
    const { broker, appId } = await brokerWith();
    const { signIns, permissions } = broker.parts;
    const alices = await signIns.add(signInOf('alice'));
    await signIns.add(signInOf('bob'));
    const [held] = permissions.of(appId, 0);
    await permissions.set({ ...(held ?? expect.fail()), signInIds: [alices.id] });
    const asBob = { ...wanted, account: 'bob' };
    expect(decisionOf(broker, asBob)).toMatchObject({ account: 'bob' });
    expect(decisionOf(broker, { ...wanted, account: 'alice' })).not.toHaveProperty('account');
  });

  it('keeps the existing scopes, expiry and restrictions', async () => {
    const until = Date.now() + 3_600_000;
    const { broker, appId } = await brokerWith({ scope: ['read'], until });
    const { id } = await broker.parts.signIns.add(signInOf('alice', { scope: ['read', 'write'] }));
    const asAlice = { app: 'editor', resource: endpoint, decision: 'allow', account: 'alice' } as const;
    expect(decisionOf(broker, asAlice)).toMatchObject({ appId, scope: ['read'], until, signInIds: [id] });
    const named = { ...asAlice, scope: 'write', until: 2_000_000_000 };
    expect(decisionOf(broker, named)).toMatchObject({ scope: ['write'], until: 2_000_000_000_000 });
    const [held] = broker.parts.permissions.of(appId, 0);
    const { scope: _, ...open } = held ?? expect.fail();
    await broker.parts.permissions.set({ ...open, fixAtFirstToken: true });
    expect(decisionOf(broker, asAlice)).toMatchObject({ fixAtFirstToken: true });
    expect(decisionOf(broker, named)).not.toHaveProperty('fixAtFirstToken');
    const { account: _none, ...anew } = asAlice;
    expect(decisionOf(broker, anew)).not.toHaveProperty('scope');
  });

  it('needs scopes if the permission has expired, and says for which app and server', async () => {
    const { broker } = await brokerWith({ until: 1 });
    await broker.parts.signIns.add(signInOf('alice'));
    const asAlice = { app: 'editor', resource: endpoint, decision: 'allow', account: 'alice' } as const;
    const hint = expect.stringContaining(`keyturn app allow editor ${endpoint} --account`);
    expect(() => decisionOf(broker, asAlice)).toThrow(expect.objectContaining({ hint }));
  });

  it('needs a question if it ends an earlier denial of accounts', async () => {
    const accounts = ['f'.repeat(16)];
    const { broker, appId, other } = await brokerWith({ deniedSignInIds: accounts });
    const request = { command: 'endDenial', app: 'editor', resource: endpoint, accounts, until: end };
    const place = tokenPlace(broker, endpoint);
    expect(denialEndRequest(broker, appId, place, end)).toMatchObject(request);
    expect(denialEndRequest(broker, other, place)).toBeUndefined();
  });
});

it('a permission for an API key is no wider if it ends no later, and its card shows the key', async () => {
  const { broker, appId } = await brokerWith();
  const { apiKeys, permissions } = broker.parts;
  const { id } = await apiKeys.set({ endpoint, header: 'X-Key' }, 'value', { setAt: 0 });
  const { scope: _, ...asked } = wanted;
  const card = { command: 'allow', app: 'editor', resource: endpoint, apiKey: { header: 'X-Key' } };
  expect(permissionRequest(broker, asked, keyPlace)).toMatchObject({ ...card, until: asked.until });
  const held = { appId, endpoint: `key:${id}`, createdAt: 0 };
  await permissions.set({ ...held, decision: 'allow', until: end * 1000 });
  expect(permissionRequest(broker, { ...asked, until: end }, keyPlace)).toBeUndefined();
  expect(widensPermission(broker, { ...asked, until: end + 1 }, keyPlace)).toBe(true);
  await permissions.set({ ...held, decision: 'deny' });
  const denied = { ...asked, decision: 'deny' as const };
  expect(permissionRequest(broker, denied, keyPlace)).toMatchObject({ ...card, command: 'endDenial' });
});
