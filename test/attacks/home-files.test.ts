/** Another program of the user writes, deletes or blocks files of the home. It can't read the vault. */
import path from 'node:path';
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { lastingVault, startOn } from '../support/homes/authority-home.ts';
import { ground, refused } from '../rules/ground.ts';
import { revokeSignIn } from '../../src/broker/revocation/revoker.ts';
import { reasonOf } from '../../src/base/errors.ts';
import { getIfAny } from '../../src/vault/base/vault.ts';
import { refusal } from '../broker/rig.ts';

/** A home that was used: its vault holds the root key. */
async function usedHome() {
  const [folder, vault] = [temporaryFolder(), lastingVault()];
  const broker = await startOn(folder, vault);
  await broker.apps.add('editor', 0);
  return { folder, vault };
}

describe('a key file', () => {
  it('owner.key: of the owner, deleted or rewritten, changes no permission', async () => {
    const { folder, vault } = await usedHome();
    const before = await startOn(folder, vault);
    const [paired] = before.apps.all();
    rmSync(path.join(folder, 'config', 'owner.key'));
    const after = await startOn(folder, vault);
    expect(after.apps.all()).toEqual([paired]);
    expect(after.troubles()).toEqual([]);
  });

  it('owner.key: with another home’s id opens nothing here', async () => {
    const { folder, vault } = await usedHome();
    const file = path.join(folder, 'config', 'owner.key');
    writeFileSync(
      file,
      readFileSync(file, 'utf8').replace(/"brokerId":"[^"]*"/, `"brokerId":"${'A'.repeat(22)}"`),
    );
    const broker = await startOn(folder, vault);
    expect(() => broker.records.apps.items).toThrow("can't be read, or Keyturn did not write it");
  });

  it('apps/NAME.key: of a removed app opens nothing, even if its name is paired again', async () => {
    const { folder, vault } = await usedHome();
    const { apps } = await startOn(folder, vault);
    const old = apps.resolve('editor');
    await apps.remove(old);
    await apps.add('editor', 0);
    const next = await startOn(folder, vault);
    expect(next.apps.usable(old, 0)).toBeUndefined();
  });
});

it('A-5: a forged record gives no token outside the sign-in’s resource', async () => {
  const { rig, restarted } = await ground();
  await rig.login();
  const harmless = 'https://harmless.example/mcp';
  await rig.allow('game', undefined, harmless);
  const { endpoints } = rig.signIn();
  await rig.parts.signIns.change(rig.signIn(), { endpoints: [...endpoints, harmless] });
  const after = await restarted();
  const asked = after.ask({ appId: 'game', resource: harmless, interaction: 'never' });
  expect(await refused(asked)).toMatchObject({ reason: 'resource_mismatch' });
});

it('an app gets no wide token if the record of a token has too few scopes', async () => {
  const { rig, authorizationServer, restarted } = await ground();
  await rig.login({ scope: ['read', 'write'] });
  await rig.allow('reader', ['read']);
  // As a kill leaves it between the item and the document, after a refresh that brought more.
  await rig.parts.signIns.change(rig.signIn(), { scope: ['read'] });
  // RFC 6749 §5.1: an answer without a scope grants what was asked for.
  authorizationServer.bend.tokenAnswer = ({ body: { scope: _unsaid, ...body }, ...reply }) => ({
    ...reply,
    body,
  });
  const after = await restarted();
  const asked = await after.ask({ appId: 'reader', interaction: 'never' }).then(
    ({ scope }) => scope,
    () => 'refused',
  );
  expect([['read'], 'refused']).toContainEqual(asked);
  expect(after.signIn().scope).toEqual(['read', 'write']);
});

it('document.json: a document that can’t be written keeps no revoked sign-in alive', async () => {
  const { rig, restarted, authorizationServer } = await ground();
  await rig.login();
  await rig.ask();
  const { item = '' } = rig.signIn();
  const file = path.join(rig.folder, 'document.json');
  const before = readFileSync(file);
  renameSync(file, `${file}.old`);
  mkdirSync(file);
  expect(reasonOf(await refusal(revokeSignIn(rig.parts, rig.signIn())))).toBe('file_unreadable');
  expect(authorizationServer.server.asked('/revoke', 'POST')).not.toEqual([]);
  expect(await refusal(rig.ask())).toBeDefined();
  expect(await getIfAny(rig.vault, item)).toBeUndefined();
  rmSync(file, { recursive: true });
  writeFileSync(file, before, { mode: 0o600 });
  const after = await restarted();
  expect(reasonOf(await refusal(after.ask({ interaction: 'never' })))).toBe('vault_unreadable');
});
