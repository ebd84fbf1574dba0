/** What the authorization server keeps: storage, keys, and what a restart or a thief of the file finds. */
import { randomBytes } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { decodeProtectedHeader } from 'jose';
import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  authorizationServer,
  developmentLogin,
  memoryStorage,
  sealedStorage,
  sqliteStorage,
} from '../../../src/server/authorization/index.ts';
import type { Storage } from '../../../src/server/authorization/index.ts';
import { adapterFor } from '../../../src/server/authorization/adapter.ts';
import { loadOidcProvider } from '../../../src/server/authorization/base/peer.ts';
import { signingKeys } from '../../../src/server/authorization/signing-keys.ts';
import { notes, redirectUri, refreshOf, register, signIn, startServer, tokenFor } from './rig.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { ofTest } from '../../support/lasting.ts';

const folder = temporaryFolder(afterAll);

describe('a server with a database', () => {
  it('AS-25: goes on after a restart, and its file holds no refresh token', async () => {
    const file = path.join(folder, 'server.db');
    const storage = sqliteStorage(file);
    const rig = await startServer({ storage });
    const { body } = await signIn(rig);
    const refresh = String(body['refresh_token']);
    await rig.close();
    await storage.close();
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(file).includes(refresh)).toBe(false);
    const again = sqliteStorage(file);
    // Another port is another issuer; what counts is that the store still knows the token.
    const next = await startServer({ storage: again });
    expect((await tokenFor(next, refreshOf(refresh))).status).toBe(200);
    await next.close();
    await again.close();
  });

  it('AS-26: keeps secrets unreadable in a sealed storage, and accepts a new key', async () => {
    const file = path.join(folder, 'sealed.db');
    const [older, newer] = ['older', 'newer'].map((id) => ({ id, key: new Uint8Array(randomBytes(32)) }));
    if (!older || !newer) throw new Error('two keys');
    const below = sqliteStorage(file);
    const storage = sealedStorage(below, [older]);
    const rig = await startServer({ storage });
    const asked = { redirect_uris: [redirectUri], token_endpoint_auth_method: 'client_secret_post' };
    const clientSecret = String((await register(rig, asked)).body['client_secret']);
    const [key] = await storage.list('SigningKey');
    const privatePart = z.object({ key: z.object({ d: z.string() }) }).parse(key?.item.payload).key.d;
    const pages = z.record(z.string(), z.string()).parse((await storage.get('Secret', 'pages'))?.payload);
    const { body } = await signIn(rig);
    await rig.close();
    await storage.close();
    const lying = readFileSync(file).toString('latin1') + readFileSync(file, 'utf16le');
    for (const secret of [clientSecret, privatePart, ...Object.values(pages)])
      expect(lying.includes(secret)).toBe(false);
    const again = sealedStorage(sqliteStorage(file), [newer, older]);
    const next = await startServer({ storage: again });
    const answer = await tokenFor(next, refreshOf(body['refresh_token']));
    expect(answer.status).toBe(200);
    expect(decodeProtectedHeader(String(answer.body['access_token'])).kid).toBe(
      decodeProtectedHeader(String(body['access_token'])).kid,
    );
    await next.close();
    await again.close();
    const unsealed = sqliteStorage(file);
    await expect(startServer({ storage: unsealed })).rejects.toThrow('what it holds was sealed');
    await unsealed.close();
  });
});

it('a key change that fails once is tried again at the next request', async () => {
  let now = Date.now();
  let isBroken = false;
  const storage = memoryStorage();
  const list: Storage['list'] = async (kind) => {
    if (isBroken) throw new Error('the storage is away');
    return storage.list(kind);
  };
  const rig = await ofTest(startServer({ keyRotation: 3600, now: () => now, storage: { ...storage, list } }));
  now += 3600 * 1000;
  isBroken = true;
  expect((await rig.request('/jwks')).status).toBe(500);
  isBroken = false;
  expect((await rig.request('/jwks')).status).toBe(200);
});

it('a client assertion is used up once though two requests found it unused', async () => {
  const { errors } = await loadOidcProvider();
  const shared = { storage: memoryStorage(), errors, now: Date.now };
  const parts = { ...shared, askedResource: () => undefined, onReplay: () => undefined, graceSeconds: 0 };
  const adapter = adapterFor(parts)('ReplayDetection');
  await adapter.upsert('one', { iss: 'robot' }, 60);
  await expect(adapter.upsert('one', { iss: 'robot' }, 60)).rejects.toThrow('invalid_client');
});

