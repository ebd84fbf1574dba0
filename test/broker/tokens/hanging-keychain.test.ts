/** A keychain that waits for a user at one call: each act answers, no second prompt opens meanwhile, and nothing is lost. */
import { expect, it } from 'vitest';
import { VaultWatch } from '../../../src/vault/base/watch.ts';
import { VaultGuard } from '../../../src/vault/guard.ts';
import { newItemName } from '../../../src/store/unused-items.ts';
import { scriptedKeychain } from '../../vault/keychain/scripted-worker.ts';
import { closedLater, keychainVault } from '../../vault/vaults.ts';
import { HandClock } from '../hand-clock.ts';
import { brokerRig, inWorld, type Rig } from '../rig.ts';
import { worldOfFile } from '../places.ts';

const world = worldOfFile();

const hour = 3_600_000;

/** A home over a keychain by script, in which `editor` had a token. */
async function scriptedHome() {
  const [keychain, clock] = [scriptedKeychain(), new HandClock()];
  const watch = new VaultWatch(() => clock.now());
  const options = { service: 'scripted', spawnWorker: keychain.spawn, watch, timeouts: { call: 20 } };
  const start = async (after?: Rig): Promise<Rig> => {
    const vault = new VaultGuard(closedLater(keychainVault(options)), watch);
    const front = { front: () => vault, documentFront: () => vault };
    return brokerRig(inWorld(world), after ? { ...front, after } : front);
  };
  const rig = await start();
  await rig.allow();
  await rig.ask();
  rig.clock.advance(hour);
  keychain.asked.length = 0;
  let second: Rig | undefined;
  const next = async (): Promise<Rig> => (second ??= await start(rig));
  return { rig, start, next, keychain, clock };
}

const token = async (rig: Rig): Promise<unknown> => rig.ask({ interaction: 'never' });

/** With the number of its calls. */
const acts = [
  ['a start and a first token', 6, async (_: Rig, next: () => Promise<Rig>) => token(await next())],
  ['a refresh', 4, token],
  ['a change', 3, (rig: Rig) => rig.allow('agent')],
] as const;
const table = acts.flatMap(([what, calls, act]) =>
  Array.from({ length: calls }, (_, n) => [n + 1, what, act] as const),
);

it.each(table)('at call %d of %s', async (call, _what, act) => {
  const { rig, start, next, keychain, clock } = await scriptedHome();
  const before = world.counts().authorizationServer;
  keychain.act = () => (keychain.asked.length === call ? 'hang' : 'obey');
  await act(rig, next).catch((error: unknown) => expect(error).toMatchObject({ reason: 'locked' }));
  await act(rig, next).catch((error: unknown) => expect(error).toMatchObject({ reason: 'locked' }));
  await expect(rig.parts.vault.get(rig.signIn().item ?? '')).rejects.toMatchObject({ reason: 'locked' });
  expect(keychain.asked).toHaveLength(call);
  keychain.act = () => 'obey';
  clock.advance(10_000);
  await act(rig, next);
  await token(await start(rig));
  expect(rig.signIn().state).toEqual({ kind: 'active' });
  const after = world.counts().authorizationServer;
  expect([after.refreshReuses, after.signIns]).toEqual([before.refreshReuses, before.signIns]);
});

it.each(acts)('no more calls: %s takes %d', async (_what, calls, act) => {
  const { rig, next, keychain } = await scriptedHome();
  await act(rig, next);
  expect(keychain.asked).toHaveLength(calls);
});

it.each([1, 300])('a start and a first token read three items with %d sign-ins', async (count) => {
  const { rig, start, keychain } = await scriptedHome();
  const first = rig.signIn();
  const { id: _, ...fields } = first;
  const others = Array.from({ length: count - 1 }, (_one, n) => {
    const resource = `https://s${n}.example/mcp`;
    return rig.parts.signIns.add({ ...fields, resource, endpoints: [resource], item: newItemName('s') });
  });
  await Promise.all(others);
  keychain.asked.length = 0;
  await token(await start(rig));
  const asked = keychain.asked.map((one) => `${one.op} ${'account' in one ? one.account : ''}`);
  const refresh = ['get newest', `get ${first.item}`, `set ${first.item}`, `set ${first.item}`];
  expect(asked).toEqual(['get root', 'get newest', ...refresh]);
});
