/** Grants that move to another machine: never refreshed by two, and lost by no crash. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { importGrants } from '../../../src/broker/moving/arriving.ts';
import { exportGrants, takeBack } from '../../../src/broker/moving/leaving.ts';
import type { Parcel } from '../../../src/broker/moving/parcel.ts';
import { revokeGrant } from '../../../src/broker/revocation/revoker.ts';
import { ProofKey } from '../../../src/oauth/client/proof-key.ts';
import type { Vault } from '../../../src/vault/base/vault.ts';
import { openSite } from '../../oauth/site.ts';
import type { Site } from '../../oauth/site.ts';
import { openWorld } from '../../support/world.ts';
import type { TestWorld } from '../../support/world.ts';
import { oddServer } from '../odd-server.ts';
import { brokerRig, inWorld, refusal } from '../rig.ts';
import type { Rig, RigOptions } from '../rig.ts';

let world: TestWorld;
let site: Site;
beforeAll(async () => {
  [world, site] = await Promise.all([openWorld(), openSite()]);
});
afterAll(async () => Promise.all([world.close(), site.close()]));

const exported = async ({ parts }: Rig): Promise<Parcel> =>
  (await exportGrants(parts, {}, (parcel) => Promise.resolve(parcel))).result;

/** Somebody is signed in, and `editor` may have tokens. */
async function signedIn(options: RigOptions = {}): Promise<Rig> {
  const rig = await brokerRig(inWorld(world), options);
  await rig.allow();
  await rig.login();
  return rig;
}

const atTokenEndpoint = ({ fetched }: Rig): number => fetched.filter((url) => url.endsWith('/token')).length;

const told = (): (string | null)[] =>
  site.asked
    .filter(({ path }) => path === '/revoke')
    .map(({ body }) => new URLSearchParams(body).get('token'));

describe('an exported grant', () => {
  it('an exported grant gives no token here, is not refreshed here, and says where it is', async () => {
    const rig = await signedIn();
    await rig.ask();
    const asked = atTokenEndpoint(rig);
    await exported(rig);
    expect(rig.grant().state).toMatchObject({ kind: 'moved' });
    expect(await refusal(rig.ask())).toMatchObject({
      reason: 'moved',
      hint: expect.stringContaining('keyturn export --cancel'),
    });
    const { refresher } = rig.parts;
    const { signal } = new AbortController();
    expect(await refusal(refresher.refresh(rig.grant().id, undefined, signal))).toMatchObject({
      reason: 'moved',
    });
    expect(atTokenEndpoint(rig)).toBe(asked);
    expect(rig.pages).toHaveLength(1);
  });

  it('an exported grant asks nobody whether a program that has no token of it yet may use it', async () => {
    const rig = await brokerRig(inWorld(world));
    await rig.allow();
    await rig.login({ account: 'work' });
    await exported(rig);
    await rig.login({ account: 'home' });
    expect(await refusal(rig.ask({ account: 'work' }))).toMatchObject({ reason: 'moved' });
  });

  it('an exported grant works on the machine that imports it, refresh after refresh, for a program that is allowed there', async () => {
    const [here, there] = [await signedIn(), await brokerRig(inWorld(world))];
    await importGrants(there.parts, await exported(here));
    expect(await refusal(there.ask({ interaction: 'never' }))).toMatchObject({ reason: 'consent_required' });
    await there.allow();
    const { accessToken } = await there.ask();
    const response = await world.fetch(there.endpoint, {
      headers: { authorization: `Bearer ${accessToken}` },
    });
    expect(response.status).not.toBe(401);
    const { signal } = new AbortController();
    await there.parts.refresher.refresh(there.grant().id, undefined, signal);
    await there.parts.refresher.refresh(there.grant().id, undefined, signal);
    expect(there.grant()).toMatchObject({ account: here.grant().account, state: { kind: 'active' } });
    expect(there.pages).toEqual([]);
  });

  it('an exported grant stays exported where a program writes into the index that it is active', async () => {
    const rig = await signedIn();
    await exported(rig);
    const { id, generation, ...fields } = rig.grant();
    await rig.parts.grants.mend({ id, ...fields, state: { kind: 'active' } }, generation + 1);
    const next = await brokerRig(inWorld(world), { after: rig });
    await next.allow();
    expect(await refusal(next.ask())).toMatchObject({ reason: 'moved' });
    expect(next.grant().state).toMatchObject({ kind: 'moved' });
  });

  it('an exported grant is taken back from the vault, whatever the index says, and works again', async () => {
    const rig = await signedIn();
    await exported(rig);
    const { id, generation, ...fields } = rig.grant();
    await rig.parts.grants.mend({ id, ...fields, state: { kind: 'active' } }, generation + 1);
    const next = await brokerRig(inWorld(world), { after: rig });
    expect(await takeBack(next.parts)).toMatchObject([{ id, state: { kind: 'active' } }]);
    expect(await takeBack(next.parts)).toEqual([]);
    await next.allow();
    await next.ask();
    expect(next.pages).toEqual([]);
  });

  it('an exported grant is active again at once where its export could not be sealed', async () => {
    const rig = await signedIn();
    const failing = exportGrants(rig.parts, {}, () => Promise.reject(new Error('too large')));
    expect(await refusal(failing)).toMatchObject({ message: 'too large' });
    expect(rig.grant().state).toEqual({ kind: 'active' });
    await rig.ask();
  });

  it('an exported grant that is revoked asks no server, because another machine has its tokens', async () => {
    const server = oddServer(site, { scopesSupported: ['read'], revocation: true });
    const rig = await brokerRig(server);
    await rig.allow();
    await rig.login();
    await rig.login();
    await rig.ask();
    await exported(rig);
    const { receipt, grant } = await revokeGrant(rig.parts, rig.grant());
    expect(receipt).toBe('moved');
    expect(told()).toEqual([]);
    expect(await rig.vault.find(`grant.${grant.id}`)).toBeUndefined();
  });

  it('an exported grant that somebody signs in for anew leaves the tokens of the other machine alone, later too', async () => {
    const server = oddServer(site, { scopesSupported: ['read'], revocation: true });
    const rig = await brokerRig(server);
    await rig.allow();
    await rig.login();
    await exported(rig);
    await rig.login();
    expect(rig.grant().state).toEqual({ kind: 'active' });
    await revokeGrant(rig.parts, rig.grant());
    expect(told()).toContain('refresh-2');
    expect(told()).not.toContain('refresh-1');
  });

  it('an exported grant that was revoked while the export waited for the vault is revoked at its server', async () => {
    const server = oddServer(site, { scopesSupported: ['read'], revocation: true });
    const revocations: Promise<unknown>[] = [];
    let isExporting = false;
    const front = (vault: Vault): Vault => ({
      ...vault,
      write: async (id, secret) => {
        if (isExporting && id.startsWith('grant.')) {
          isExporting = false;
          revocations.push(revokeGrant(rig.parts, rig.grant()));
        }
        await vault.write(id, secret);
      },
    });
    const rig = await brokerRig(server, { front });
    await rig.login();
    isExporting = true;
    expect(await refusal(exported(rig))).toMatchObject({ reason: 'conflict' });
    expect(await Promise.all(revocations)).toMatchObject([{ receipt: 'confirmed' }]);
    expect(told()).toContain('refresh-1');
  });
});

