/** What the document keeps about its home, changed by several callers at once. */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { homePaths } from '../../../src/base/paths.ts';
import { HomeCheck } from '../../../src/daemon/home/home-check.ts';
import { SettingsBook } from '../../../src/daemon/settings/settings-book.ts';
import type { Answer } from '../../../src/broker/approval-requests/answer.ts';
import { lockedVault } from '../../../src/vault/base/trouble.ts';
import type { Vault } from '../../../src/vault/base/vault.ts';
import { memoryVault } from '../../../src/vault/memory.ts';
import { homeRecordSchema } from '../../../src/daemon/home/home-record.ts';
import { recordsOf } from '../../../src/broker/records/records.ts';
import { listOf } from '../../../src/store/home-document.ts';
import { testDocument, turnOfEvents } from '../../broker/rig.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { bound } from '../../vault/doubles.ts';

const unapprovedProxy = { httpsProxy: 'http://127.0.0.1:8080' };

/** The app with this settings file, which nobody approved. `write` may hold back each write of the vault. */
async function desk(write: () => Promise<void>, written: object = unapprovedProxy) {
  const folder = temporaryFolder();
  for (const name of ['config', 'state']) mkdirSync(path.join(folder, name), { mode: 0o700 });
  const settings = path.join(folder, 'config', 'settings.json');
  writeFileSync(settings, JSON.stringify(written), { mode: 0o600 });
  const paths = homePaths({ KEYTURN_HOME: folder });
  const book = new SettingsBook({ paths, env: {}, isNewHome: false, autoStarted: true });
  const memory = memoryVault();
  // The memory vault stands in for a keychain whose writes take their time.
  const vault: Vault = {
    ...bound(memory),
    kind: 'keychain',
    replace: async (id, before, after) => {
      await write();
      return memory.replace(id, before, after);
    },
  };
  const document = testDocument(path.join(folder, 'state'), { vault });
  const records = listOf(document, 'home', homeRecordSchema);
  const verdict = Promise.withResolvers<Answer>();
  const closed = Promise.withResolvers<void>();
  const check = new HomeCheck({
    home: { isNew: false, document: { home: '', vault: 'keychain' } },
    book,
    vault,
    document,
    records,
    isKeyturnApp: true,
    mismatch: undefined,
    allowed: recordsOf(document),
    wall: () => 7,
    ask: async (_, answered) => {
      const said = await verdict.promise;
      answered();
      return said;
    },
    changed: () => {
      if (!check.state.isWaiting) closed.resolve();
    },
    log: () => undefined,
  });
  document.afterwards(() => check.load());
  await document.load();
  return {
    check,
    document,
    records,
    /** The user answers the card about the settings. Resolves once the answer counts. */
    answer: async (said: Answer) => {
      verdict.resolve(said);
      await closed.promise;
    },
  };
}

it('keeps an approval of settings that arrives while the home is released', async () => {
  const held = Promise.withResolvers<void>();
  let isHeld = false;
  const writes: string[] = [];
  const { check, records, answer } = await desk(async () => {
    if (isHeld) writes.push('begun');
    if (isHeld) await held.promise;
  });
  await expect(check.requireSettingsAnswered()).rejects.toMatchObject({ reason: 'consent_pending' });
  expect(records.items).toEqual([]);
  isHeld = true;
  const released = check.allowCommand(true);
  await expect.poll(() => writes).toHaveLength(1);
  const answered = answer('approve');
  // The answer arrives while that write is under way.
  await turnOfEvents();
  held.resolve();
  await Promise.all([released, answered]);
  await check.requireSettingsAnswered();
  expect(records.items).toMatchObject([{ approver: 'either', approved: expect.anything() }]);
});

it('serves nothing before the document says that the app used this home', async () => {
  let isWritable = false;
  const { check, document, records } = await desk(async () => {
    if (!isWritable) throw lockedVault();
  }, {});
  await expect(check.requireSettingsAnswered()).rejects.toMatchObject({ reason: 'locked' });
  expect([document.isJudged, records.items]).toEqual([false, []]);
  isWritable = true;
  await check.requireSettingsAnswered();
  expect(records.items).toMatchObject([{ approver: 'app' }]);
});

it.each(['approve', 'deny'] as const)(
  'notes a %s, and only an approval puts the written proxy in force',
  async (said) => {
    const { check, records, answer } = await desk(async () => undefined);
    await expect(check.requireSettingsAnswered()).rejects.toMatchObject({ reason: 'consent_pending' });
    await answer(said);
    const [record] = records.items;
    expect(JSON.stringify(record?.approved).includes(unapprovedProxy.httpsProxy)).toBe(said === 'approve');
    expect(record?.denied === undefined).toBe(said === 'approve');
  },
);
