/** A pause of all access in the vault and in the audit log, also where these fail. */
import { describe, expect, it } from 'vitest';
import { KeyturnError } from '../../../src/base/errors.ts';
import { AccessPause } from '../../../src/broker/refusals/access-pause.ts';
import type { Pause } from '../../../src/broker/records/pause.ts';
import { KeptPause } from '../../../src/daemon/home/kept-pause.ts';
import { vaultMethods } from '../../../src/daemon/methods/vault-methods.ts';
import type { Services } from '../../../src/daemon/methods/services.ts';
import type { Caller } from '../../../src/ipc/server/server.ts';
import { VaultError } from '../../../src/vault/base/trouble.ts';

/** The method asks nothing of its caller. */
const nobody = {} as Caller;

function stage() {
  const pause = new AccessPause(() => scene.now);
  /** What the document got, in order. */
  const stored: (Pause | undefined)[] = [];
  const note = (row: { outcome: string }): void => void scene.rows.push(row.outcome);
  const kept = new KeptPause({
    pause,
    access: {
      get items() {
        return [{ pause: stored.at(-1) }];
      },
      change: async (edit) => {
        if (scene.trouble) throw scene.trouble;
        stored.push(edit([])[0]?.pause);
      },
    },
    document: {
      isJudged: false,
      get isHeld() {
        return scene.isHeld;
      },
    },
    audit: { note, record: async (row) => note(row) },
    clock: { wall: () => scene.now },
    changed: () => void (scene.ends += 1),
  });
  const scene = {
    pause,
    kept,
    stored,
    rows: [] as string[],
    now: 1000,
    trouble: undefined as KeyturnError | undefined,
    ends: 0,
    isHeld: false,
  };
  return scene;
}

describe('a pause that the owner begins', () => {
  it('ends open requests before the vault has it, and if it can’t keep it', async () => {
    const scene = stage();
    scene.trouble = new VaultError('locked', 'the vault is locked');
    const seen: boolean[] = [];
    const services = { pause: scene.kept, changed: () => seen.push(scene.pause.current !== undefined) };
    const paused = vaultMethods['pause'](services as unknown as Services, nobody, {});
    expect(seen).toEqual([true]);
    await expect(paused).rejects.toMatchObject({ reason: 'locked' });
  });

  it('stands in vault and broker if it begins while an earlier one is ended', async () => {
    const { kept, pause, stored } = stage();
    await kept.begin();
    await Promise.all([kept.end(), kept.begin()]);
    expect([pause.current, stored.at(-1)]).toEqual([{ since: 1000 }, { since: 1000 }]);
  });

  it('stands at the next start, and a start pauses if something could not be stored', async () => {
    const before = stage();
    await before.kept.begin();
    before.pause.end();
    before.kept.restore();
    expect(before.pause.current).toEqual({ since: 1000 });
    const held = stage();
    held.isHeld = true;
    held.kept.restore();
    expect(held.pause.current).toEqual({ since: 1000 });
    await expect.poll(() => held.stored).toEqual([{ since: 1000 }]);
  });
});
