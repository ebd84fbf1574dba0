/**
 * Brokers that stop in the middle of a sign-in or a revocation, before each call of the vault in turn: the sign-in of
 * before is whole, or the new one is, and the document names every item.
 */
import { describe, expect, it } from 'vitest';
import { retryRevocation, isPending, revokeSignIn } from '../../../src/broker/revocation/revoker.ts';
import { namedItems } from '../../support/homes/named-items.ts';
import { brokerRig, usedRig, inWorld, type Rig } from '../rig.ts';
import { worldOfFile } from '../places.ts';
import { stoppingVault } from '../stopping-vault.ts';

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
