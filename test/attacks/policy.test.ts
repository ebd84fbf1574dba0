/**
 * Ways around the administrator's policy: what was allowed or waived before it, other spellings of a server or an issuer,
 * a program that takes another one's path, and what Keyturn does by itself.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Broker } from '../../src/broker/broker.ts';
import { OverrideBook } from '../../src/broker/records/override.ts';
import { Policy, policySchema } from '../../src/broker/records/policy.ts';
import { recordsOf } from '../../src/daemon/assembly.ts';
import { refuseByPolicy } from '../../src/daemon/clients/policy-check.ts';
import type { MethodName } from '../../src/ipc/protocol/methods.ts';
import { attestedFileOf } from '../../src/ipc/peer/program.ts';
import type { PeerFacts } from '../../src/ipc/peer/peer.ts';
import { Leases } from '../../src/broker/consent/lease.ts';
import { HandClock } from '../broker/hand-clock.ts';
import { testAuthority } from '../broker/rig.ts';
import { enter, ground, refused, rigIn } from '../rules/ground.ts';
import type { Ground } from '../rules/ground.ts';
import { asOwner } from '../rules/wire.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const policy = (content: object): Policy =>
  new Policy('/etc/keyturn/policy.json', policySchema.parse(content));
const refusal = expect.objectContaining({ reason: 'policy_refused' }) as unknown;
const byPolicy = { reason: 'policy_refused' };
const never = { interaction: 'never' } as const;

/** The same files and vault under a policy that came later. */
const under = async ({ world, protectedServer, rig }: Ground, content: object) =>
  rigIn(world, protectedServer.url, { after: rig, policy: policy(content) });

describe('what a policy’s lists cover, in other spellings', () => {
  const servers = policy({ resources: ['https://notes.example/mcp', 'https://*.corp.example'] });

  it.each([
    'https://NOTES.example/mcp',
    'https://notes.example:443/mcp/',
    'https://notes.example/a/../mcp',
    'https://ⓐ.corp.example/x',
  ])('%s is the server that is allowed', (endpoint) => {
    expect(() => servers.refuseResource(endpoint)).not.toThrow();
  });

  it.each([
    'https://notes.example/mcp/../admin',
    'https://notes.example/mcp/%2e%2e/admin',
    'https://notes.example/MCP',
    'https://notes.example/mcp;x',
    'https://notes.example./mcp',
    'https://notes.example:8443/mcp',
    'https://notes.example@evil.example/mcp',
    'https://evil.example\\.corp.example/x',
    'https://evil.example/.corp.example',
    'https://a.corp.example./x',
    'https://corp.example/x',
    'https://nоtes.example/mcp',
  ])('%s is not', (endpoint) => {
    expect(() => servers.refuseResource(endpoint)).toThrow(refusal);
  });

  it.each([
    'https://login.example/Tenant',
    'https://login.example/tenant/../other',
    'https://login.example/tenant//',
    'https://login.example/tenant?x=1',
    'https://login.example./tenant',
    'https://LOGIN.example/tenant',
  ])('the issuer %s is not https://login.example/tenant', (issuer) => {
    expect(() => policy({ issuers: ['https://login.example/tenant'] }).refuseIssuer(issuer)).toThrow(refusal);
  });
});

