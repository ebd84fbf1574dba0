/**
 * Brokers that stop before each call of the vault in turn, in the middle of a sign-in, a revocation, or a change of an API
 * key or of a client's secret: the document names every item that is left, and the next broker deletes the others.
 */
import { describe, expect, it } from 'vitest';
import { ApiKeys } from '../../../src/broker/records/api-key.ts';
import { Registrations } from '../../../src/broker/records/registrations.ts';
import type { Vault } from '../../../src/vault/base/vault.ts';
import { lastingVault, startOn } from '../../support/homes/authority-home.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { brokerRig, inWorld, itemsOf, type Rig, usedRig } from '../rig.ts';
import { isPending, retryRevocation, revokeSignIn } from '../../../src/broker/revocation/revoker.ts';
import { namedItems } from '../../support/homes/named-items.ts';
import { worldOfFile } from '../places.ts';

/** After `arm`, the broker stops before its call number `calls`: `stopped` resolves then, and the call waits for `release`. */
function stoppingVault(calls: number) {
  const { promise: stopped, resolve: stop } = Promise.withResolvers<'stopped'>();
  const end = Promise.withResolvers<never>();
  end.promise.catch(() => undefined);
  let left = Infinity;
  const counted = async <R>(call: () => Promise<R>): Promise<R> => {
    left -= 1;
    if (left >= 0) return call();
    stop('stopped');
    return end.promise;
  };
  const front = (vault: Vault): Vault => ({
    ...vault,
    get: (name) => counted(() => vault.get(name)),
    set: (name, text) => counted(() => vault.set(name, text)),
    delete: (name) => counted(() => vault.delete(name)),
    replace: (name, before, after) => counted(() => vault.replace(name, before, after)),
  });
  const release = (): void => end.reject(new Error('the broker was stopped'));
  return { front, stopped, arm: () => (left = calls), release };
}

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

it.each<[string, Change[], Change]>([
  ['the first key is set', [], setKey],
  ['a key is set again', [setKey], setKey],
  ['a key is set in another header', [setKey], replaceKey],
  ['a key is removed', [setKey], removeKey],
  ['a client is entered', [], enter],
  ['a client gets another secret', [enter], changed('more')],
  ['a client loses its secret', [enter], changed(undefined)],
  ['a client is removed', [enter], forget],
])('a broker that stops while %s leaves no unnamed item', async (_when, before, change) => {
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
});

const world = worldOfFile();

const hour = 3_600_000;
const never = { interaction: 'never' } as const;

/** The items of sign-ins that the vault has. */
function present({ vault }: Rig): string[] {
  const items = new Set<string>();
  for (const [call, name = ''] of vault.done.map((one) => one.split(' '))) {
    if (call === 'set') items.add(name);
    else items.delete(name);
  }
  return [...items].filter((name) => name.startsWith('s-')).toSorted();
}

/** Stops a broker with one sign-in before each call of `change`, and starts the next one. */
async function afterEachStop(
  change: (rig: Rig) => Promise<unknown>,
  check: (next: Rig, before: string) => Promise<void>,
): Promise<void> {
  for (let calls = 0; ; calls += 1) {
    const { front, stopped, arm, release } = stoppingVault(calls);
    const rig = await usedRig(inWorld(world), { front, documentFront: front });
    const { item = '' } = rig.signIn();
    arm();
    const isDone = change(rig).then(
      () => 'done' as const,
      () => 'refused' as const,
    );
    const end = await Promise.race([isDone, stopped]);
    const which = `before call ${calls + 1}`;
    try {
      const next = await brokerRig(inWorld(world), { after: rig });
      expect(namedItems(rig.folder), which).toEqual(expect.arrayContaining(present(next)));
      await check(next, item);
      await next.parts.items.tidy();
      expect(present(next), which).toEqual(namedItems(rig.folder).toSorted());
    } finally {
      release();
      await isDone;
    }
    if (end === 'done') return expect(calls).toBeGreaterThan(1);
  }
}

describe('a broker that stops', () => {
  it('during a sign-in leaves the sign-in of before whole, or the new one', async () => {
    await afterEachStop(
      (rig) => rig.login(),
      async (next, before) => {
        const { item, earlier = [] } = next.signIn();
        expect([item, ...earlier.map((one) => one.item)]).toContain(before);
        expect(present(next)).toContain(item);
        next.clock.advance(hour);
        expect((await next.ask(never)).accessToken).toBeTypeOf('string');
      },
    );
  });

  it('during a revocation has ended the sign-in, and the next one tells the server', async () => {
    await afterEachStop(
      (rig) => revokeSignIn(rig.parts, rig.signIn()),
      async (next) => {
        const signIn = next.signIn();
        // It was stopped before the document could say so: nothing was answered.
        if (signIn.state.kind === 'active') return;
        if (isPending(signIn)) await retryRevocation(next.parts, signIn);
        expect(next.signIn().state).toMatchObject({ kind: 'revoked', receipt: 'confirmed' });
        await next.parts.items.tidy();
        expect(present(next)).toEqual([]);
      },
    );
  });
});
