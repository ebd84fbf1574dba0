/** A refresh with an unknown outcome: noted before the request is sent, reported, and settled by the next one. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { moment } from '../../../src/base/errors.ts';
import { explainGrant, leftOver } from '../../../src/broker/explain.ts';
import { deadOrigin, openSite } from '../../oauth/site.ts';
import type { Page, Site } from '../../oauth/site.ts';
import { oddServer } from '../odd-server.ts';
import type { OddServer } from '../odd-server.ts';
import { brokerRig, refusal } from '../rig.ts';
import type { Rig } from '../rig.ts';

let site: Site;
beforeAll(async () => void (site = await openSite()));
afterAll(() => site.close());

const hour = 3_600_000;
const never = { interaction: 'never' } as const;

async function needingRefresh(): Promise<{ rig: Rig; server: OddServer }> {
  const server = oddServer(site);
  const rig = await brokerRig(server);
  await rig.allow();
  await rig.login();
  rig.clock.advance(hour);
  return { rig, server };
}

/** The grant on disk, as a broker that starts now would read it. */
const onDisk = ({ folder }: Rig) => {
  const lines = readFileSync(path.join(folder, 'grants.jsonl'), 'utf8').trimEnd().split('\n');
  return JSON.parse(lines.at(-1) ?? '').put;
};

const page = (status: number, body = '', headers: Record<string, string> = {}): Page => ({
  status,
  body,
  headers,
});
const html = { 'content-type': 'text/html' };

const startedAt = Date.UTC(2026, 0, 2, 3, 4, 5);