describe('what was allowed or waived before a policy', () => {
  it('a waived rule counts no more where the policy keeps it, and is shown as switched off', async () => {
    const folder = temporaryFolder();
    const { overrides: file } = recordsOf(folder, testAuthority(folder));
    await file.load();
    await file.verify();
    const before = new OverrideBook(file);
    await before.set('https://a.example', 'audience', true);
    await before.set('https://a.example', 'no-resource', true);
    await before.set('https://a.example', 'private-address', true);
    const book = (off: string[]) => new OverrideBook(file, (name) => policy({ off }).keepsRule(name));

    const one = book(['overrides:audience']);
    expect(one.for('https://a.example')).toEqual({ noResource: true });
    expect(one.isPrivate('https://a.example/x')).toBe(true);
    expect(one.shown()).toMatchObject([{ switchedOff: ['audience'] }]);
    const all = book(['overrides']);
    expect(all.for('https://a.example')).toEqual({});
    expect(all.isPrivate('https://a.example/x')).toBe(false);
    expect(all.shownFor('https://a.example')).toEqual([]);
    expect(all.shown()[0]?.switchedOff).toHaveLength(3);
  });

  it('a token that came under a waived rule is not handed out, and no rule is waived anew', async () => {
    const all = await ground({ authorization: { refreshTokens: 'never' } });
    const { authorizationServer, protectedServer, rig } = all;
    const { bend, settings } = authorizationServer;
    Object.assign(settings, { resourceRequired: false, accessTokenFormat: 'jwt' });
    bend.accessTokenClaims = (claims) => ({ ...claims, aud: 'https://other.example' });
    const params = { server: protectedServer.url, name: 'audience' };
    await asOwner(rig)('override.set', { ...params, on: true });
    await rig.ask();
    const later = await under(all, { off: ['overrides:audience'] });
    expect(await refused(later.ask(never))).toMatchObject(byPolicy);
    expect(await refused(asOwner(later)('override.set', { ...params, on: true }))).toMatchObject(byPolicy);
    await asOwner(later)('override.set', { ...params, on: false });
  });

  it('a grant of an issuer or a server that the policy does not allow is kept, not refreshed, and says why', async () => {
    for (const content of [
      { issuers: ['https://login.corp.example'] },
      { resources: ['https://*.corp.example'] },
    ]) {
      const all = await ground();
      await all.rig.ask();
      const later = await under(all, content);
      const { id } = later.grant();
      const { signal } = new AbortController();
      expect(await refused(later.parts.refresher.refresh(id, undefined, signal))).toMatchObject(byPolicy);
      expect(all.authorizationServer.counts.refreshes).toBe(0);
      expect(later.grant().state.kind).toBe('active');
      const { grants } = (await asOwner(later)('grant.list')) as { grants: { refusal?: object }[] };
      expect(grants).toMatchObject([{ state: 'active', refusal: byPolicy }]);
      // Without the policy it goes on.
      const free = await rigIn(all.world, all.protectedServer.url, { after: later });
      await free.ask(never);
    }
  });

  it('a grant for two servers is refreshed while one of them is allowed', async () => {
    const both = policy({ resources: ['https://a.example'] });
    const grant = {
      issuer: 'https://login.example',
      endpoints: ['https://b.example', 'https://a.example/mcp'],
    };
    expect(() => both.refuseGrant(grant, true)).not.toThrow();
  });
});

describe('an issuer that the policy does not allow', () => {
  it('can’t pass by the name of an allowed one, where the user waived that rule', async () => {
    const all = await ground();
    const { authorizationServer, protectedServer, rig } = all;
    const allowed = 'https://login.corp.example';
    authorizationServer.bend.metadata = (document) => ({ ...document, issuer: allowed });
    authorizationServer.bend.authorizeResponse = (parameters) => parameters.set('iss', allowed);
    await asOwner(rig)('override.set', { server: protectedServer.url, name: 'issuer-mismatch', on: true });
    await rig.ask();
    const later = await under(all, { issuers: [allowed] });
    expect(await refused(later.ask(never))).toMatchObject(byPolicy);
    expect(await refused(later.login())).toMatchObject(byPolicy);
    expect(authorizationServer.counts.refreshes).toBe(0);
  });

  it('can’t stand behind a sign-in as the company’s provider, which counts as an issuer and as no server', async () => {
    const all = await ground();
    const { rig, world, authorizationServer } = all;
    const provider = await world.openAuthorizationServer({
      issuerPath: '/company',
      subject: 'alice',
      resourceRequired: false,
    });
    await enter(rig, provider, {}, { clientIdElsewhere: 'by-hand' });
    for (const one of [provider, authorizationServer]) one.settings.now = () => rig.clock.wall();
    authorizationServer.settings.identityProviders = [provider];
    const idp = { issuer: provider.issuer };
    const asked = { grant: 'id-jag', clientSecret: 's3cret-of-the-machine', idp } as const;
    await enter(rig, authorizationServer, asked, { authMethod: 'client_secret_basic' });
    await rig.ask();
    const exchanged = provider.counts.tokenExchanges;

    const later = await under(all, { issuers: [authorizationServer.issuer] });
    expect(await refused(later.ask(never))).toMatchObject(byPolicy);
    expect(await refused(later.ask())).toMatchObject(byPolicy);
    expect(provider.counts.tokenExchanges).toBe(exchanged);
    expect(() =>
      refuse(later.broker, 'registration.set', { issuer: authorizationServer.issuer, idp }),
    ).toThrow(refusal);
    // Its own sign-in needs no place among the servers.
    const servers = await under(all, { resources: [all.protectedServer.url] });
    const start = { resource: provider.issuer };
    expect(() => refuse(servers.broker, 'login.start', start)).not.toThrow();
    expect(() => refuse(servers.broker, 'token.get', start)).toThrow(refusal);
  });
});

