/** A home with 10,000 sign-ins in a folder: a refresh does not hold up the event loop. KEYTURN_SOAK_SIGN_INS: how many. */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { expect, onTestFinished, test } from 'vitest';
import type { SignIn } from '../../src/broker/records/sign-in.ts';
import { newItemName } from '../../src/store/unused-items.ts';
import { brokerRig, inWorld } from '../broker/rig.ts';
import { openWorld } from '../support/world.ts';
import { memoryKeychain } from '../vault/doubles.ts';
import { newPlace, sealedVault } from '../vault/vaults.ts';
import { numberFrom, report } from './report.ts';

const count = numberFrom('KEYTURN_SOAK_SIGN_INS', 10_000);
const refreshes = 50;

/** Milliseconds that nine in ten refreshes may hold up the event loop: one in ten is left to a busy machine. */
const bound = 50;

const another = (signIn: SignIn, n: number): SignIn => ({
  ...signIn,
  id: n.toString(16).padStart(16, '0'),
  item: newItemName('s'),
  resource: `https://s${n}.example/mcp`,
  endpoints: [`https://s${n}.example/mcp`],
});

async function took(work: () => Promise<unknown>): Promise<number> {
  const from = performance.now();
  await work();
  return Math.round(performance.now() - from);
}

test('a refresh among many sign-ins holds nothing up', async () => {
  const world = await openWorld();
  onTestFinished(() => world.close());
  const [place, keychain] = [newPlace(), memoryKeychain()];
  const front = { front: () => sealedVault(place, keychain) };
  const first = await brokerRig(inWorld(world), front);
  await first.allow();
  await first.ask();
  const signIn = first.signIn();
  const copies = Array.from({ length: count - 1 }, (_, n) => another(signIn, n));
  await first.parts.document.change((state) => new Map(state).set('signIns', [signIn, ...copies]));
  const sealed = readFileSync(path.join(place, signIn.item ?? ''));
  for (const { item = '' } of copies) writeFileSync(path.join(place, item), sealed, { mode: 0o600 });

  let rig = first;
  const start = await took(async () => (rig = await brokerRig(inWorld(world), { ...front, after: first })));
  const list = await took(async () => expect(rig.parts.signIns.shown()).toHaveLength(count));
  const delay = monitorEventLoopDelay({ resolution: 1 });
  const refreshed: number[] = [];
  const held: number[] = [];
  for (let n = 0; n < refreshes; n += 1) {
    rig.clock.advance(3_600_000);
    delay.reset();
    delay.enable();
    refreshed.push(await took(() => rig.ask({ interaction: 'never' })));
    delay.disable();
    held.push(Math.round(delay.max / 1e6));
  }
  const second = await took(() => rig.login({ account: 'second' }));
  held.sort((a, b) => a - b);
  const heldUp = held[Math.floor(refreshes * 0.9)] ?? 0;
  const refresh = Math.max(...refreshed);
  report('many-sign-ins', {
    signIns: count,
    start,
    list,
    refresh,
    heldUp,
    longestHeldUp: Math.max(...held),
    signIn: second,
  });
  expect(heldUp).toBeLessThan(bound);
});