describe('an attempt', () => {
  it('an attempt is on the disk before the request leaves, and gone when the outcome is kept', async () => {
    const { rig, server } = await needingRefresh();
    const seen: unknown[] = [];
    server.answer = (_form, usual) => {
      seen.push(onDisk(rig).attempt);
      return usual;
    };
    const refreshedAt = rig.clock.wall();
    await rig.ask(never);
    expect(seen).toEqual([{ startedAt: refreshedAt }]);
    expect(onDisk(rig).attempt).toBeUndefined();
    expect(onDisk(rig).lastRefreshedAt).toBe(refreshedAt);
  });

  it.each<[string, Page]>([
    ['a web page with 200', page(200, '<html>sign in to the Wi-Fi</html>', html)],
    ['a 200 that is no token answer', page(200, '{}')],
    ['a gateway without an answer (502)', page(502)],
    ['a gateway that waited too long (504)', page(504)],
  ])('an attempt stays noted after %s, since the server may have served it', async (_what, answer) => {
    const { rig, server } = await needingRefresh();
    server.answer = () => answer;
    expect(await refusal(rig.ask(never))).toMatchObject({ reason: 'authorization_server_unreachable' });
    expect(onDisk(rig)).toMatchObject({ state: { kind: 'active' }, attempt: { isUnanswered: true } });
    expect(explainGrant(rig.parts, rig.grant()).attempt).toMatch(/^The server's answer to the refresh of/);
    server.answer = (_form, usual) => usual;
    rig.clock.advance(1000);
    await rig.ask(never);
    expect(leftOver(rig.parts, rig.grant())).toBeUndefined();
    await rig.parts.audit.flush();
    expect(rig.texts().join('')).toContain('"recovered"');
  });

  it.each<[string, Page]>([
    ['a 503', page(503)],
    ['a 429', page(429)],
    ['a redirect', page(302, '', { location: 'https://portal.example/' })],
    ['a refusal of the client', page(401, '{"error":"unauthorized_client"}')],
    ['a refusal of the resource', page(400, '{"error":"invalid_target"}')],
  ])('an attempt is over after %s: the server answered, and replaced nothing', async (_what, answer) => {
    const { rig, server } = await needingRefresh();
    server.answer = () => answer;
    await refusal(rig.ask(never));
    expect(onDisk(rig).attempt).toBeUndefined();
  });

  it('an attempt is over if no server could be reached, because nothing was sent', async () => {
    const nowhere = await deadOrigin();
    const server = oddServer(site);
    const around = { ...server };
    let isDown = false;
    around.fetch = (url, init) => server.fetch(isDown ? `${nowhere}/token` : url, init);
    const rig = await brokerRig(around);
    await rig.allow();
    await rig.login();
    rig.clock.advance(hour / 2);
    // The metadata is fresh for a while: only the token request fails.
    await rig.ask({ ...never, minimumValidity: hour });
    isDown = true;
    rig.parts.cache.dropGrant(rig.grant().id);
    expect(await refusal(rig.ask(never))).toMatchObject({
      reason: 'authorization_server_unreachable',
      retryAfter: 1,
    });
    expect(onDisk(rig).attempt).toBeUndefined();
  });

  it('an attempt of a broker that crashed is reported as such, and success clears it', async () => {
    const { rig } = await needingRefresh();
    await rig.parts.grants.change(rig.grant(), { attempt: { startedAt } });
    expect(explainGrant(rig.parts, rig.grant()).attempt).toBe(
      `The broker ended during the refresh of ${moment(startedAt)}. ` +
        'The next refresh will show whether the server still takes the token that is stored.',
    );
    await rig.ask(never);
    expect(onDisk(rig).attempt).toBeUndefined();
  });

  it('an attempt of a broker that crashed is still reported after any later failure', async () => {
    const { rig, server } = await needingRefresh();
    const attempt = { startedAt: Date.UTC(2026, 0, 2) };
    await rig.parts.grants.change(rig.grant(), { attempt });
    server.answer = () => page(503);
    await refusal(rig.ask(never));
    expect(onDisk(rig).attempt).toEqual(attempt);
  });

  it.each([
    [
      'during which the broker ended',
      {},
      `The broker ended during the refresh of ${moment(startedAt)}, so the server may have replaced the token ` +
        'and the answer may have been lost',
    ],
    [
      'whose answer was lost',
      { isUnanswered: true },
      `The answer to the refresh of ${moment(startedAt)} was lost, so the server may have replaced the token`,
    ],
  ])(
    'an attempt %s is reported if the server refuses the token, with no more than is known',
    async (_what, more, known) => {
      const { rig, server } = await needingRefresh();
      const attempt = { startedAt, ...more };
      await rig.parts.grants.change(rig.grant(), { attempt });
      server.answer = () => page(400, '{"error":"invalid_grant"}');
      expect(await refusal(rig.ask(never))).toMatchObject({ reason: 'login_required' });
      const { state } = onDisk(rig);
      expect(state).toMatchObject({
        kind: 'loginRequired',
        why: `the server no longer takes the refresh token. ${known}`,
        cause: 'refreshLost',
      });
      expect(onDisk(rig).attempt).toBeUndefined();
    },
  );

  it('an attempt is not named as the reason if it was answered', async () => {
    const { rig, server } = await needingRefresh();
    server.answer = () => page(400, '{"error":"invalid_grant"}');
    await refusal(rig.ask(never));
    expect(onDisk(rig).state).toMatchObject({
      why: 'the server ended the refresh token',
      cause: 'refreshTokenEnded',
    });
  });

  it('an attempt stays noted while the vault has not got the rotated token', async () => {
    const { rig } = await needingRefresh();
    rig.vault.failing.add('set');
    expect(await refusal(rig.ask(never))).toMatchObject({ reason: 'vault_unavailable' });
    expect(onDisk(rig).attempt).toMatchObject({ isUnanswered: true });
    rig.vault.failing.clear();
    await rig.ask(never);
    expect(onDisk(rig).attempt).toBeUndefined();
  });

  it('an attempt is forgotten with a new sign-in', async () => {
    const { rig } = await needingRefresh();
    await rig.parts.grants.change(rig.grant(), { attempt: { startedAt: 1 } });
    await rig.login();
    expect(onDisk(rig).attempt).toBeUndefined();
  });
});

describe('a network with a captive portal', () => {
  const portals: [string, Page][] = [
    ['a page', page(200, '<!doctype html><p>Welcome to our Wi-Fi', html)],
    ['a redirect', page(302, '', { location: 'https://portal.example/login' })],
    ['status 511', page(511, '<p>sign in', html)],
  ];

  it.each(portals)(
    'a captive portal that answers refreshes with %s harms no grant, and is named',
    async (_what, answer) => {
      const { rig, server } = await needingRefresh();
      server.answer = () => answer;
      const error = await refusal(rig.ask(never));
      expect(error).toMatchObject({ reason: 'authorization_server_unreachable', retryAfter: 1 });
      expect(error).toMatchObject({ hint: expect.stringContaining('sign-in page of a network') });
      expect(rig.grant().state).toEqual({ kind: 'active' });
      server.answer = (_form, usual) => usual;
      rig.clock.advance(1000);
      expect((await rig.ask(never)).accessToken).toBeTypeOf('string');
    },
  );

  it.each(portals)(
    'a captive portal that answers for metadata with %s harms no grant',
    async (_what, answer) => {
      const { rig } = await needingRefresh();
      rig.parts.servers.forget();
      const metadata = '/.well-known/oauth-authorization-server';
      site.lay(metadata, answer);
      const error = await refusal(rig.ask(never));
      expect(error).toMatchObject({ reason: 'authorization_server_unreachable', retryAfter: 1 });
      expect(rig.grant().state).toEqual({ kind: 'active' });
      expect(onDisk(rig).attempt).toBeUndefined();
    },
  );
});