describe('a signing key', () => {
  it('AS-24: is published before it signs, until the last token it signed has ended', async () => {
    const storage = memoryStorage();
    let now = 0;
    const keysAt = async (seconds: number) => {
      now = seconds * 1000;
      const { keys } = await signingKeys(storage, { rotation: 1000, longestToken: 300, now: () => now });
      return keys.map((key) => String(key['kid']));
    };
    const [first, second] = await keysAt(0);
    expect(await keysAt(999)).toEqual([first, second]);
    const later = await keysAt(1000);
    expect(later[0]).toBe(second);
    expect(later).toContain(first);
    const [, third] = later.filter((kid) => kid !== first);
    expect(await keysAt(1300)).toContain(first);
    expect(await keysAt(1301)).toEqual([second, third]);
  });

  it('AS-24: is replaced by the present rotation, also if an earlier one was longer', async () => {
    const storage = memoryStorage();
    const keysAt = async (seconds: number, rotation: number) => {
      const set = await signingKeys(storage, { rotation, longestToken: 300, now: () => seconds * 1000 });
      return { ...set, names: set.keys.map((key) => String(key['kid'])) };
    };
    const [first, second] = (await keysAt(0, 9000)).names;
    const shorter = await keysAt(5000, 1000);
    expect([shorter.names[0], shorter.names[2], shorter.changesAt]).toEqual([second, first, 6000]);
    expect((await keysAt(5300, 1000)).names).toContain(first);
    // What signs goes on where the rotation is longer again.
    const longer = await keysAt(5301, 9000);
    expect([longer.names, longer.changesAt]).toEqual([shorter.names.slice(0, 2), 14_000]);
  });

  it('is the same for two processes that start at the same time on one storage', async () => {
    const storage = memoryStorage();
    const times = { rotation: 1000, longestToken: 300, now: () => 0 };
    // Both looked before either of them made a key.
    const late = { ...storage, list: async () => [] };
    const first = await signingKeys(storage, times);
    expect(await signingKeys(late, times)).toEqual(first);
    expect(await signingKeys(storage, times)).toEqual(first);
  });

  it('AS-24: is replaced while the server runs', async () => {
    let now = Date.now();
    const rig = await ofTest(startServer({ keyRotation: 3600, now: () => now }));
    const before = decodeProtectedHeader(String((await signIn(rig)).body['access_token'])).kid;
    now += 3600 * 1000;
    const after = decodeProtectedHeader(String((await signIn(rig)).body['access_token'])).kid;
    expect(after).not.toBe(before);
    const { keys } = (await (await rig.request('/jwks')).json()) as { keys: { kid: string }[] };
    expect(keys.map(({ kid }) => kid)).toEqual(expect.arrayContaining([before, after]));
  });
});

describe('an authorization server', () => {
  const accounts = { signIn: () => ({ account: 'alice' }), isKnown: () => true };
  const good = {
    issuer: 'https://127.0.0.1:4712',
    resources: [{ resource: notes, scopes: { 'notes:read': 'Read your notes' } }],
    accounts: developmentLogin(['alice']),
  };

  const of = (changes: object) => ({ resources: [{ resource: notes, scopes: {}, ...changes }] });
  const to = (uri: string) => ({ clients: [{ clientId: 'a', redirectUris: [uri] }] });
  it.each<[string, string, object]>([
    ...[
      'http://login.example',
      'https://127.0.0.1:4712/',
      'https://LOCALHOST:4712',
      'https://localhost/a/../b',
    ].map((issuer): [string, string, object] => [`the issuer ${issuer}`, 'issuer', { issuer }]),
    ['no resource', 'resources', { resources: [] }],
    ['a resource with a query', 'resources.resource', of({ resource: `${notes}?a=1` })],
    ['a resource in another spelling', 'resources.resource', of({ resource: 'https://NOTES.example/mcp' })],
    ['a machine without keys', 'clients.isMachine', { clients: [{ clientId: 'robot', isMachine: true }] }],
    [
      'a client with unknown scopes',
      'clients.scopes',
      { clients: [{ clientId: 'a', scopes: ['nots:read'] }] },
    ],
    ['tokens of a day', 'lifetimes.accessToken', { lifetimes: { accessToken: 86_400 } }],
    ['sign-in by name only on another machine', 'accounts', { issuer: 'https://login.example' }],
    [
      'a readable database at an issuer that others reach',
      'storage',
      { issuer: 'https://login.example', accounts, storage: { ...memoryStorage(), atRest: 'readable' } },
    ],
    ['no storage at an issuer that others reach', 'storage', { issuer: 'https://login.example', accounts }],
    ['an option that it doesn’t know', '', { surprise: true }],
    ['a script', 'clients.redirectUris', to('javascript:x()')],
    ['a redirect over plain http elsewhere', 'clients.redirectUris', to('http://evil.example/callback')],
    ['a private key', 'clients.keys', { clients: [{ clientId: 'a', keys: [{ kty: 'EC', d: 'x' }] }] }],
    [
      'keys of a provider over plain http',
      'assertionProviders.jwksUri',
      {
        assertionProviders: [
          { issuer: 'https://i.example', jwksUri: 'http://i.example/jwks', accountFor: () => 'a' },
        ],
      },
    ],
    ['a host of documents that is a URL', 'clientDocuments', { clientDocuments: ['https://app.example'] }],
  ])('AS-22 AS-26: does not start with %s, and names the option', async (_what, name, changes) => {
    await expect(authorizationServer({ ...good, ...changes })).rejects.toThrow(
      new RegExp(`The option ${`${name} of`.trim()} authorizationServer .*[^.]\\.$`),
    );
  });

  it.each<[string, object]>([
    ['it is a Promise: write await before it', { storage: Promise.resolve(memoryStorage()) }],
    ['expected one of "open"|"off", or expected {initialAccessToken}', { registration: true }],
  ])('says what to write: %s', async (words, changes) => {
    await expect(authorizationServer({ ...good, ...changes })).rejects.toThrow(words);
  });

  it('AS-26: keeps everything in memory at an issuer that others reach, if that is written', async () => {
    const options = { ...good, issuer: 'https://login.example', accounts, storage: memoryStorage() };
    await (await authorizationServer(options)).close();
  });
});
