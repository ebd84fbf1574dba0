/** Another program of the same user keeps the broker from writing the document, so that a revocation can't be kept there. */
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { revokeGrant } from '../../src/broker/revocation/revoker.ts';
import { reasonOf } from '../../src/base/errors.ts';
import { getIfAny } from '../../src/vault/base/vault.ts';
import { refusal } from '../broker/rig.ts';
import { ground } from '../rules/ground.ts';

it('authority.json: a document that can’t be written keeps no revoked grant alive', async () => {
  const { rig, restarted, authorizationServer } = await ground();
  await rig.login();
  await rig.ask();
  const { item = '' } = rig.grant();
  const file = path.join(rig.folder, 'authority.json');
  const before = readFileSync(file);
  renameSync(file, `${file}.old`);
  mkdirSync(file);
  expect(reasonOf(await refusal(revokeGrant(rig.parts, rig.grant())))).toBe('file_unreadable');
  expect(authorizationServer.server.asked('/revoke', 'POST')).not.toEqual([]);
  expect(await refusal(rig.ask())).toBeDefined();
  expect(await getIfAny(rig.vault, item)).toBeUndefined();
  rmSync(file, { recursive: true });
  writeFileSync(file, before, { mode: 0o600 });
  const after = await restarted();
  expect(reasonOf(await refusal(after.ask({ interaction: 'never' })))).toBe('vault_unreadable');
});
