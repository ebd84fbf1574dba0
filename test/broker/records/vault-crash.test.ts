/**
 * Brokers that stop in the middle of a change of an API key or of a client's secret, before each call of the vault in
 * turn: nothing is left that a reset would miss, or that stays when the next broker has tidied up.
 */
import { describe, expect, it } from 'vitest';
import { ApiKeys, apiKeyVaultId } from '../../../src/broker/records/api-key.ts';
import { Registrations, registrationVaultId } from '../../../src/broker/records/registrations.ts';
import { keyRosterItem } from '../../../src/broker/records/vault-roster.ts';
import type { Vault } from '../../../src/vault/base/vault.ts';
import { lastingVault, startOn } from '../../support/homes/authority-home.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const place = { endpoint: 'https://tickets.example/mcp', header: 'X-Api-Key' };
const elsewhere = { ...place, header: 'Authorization' };

/** A vault that outlives its brokers, and the names of its items that begin so. */
function watchedVault(prefix = 'key.') {
  const vault = lastingVault();
  const items = new Set<string>();
  const noting: Vault = {
    ...vault,
    set: async (id, text) => {
      await vault.set(id, text);
      items.add(id);
    },
    delete: async (id) => {
      await vault.delete(id);
      items.delete(id);
    },
  };
  return { vault: noting, values: () => [...items].filter((id) => id.startsWith(prefix)).toSorted() };
}

/** The vault for a broker that stops: after `arm`, before its call number `calls`. `stopped` resolves then. */
function vaultFor(calls: number, vault: Vault) {
  const { promise: stopped, resolve: stop } = Promise.withResolvers<'stopped'>();
  let left = Infinity;
  const counted = async <R>(call: () => Promise<R>): Promise<R> => {
    left -= 1;
    if (left >= 0) return call();
    stop('stopped');
    return new Promise(() => undefined);
  };
  const broken: Vault = {
    ...vault,
    get: (id) => counted(() => vault.get(id)),
    set: (id, text) => counted(() => vault.set(id, text)),
    delete: (id) => counted(() => vault.delete(id)),
  };
  return { broken, stopped, arm: () => (left = calls) };
}

/** A broker's keys, after the first verification. */
async function keysOn(folder: string, vault: Vault): Promise<ApiKeys> {
  const broker = await startOn(folder, vault);
  expect(broker.troubles()).toEqual([]);
  return new ApiKeys(broker.records.keys, vault);
}

type Change = (keys: ApiKeys) => Promise<unknown>;

const set: Change = (keys) => keys.set(place, 'first', { setAt: 1 });
const replace: Change = (keys) => keys.set(elsewhere, 'second', { setAt: 2 });
const remove: Change = async (keys) => {
  const key = keys.for(place.endpoint);
  if (key) await keys.remove(key);
};

describe('a broker that stops', () => {
  it.each<[string, Change[], Change]>([
    ['the first key is set', [], set],
    ['a key is set anew', [set], set],
    ['a key is set in another header', [set], replace],
    ['a key is removed', [set], remove],
  ])(
    'a broker that stops while %s leaves no value that a reset misses or the next broker keeps',
    async (_when, before, change) => {
      for (let calls = 0; ; calls += 1) {
        const [folder, { vault, values }] = [temporaryFolder(), watchedVault()];
        for (const earlier of before) await earlier(await keysOn(folder, vault));
        const { broken, stopped, arm } = vaultFor(calls, vault);
        const keys = await keysOn(folder, broken);
        arm();
        const isDone = change(keys).then(() => 'done' as const);
        const end = await Promise.race([isDone, stopped]);
        const next = await keysOn(folder, vault);
        const { ids, isWhole } = await next.known();
        expect([isWhole, ids.map(apiKeyVaultId)], `before call ${calls + 1}`).toEqual([
          true,
          expect.arrayContaining(values()),
        ]);
        await next.tidy();
        expect(values(), `before call ${calls + 1}`).toEqual(next.shown().map(({ id }) => apiKeyVaultId(id)));
        for (const key of next.shown()) await next.read(key);
        if (end === 'done') return expect(calls).toBeGreaterThan(1);
      }
    },
  );
});

const issuer = 'https://login.example';

async function registrationsOn(folder: string, vault: Vault): Promise<Registrations> {
  const { records } = await startOn(folder, vault);
  return new Registrations(records.registrations, vault);
}

const registration = {
  issuer,
  clientId: 'c',
  source: 'preregistered',
  tokenEndpointAuthMethod: 'client_secret_basic',
  redirectUri: 'http://127.0.0.1/callback',
  registeredAt: 0,
} as const;

type ClientChange = (registrations: Registrations) => Promise<unknown>;

const enter: ClientChange = async (all) => all.add(registration, 'hush');
const changed = (secret: string | undefined): ClientChange => {
  return async (all) => {
    const [record] = all.all();
    if (record) await all.renew(record, registration, secret, {});
  };
};
const forget: ClientChange = async (all) => {
  const [record] = all.all();
  if (record) await all.remove(record);
};

it.each<[string, ClientChange[], ClientChange]>([
  ['a client is entered', [], enter],
  ['a client gets another secret', [enter], changed('more')],
  ['a client loses its secret', [enter], changed(undefined)],
  ['a client is removed', [enter], forget],
])(
  'a broker that stops while %s leaves no secret that a reset misses or the next change keeps',
  async (_when, before, change) => {
    for (let calls = 0; ; calls += 1) {
      const [folder, { vault, values }] = [temporaryFolder(), watchedVault('registration.')];
      for (const earlier of before) await earlier(await registrationsOn(folder, vault));
      const { broken, stopped, arm } = vaultFor(calls, vault);
      const registrations = await registrationsOn(folder, broken);
      arm();
      const isDone = change(registrations).then(() => 'done' as const);
      const end = await Promise.race([isDone, stopped]);
      const next = await registrationsOn(folder, vault);
      const { ids, isWhole } = await next.known();
      expect([isWhole, ids.map(registrationVaultId)], `before call ${calls + 1}`).toEqual([
        true,
        expect.arrayContaining(values()),
      ]);
      // The next change of any secret tidies up.
      await next.remove(await next.add(registration, 'other'));
      const named = next.all().filter(({ hasSecret }) => hasSecret);
      expect(values(), `before call ${calls + 1}`).toEqual(named.map(({ id }) => registrationVaultId(id)));
      if (end === 'done') return expect(calls).toBeGreaterThan(1);
    }
  },
);

describe('a list of keys that can’t be read', () => {
  it('an unreadable list of keys doesn’t count as no list: a reset says that values may be left', async () => {
    const [folder, { vault }] = [temporaryFolder(), watchedVault()];
    await set(await keysOn(folder, vault));
    await vault.set(keyRosterItem, JSON.stringify({ version: 99, ids: ['unknown'] }));
    const { ids, isWhole } = await (await keysOn(folder, vault)).known();
    expect({ count: ids.length, isWhole }).toEqual({ count: 1, isWhole: false });
  });
});
