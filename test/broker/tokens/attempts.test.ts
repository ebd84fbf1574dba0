/** A refresh with an unknown outcome: noted before the request is sent, reported, and settled by the next one. */
import { describe, expect, it } from 'vitest';
import { moment } from '../../../src/base/errors.ts';
import type { SignInSecret } from '../../../src/broker/tokens/sign-in-secret.ts';
import { explainSignIn, lostRefreshOf } from '../../../src/broker/explain.ts';
import { deadOrigin, type Page } from '../../oauth/site.ts';
import { oddServer, type OddServer } from '../odd-server.ts';
import { signedInRig, refusal, type Rig } from '../rig.ts';
import { lastingSite } from '../places.ts';

const site = lastingSite();

const hour = 3_600_000;
const never = { interaction: 'never' } as const;

async function needingRefresh(): Promise<{ rig: Rig; server: OddServer }> {
  const server = oddServer(site);
  const rig = await signedInRig(server);
  rig.clock.advance(hour);
  return { rig, server };
}

/** The item in the vault, as a broker that starts now would read it. */
const inVault = async ({ vault, signIn }: Rig): Promise<SignInSecret> =>
  JSON.parse(await vault.get(signIn().item ?? '')) as SignInSecret;

const page = (status: number, body = '', headers: Record<string, string> = {}) => ({ status, body, headers });
const html = { 'content-type': 'text/html' };

const startedAt = Date.UTC(2026, 0, 2, 3, 4, 5);

describe('an attempt', () => {
  it('is in the vault before the request leaves, and gone when the outcome is kept', async () => {
    const { rig, server } = await needingRefresh();
    // The first token fixes what the permission is for.
    await rig.ask(never);
    rig.clock.advance(hour);
    const seen: unknown[] = [];
    server.answer = (_form, usual) => {
      seen.push(rig.parts.refresher.secrets.factsOf(rig.signIn()).attempt, rig.vault.done.at(-1));
      return usual;
    };
    const refreshedAt = rig.clock.wall();
    const footprint = rig.footprint();
    await rig.ask(never);
    expect(seen).toEqual([{ startedAt: refreshedAt }, `set ${rig.signIn().item}`]);
    expect(await inVault(rig)).toMatchObject({ refreshedAt });
    expect(await inVault(rig)).not.toHaveProperty('attempt');
    expect(rig.footprint()['document.json']).toBe(footprint['document.json']);
  });

  it.each<[string, Page]>([
    ['a web page with 200', page(200, '<html>sign in to the Wi-Fi</html>', html)],
    ['a gateway without an answer (502)', page(502)],
  ])('stays noted after %s, since the server may have served it', async (_what, answer) => {
    const { rig, server } = await needingRefresh();
    server.answer = () => answer;
    expect(await refusal(rig.ask(never))).toMatchObject({ reason: 'authorization_server_unreachable' });
    expect(rig.signIn().state).toEqual({ kind: 'active' });
    expect(await inVault(rig)).toMatchObject({ attempt: { isUnanswered: true } });
    expect(explainSignIn(rig.parts, rig.signIn()).lostRefresh).toMatch(/^The answer to the refresh of/);
    server.answer = (_form, usual) => usual;
    rig.clock.advance(1000);
    await rig.ask(never);
    expect(lostRefreshOf(rig.parts, rig.signIn())).toBeUndefined();
    await rig.parts.audit.flush();
    expect(rig.texts().join('')).toContain('"recovered"');
  });

  it.each<[string, Page]>([
    ['a 503', page(503)],
    ['a 429', page(429)],
    ['a refusal of the client', page(401, '{"error":"unauthorized_client"}')],
  ])('is over after %s: the server answered, and replaced nothing', async (_what, answer) => {
    const { rig, server } = await needingRefresh();
    server.answer = () => answer;
    await refusal(rig.ask(never));
    expect(await inVault(rig)).not.toHaveProperty('attempt');
  });

  it('is over if no server could be reached, because nothing was sent', async () => {
    const nowhere = await deadOrigin();
    const server = oddServer(site);
    const around = { ...server };
    let isDown = false;
    around.fetch = (url, init) => server.fetch(isDown ? `${nowhere}/token` : url, init);
    const rig = await signedInRig(around);
    rig.clock.advance(hour / 2);
    // The metadata is fresh for a while: only the token request fails.
    await rig.ask({ ...never, minimumValidity: hour });
    isDown = true;
    rig.parts.cache.dropSignIn(rig.signIn().id);
    expect(await refusal(rig.ask(never))).toMatchObject({
      reason: 'authorization_server_unreachable',
      retryAfter: 1,
    });
    expect(await inVault(rig)).not.toHaveProperty('attempt');
  });

  it.each([
    [
      'during which the broker ended',
      {},
      `Keyturn stopped during the refresh of ${moment(startedAt)}, so the provider may have replaced the token ` +
        'and its answer may be lost',
    ],
    [
      'whose answer was lost',
      { isUnanswered: true },
      `The answer to the refresh of ${moment(startedAt)} was lost, so the provider may have replaced the token`,
    ],
  ])('%s is reported if the server refuses the refresh token', async (_what, more, known) => {
    const { rig, server } = await needingRefresh();
    const attempt = { startedAt, ...more };
    // As a broker leaves it that ends during a refresh, for the next one.
    await rig.parts.refresher.secrets.write(rig.signIn().item ?? '', { ...(await inVault(rig)), attempt });
    server.answer = () => page(400, '{"error":"invalid_grant"}');
    expect(await refusal(rig.ask(never))).toMatchObject({ reason: 'login_required' });
    const { state } = rig.signIn();
    expect(state).toMatchObject({
      kind: 'signInRequired',
      why: `the sign-in provider no longer takes the refresh token. ${known}`,
    });
    expect(await inVault(rig)).not.toHaveProperty('attempt');
  });

  it('no request leaves if the vault can’t note the attempt', async () => {
    const { rig } = await needingRefresh();
    rig.vault.failing.add('set');
    const sent = rig.fetched.length;
    expect(await refusal(rig.ask(never))).toMatchObject({ reason: 'vault_unavailable' });
    expect(rig.fetched.slice(sent).filter((url) => url.endsWith('/token'))).toEqual([]);
  });

  it('stays in the vault while the vault has not got the rotated token', async () => {
    const { rig, server } = await needingRefresh();
    server.answer = (_form, usual) => {
      rig.vault.failing.add('set');
      return usual;
    };
    expect(await refusal(rig.ask(never))).toMatchObject({ reason: 'vault_unavailable' });
    expect(await inVault(rig)).toMatchObject({ attempt: {} });
    rig.vault.failing.clear();
    server.answer = (_form, usual) => usual;
    await rig.ask(never);
    expect(await inVault(rig)).not.toHaveProperty('attempt');
  });
});