describe('an import', () => {
  it('an import keeps the key that tokens are bound to, in the vault', async () => {
    const [here, there] = [await signedIn(), await brokerRig(inWorld(world))];
    const parcel = await exported(here);
    const proofKey = ProofKey.create().toKept();
    for (const grant of parcel.grants) grant.secret.proofKey = proofKey;
    await importGrants(there.parts, parcel);
    expect(there.grant().isKeyBound).toBe(true);
    expect(JSON.parse(await there.vault.read(`grant.${there.grant().id}`))).toMatchObject({ proofKey });
  });

  it('an import that a crash cut short goes on, and leaves alone what came before', async () => {
    const [here, there] = [await signedIn(), await brokerRig(inWorld(world))];
    const parcel = await exported(here);
    there.vault.failing.add('write');
    expect(await refusal(importGrants(there.parts, parcel))).toMatchObject({ reason: 'vault_unavailable' });
    there.vault.failing.clear();
    const next = await brokerRig(inWorld(world), { after: there });
    expect(await importGrants(next.parts, parcel)).toMatchObject({ alreadyHere: 0 });
    const { signal } = new AbortController();
    await next.parts.refresher.refresh(next.grant().id, undefined, signal);
    const newest = await next.vault.read(`grant.${next.grant().id}`);
    // The file has an older refresh token: to send it would end the grant.
    expect(await importGrants(next.parts, parcel)).toEqual({ imported: [], alreadyHere: 1 });
    expect(await next.vault.read(`grant.${next.grant().id}`)).toBe(newest);
    await next.parts.refresher.refresh(next.grant().id, undefined, signal);
  });

  it('an import is refused as a whole where the same account works here', async () => {
    const [here, there] = [await signedIn(), await signedIn()];
    const before = there.footprint();
    expect(await refusal(importGrants(there.parts, await exported(here)))).toMatchObject({
      reason: 'conflict',
      message: expect.stringContaining('Nothing was imported'),
    });
    expect(there.footprint()).toEqual(before);
  });

  it('an import brings a grant back to the machine that it came from, with the permissions of before', async () => {
    const [here, there] = [await signedIn(), await brokerRig(inWorld(world))];
    await here.ask();
    await importGrants(there.parts, await exported(here));
    const { signal } = new AbortController();
    await there.parts.refresher.refresh(there.grant().id, undefined, signal);
    await importGrants(here.parts, await exported(there));
    await here.parts.refresher.refresh(here.grant().id, undefined, signal);
    await here.ask({ interaction: 'never' });
    expect(here.parts.registrations.all()).toHaveLength(1);
  });

  it('an import refuses a server that is not reached by https, before it keeps anything', async () => {
    const [here, there] = [await signedIn(), await brokerRig(inWorld(world))];
    const parcel = await exported(here);
    for (const { secret } of parcel.grants) secret.binding.issuer = 'http://login.example';
    expect(await refusal(importGrants(there.parts, parcel))).toMatchObject({ reason: 'insecure_url' });
    expect(there.parts.grants.all()).toEqual([]);
  });

  it('an import brings no client for another issuer, where the next sign-in would use it', async () => {
    const [here, there] = [await signedIn(), await brokerRig(inWorld(world))];
    const parcel = await exported(here);
    const registration = {
      issuer: 'https://login.example',
      clientId: 'mallory',
      source: 'preregistered',
      tokenEndpointAuthMethod: 'none',
      redirectUri: 'http://127.0.0.1:1234/callback',
      registeredAt: 0,
    } as const;
    parcel.registrations.push({ record: { id: 'f'.repeat(16), registration } });
    for (const { secret } of parcel.grants)
      secret.superseded.push({ value: 'old', hint: 'access_token', registrationId: 'f'.repeat(16) });
    expect(await refusal(importGrants(there.parts, parcel))).toMatchObject({ reason: 'issuer_mismatch' });
    expect(there.parts.registrations.all()).toEqual([]);
  });
});
