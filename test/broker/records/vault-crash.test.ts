/**
 * Brokers that stop in the middle of a change of an API key or of a client's secret, before each call of the vault in
 * turn: the document names every item that is left, and the next broker deletes those that no record has.
 */
import { describe, expect, it } from 'vitest';
import { ApiKeys } from '../../../src/broker/records/api-key.ts';
import { Registrations } from '../../../src/broker/records/registrations.ts';
import type { Vault } from '../../../src/vault/base/vault.ts';
import { lastingVault, startOn } from '../../support/homes/authority-home.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { itemsOf } from '../rig.ts';
import { stoppingVault } from '../stopping-vault.ts';

/** A vault that outlives its brokers, and the names of its items that the document has to name. */
function watchedVault() {
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
  return { vault: noting, values: () => [...items].filter((id) => /^[kc]-/.test(id)).toSorted() };
}

/** What a broker has of its home, after the first verification. */
async function brokerOn(folder: string, vault: Vault) {
  const { records } = await startOn(folder, vault);
  expect(records.document.trouble).toBeUndefined();
  const items = itemsOf(records, vault);
  return {
    records,
    items,
    keys: new ApiKeys(records.keys, items),
    clients: new Registrations(records.registrations, items),
  };
}

type Change = (broker: Awaited<ReturnType<typeof brokerOn>>) => Promise<unknown>;

const place = { endpoint: 'https://tickets.example/mcp', header: 'X-Api-Key' };
const setKey: Change = ({ keys }) => keys.set(place, 'first', { setAt: 1 });
const replaceKey: Change = ({ keys }) =>
  keys.set({ ...place, header: 'Authorization' }, 'second', { setAt: 2 });
const removeKey: Change = async ({ keys }) => {
  const key = keys.for(place.endpoint);
  if (key) await keys.remove(key);
};

const registration = {
  issuer: 'https://login.example',
  clientId: 'c',
  source: 'preregistered',
  tokenEndpointAuthMethod: 'client_secret_basic',
  redirectUri: 'http://127.0.0.1/callback',
  registeredAt: 0,
} as const;

const enter: Change = async ({ clients }) => clients.add(registration, 'hush');
const changed = (secret: string | undefined): Change => {
  return async ({ clients }) => {
    const [record] = clients.all();
    if (record) await clients.renew(record, registration, secret, {});
  };
};
const forget: Change = async ({ clients }) => {
  const [record] = clients.all();
  if (record) await clients.remove(record);
};

describe('a broker that stops', () => {
  it.each<[string, Change[], Change]>([
    ['the first key is set', [], setKey],
    ['a key is set again', [setKey], setKey],
    ['a key is set in another header', [setKey], replaceKey],
    ['a key is removed', [setKey], removeKey],
    ['a client is entered', [], enter],
    ['a client gets another secret', [enter], changed('more')],
    ['a client loses its secret', [enter], changed(undefined)],
    ['a client is removed', [enter], forget],
  ])(
    'while %s leaves no item that the document doesn’t name or the next broker keeps',
    async (_when, before, change) => {
      for (let calls = 0; ; calls += 1) {
        const [folder, { vault, values }] = [temporaryFolder(), watchedVault()];
        for (const earlier of before) await earlier(await brokerOn(folder, vault));
        const { front, stopped, arm } = stoppingVault(calls);
        const broker = await brokerOn(folder, front(vault));
        arm();
        const isDone = change(broker).then(() => 'done' as const);
        const end = await Promise.race([isDone, stopped]);
        const next = await brokerOn(folder, vault);
        const { document, unused } = next.records;
        const named = [...document.itemNames, ...unused.items.map(({ name }) => name)];
        expect(named, `before call ${calls + 1}`).toEqual(expect.arrayContaining(values()));
        await next.items.tidy();
        expect(values(), `before call ${calls + 1}`).toEqual([...document.itemNames].toSorted());
        expect(unused.items).toEqual([]);
        for (const key of next.keys.shown()) await next.keys.read(key);
        for (const client of next.clients.all()) await next.clients.secret(client);
        if (end === 'done') return expect(calls).toBeGreaterThan(1);
      }
    },
  );
});