/** As the owner's request, or a program's with this peer. */
function refuse(broker: Broker, method: MethodName, params: object, peer?: PeerFacts): void {
  refuseByPolicy(
    broker,
    {
      clientId: peer ? 'editor' : 'owner',
      role: peer ? 'client' : 'owner',
      peer: { kind: 'unverified' },
      peerNow: () => peer ?? { kind: 'unverified' },
      signal: new AbortController().signal,
      isOpen: true,
      notify: () => undefined,
      onClose: () => undefined,
    },
    method,
    params,
  );
}

describe.runIf(process.platform === 'linux')('a program that takes the place of an allowed one', () => {
  const waiting = ['-e', 'console.log(process.pid); setInterval(() => undefined, 1000)'];

  /** The pid of a process that lives as long as the test. */
  async function started(command: string, words: readonly string[]): Promise<number> {
    const child = spawn(command, words, { stdio: ['pipe', 'pipe', 'inherit'] });
    onTestFinished(() => void child.kill('SIGKILL'));
    const [line] = (await once(child.stdout, 'data')) as [Buffer];
    return Number(line.toString());
  }

  it('by mounting its own file over the path, is not taken for it', async () => {
    const copy = path.join(temporaryFolder(), 'node');
    copyFileSync(process.execPath, copy);
    const script = 'mount --bind "$0" "$1" && exec "$1" -e "$2"';
    const unshared = process.getuid?.() === 0 ? [] : ['--map-root-user'];
    const faking = ['--mount', 'sh', '-c', script, copy, process.execPath, waiting[1] ?? ''];
    const pid = await started('unshare', [...unshared, ...faking]);
    expect(attestedFileOf(pid)).toBeUndefined();
    expect(attestedFileOf(await started(process.execPath, waiting))).toBe(process.execPath);
  });

  it('by a hard link, by a copy or by a file that others can change, is not taken for it', async () => {
    const { rig } = await ground();
    const folder = temporaryFolder();
    const copy = path.join(folder, 'node');
    copyFileSync(process.execPath, copy);
    const peerOf = (pid: number): PeerFacts => ({ kind: 'verified', uid: 0, gid: 0, pid, startTicks: '1' });
    const owned = peerOf(await started('/bin/sh', ['-c', 'echo $$; read never']));
    const shell = attestedFileOf(owned.kind === 'verified' ? owned.pid : 0) ?? '';
    const copied = peerOf(await started(copy, waiting));
    const ask = (programs: string[], peer: PeerFacts): void => {
      const { broker } = rig;
      const parts = { ...broker.parts, policy: policy({ programs }) };
      refuse(Object.create(broker, { parts: { value: parts } }) as Broker, 'token.get', {}, peer);
    };
    expect(() => ask([shell], owned)).not.toThrow();
    expect(() => ask([shell], copied)).toThrow(refusal);
    // The folder for temporary files is everybody's.
    execFileSync('chmod', ['0777', folder]);
    expect(() => ask([copy], copied)).toThrow(/others than root can change/);
  });
});

it('a lease of a run ends when the policy says, also one that was given without an end', () => {
  const clock = new HandClock();
  const leases = new Leases(60_000);
  const asker = { run: 'run 1', look: () => run };
  const run = { run: 'run 1', verified: false, standing: () => 'same' as const };
  const permission = {
    clientId: 'editor',
    endpoint: 'e',
    decision: 'allow',
    createdAt: clock.wall(),
  } as const;
  leases.set({ permission, run });
  const until = clock.wall() + 60_000;
  expect(leases.find('editor', 'e', asker, until - 1)).toMatchObject([{ until }]);
  expect(leases.find('editor', 'e', asker, until)).toEqual([]);
});
