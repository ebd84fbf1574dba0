/** The list of grants in the vault, and the comparison of every line in the background. */
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GrantRoster } from '../../../src/broker/grants/grant-roster.ts';
import { IndexSweep } from '../../../src/broker/grants/index-sweep.ts';
import { revokeGrant } from '../../../src/broker/revocation/revoker.ts';
import { openSite } from '../../oauth/site.ts';
import type { Site } from '../../oauth/site.ts';
import { oddServer } from '../odd-server.ts';
import { brokerRig, refusal } from '../rig.ts';
import type { Rig } from '../rig.ts';

let site: Site;
beforeAll(async () => {
  site = await openSite();
});
afterAll(() => site.close());

const indexOf = ({ folder }: Rig): string => path.join(folder, 'grants.jsonl');

/** Two accounts, and the broker after a restart. `between` is what happens to the home meanwhile. */
async function restarted(between: (rig: Rig) => void | Promise<void>): Promise<Rig> {
  const server = oddServer(site, { scopesSupported: ['read'] });
  const rig = await brokerRig(server);
  await rig.allow();
  await rig.login({ account: 'home' });
  await rig.login({ account: 'work' });
  await between(rig);
  return brokerRig(server, { after: rig });
}

async function swept(rig: Rig): Promise<void> {
  const sweep = new IndexSweep(rig.parts);
  sweep.answered();
  // The present grant is finished; only a second round of it sees whether there is more.
  while (rig.parts.refresher.secrets.comparison.checked < rig.parts.grants.all().length) {
    await new Promise((resolve) => setImmediate(resolve));
  }
  await sweep.end();
}

const accounts = (rig: Rig): string[] => rig.parts.grants.all().map(({ account }) => account);

function renamed(rig: Rig): void {
  for (const grant of rig.parts.grants.all()) {
    const put = { ...grant, account: 'mallory', generation: grant.generation + 1 };
    appendFileSync(indexOf(rig), `${JSON.stringify({ put })}\n`);
  }
}

describe('the comparison in the background', () => {
  it('the comparison in the background mends lines that no request asks for', async () => {
    const rig = await restarted(renamed);
    expect(accounts(rig)).toEqual(['mallory', 'mallory']);
    await swept(rig);
    expect(accounts(rig)).toEqual(['home', 'work']);
    expect(readFileSync(indexOf(rig), 'utf8').trimEnd().split('\n').at(-1)).toContain('"work"');
  });

  it('the comparison in the background finds a revocation that only the vault has', async () => {
    const rig = await restarted(async (before) => {
      const index = readFileSync(indexOf(before));
      site.lay('/revoke', { status: 503 });
      const [grant] = before.parts.grants.all();
      if (grant) await revokeGrant(before.parts, grant);
      writeFileSync(indexOf(before), index);
    });
    await swept(rig);
    expect(rig.parts.grants.all().map(({ state }) => state.kind)).toEqual(['revoked', 'active']);
  });

  it('the comparison in the background stops when the vault stops answering, and does not count as a refresh', async () => {
    const rig = await restarted(renamed);
    const sweep = new IndexSweep(rig.parts);
    sweep.answered();
    sweep.failed();
    expect(rig.parts.refresher.turns.isAnyTaken).toBe(false);
    await sweep.end();
    expect(rig.parts.refresher.secrets.comparison.checked).toBeLessThan(2);
  });

  it('the comparison in the background reads nothing once it was ended', async () => {
    const rig = await restarted(renamed);
    const sweep = new IndexSweep(rig.parts);
    await sweep.end();
    sweep.answered();
    await sweep.end();
    expect(rig.parts.refresher.secrets.comparison.checked).toBe(0);
  });
});

describe('the list of grants in the vault', () => {
  it('the list of grants in the vault keeps grants that are added at the same time', async () => {
    const { vault } = await restarted(() => undefined);
    const roster = new GrantRoster(vault);
    const ids = ['a', 'b', 'c', 'a'].map((letter) => letter.repeat(16));
    await Promise.all(ids.map((id) => roster.add(id)));
    const again = new GrantRoster(vault);
    await again.open();
    expect(again.ids).toEqual(expect.arrayContaining(ids));
    expect(again.ids).toHaveLength(5);
  });

  it('the list of grants in the vault names no grant that the vault refused to note', async () => {
    const { vault } = await restarted(() => undefined);
    const roster = new GrantRoster(vault);
    await roster.open();
    vault.failing.add('set');
    await refusal(roster.add('a'.repeat(16)));
    expect(roster.ids).toHaveLength(2);
    vault.failing.clear();
    await roster.add('a'.repeat(16));
    expect(roster.ids).toHaveLength(3);
  });

  it('a list of grants with an unknown shape is left unchanged, and opening it is refused', async () => {
    const { vault } = await restarted(() => undefined);
    for (const text of ['{"version":2,"grants":{}}', 'half a no']) {
      await vault.set('grants', text);
      const error = await refusal(new GrantRoster(vault).open());
      expect(error).toMatchObject({ reason: 'vault_unreadable', item: 'grants' });
      expect(await vault.get('grants')).toBe(text);
    }
  });
});
