/** What the vault keeps about its home, changed by several callers at once. */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { homePaths } from '../../../src/base/paths.ts';
import { HomeCheck } from '../../../src/daemon/home/home-check.ts';
import { readHomeItem } from '../../../src/daemon/home/home-item.ts';
import { SettingsBook } from '../../../src/daemon/settings/settings-book.ts';
import type { SettingsVerdict } from '../../../src/daemon/settings/settings-card.ts';
import type { Vault } from '../../../src/vault/base/vault.ts';
import { memoryVault } from '../../../src/vault/memory.ts';
import { turnOfEvents } from '../../broker/rig.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { bound } from '../../vault/doubles.ts';

interface Desk {
  readonly check: HomeCheck;
  readonly vault: Vault;
  /** The person answers the card about the settings. Resolves once the answer counts. */
  readonly answer: (verdict: SettingsVerdict) => Promise<void>;
}

/** A desk whose settings file names a proxy that nobody confirmed. `write` may hold back each write of the vault. */
function desk(write: () => Promise<void>): Desk {
  const folder = temporaryFolder();
  mkdirSync(path.join(folder, 'config'), { mode: 0o700 });
  const settings = JSON.stringify({ httpsProxy: 'http://127.0.0.1:8080' });
  writeFileSync(path.join(folder, 'config', 'settings.json'), settings, { mode: 0o600 });
  const paths = homePaths({ KEYTURN_HOME: folder });
  const book = new SettingsBook({ paths, env: {}, isNewHome: false, autoStarted: true });
  const memory = memoryVault();
  // The memory vault stands in for a keychain whose writes take their time.
  const vault: Vault = {
    ...bound(memory),
    kind: 'keychain',
    set: async (id, secret) => {
      await write();
      await memory.set(id, secret);
    },
  };
  const verdict = Promise.withResolvers<SettingsVerdict>();
  const closed = Promise.withResolvers<void>();
  const check = new HomeCheck({
    home: { homeId: 'home', isNew: false, hasMaster: true, vault: 'keychain', keptIn: async () => undefined },
    book,
    vault,
    master: async () => undefined,
    isDesk: true,
    isOpened: true,
    mismatch: undefined,
    ask: async (_, answered) => {
      const said = await verdict.promise;
      answered();
      return said;
    },
    renewAuthority: async () => undefined,
    changed: () => {
      if (!check.state.isWaiting) closed.resolve();
    },
    log: () => undefined,
  });
  return {
    check,
    vault,
    answer: async (said) => {
      verdict.resolve(said);
      await closed.promise;
    },
  };
}

it('keeps the person’s yes to settings while the home is marked as a desk’s at the same time', async () => {
  const held = Promise.withResolvers<void>();
  const writes: string[] = [];
  const { check, vault, answer } = desk(async () => {
    writes.push('begun');
    if (writes.length === 1) await held.promise;
  });
  await expect(check.settled()).rejects.toMatchObject({ reason: 'consent_pending' });
  const marked = check.mark(async () => undefined);
  await expect.poll(() => writes).toHaveLength(1);
  const answered = answer('yes');
  // The answer arrives while that write is under way.
  await turnOfEvents();
  held.resolve();
  await Promise.all([marked, answered]);
  await check.settled();
  expect(await readHomeItem(vault)).toMatchObject({ desk: 'marked', settings: expect.anything() });
});
