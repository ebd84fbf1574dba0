/** What servers answer when something goes wrong, row by row: none of it costs the credentials that are there. */
import { describe, expect, it } from 'vitest';
import { cutOff, html, json } from '../support/bent/server.ts';
import type { Answer, RecordedRequest } from '../support/bent/server.ts';
import { aWhile, anHour, ground, never, refused } from './ground.ts';
import type { Ground } from './ground.ts';

const form = (body: string, status: number): Answer => ({
  status,
  headers: { 'content-type': 'application/x-www-form-urlencoded' },
  body,
});

const troubles: readonly (readonly [string, Answer])[] = [
  ['a 500 that says invalid_grant', json({ error: 'invalid_grant' }, 500)],
  ['a 429', { status: 429, headers: { 'retry-after': '61' } }],
  ['a web page with status 200', html('<h1>Sign in to this network</h1>')],
  ['a broken connection', 'destroy'],
  ['an answer that breaks off', cutOff('{"access_token":"')],
];

const refusals: readonly (readonly [string, Answer])[] = [
  ['an empty 401', { status: 401 }],
  ['400 with an empty body', { status: 400 }],
  ['400 invalid_grant', json({ error: 'invalid_grant' }, 400)],
  ['invalid_grant as a form', form('error=invalid_grant', 400)],
  ['401 invalid_client', json({ error: 'invalid_client' }, 401)],
];

/** The next requests of this grant type are answered so. */
function answering({ authorizationServer }: Ground, grantType: string, answer: Answer | undefined): void {
  authorizationServer.bend.tokenRequest = (request: RecordedRequest) =>
    request.form.get('grant_type') === grantType ? answer : undefined;
}

/** Its item; a note of a refresh, and the number of the document, are no credentials. */
async function stored({ rig }: Ground): Promise<string> {
  const secret: object = JSON.parse(await rig.vault.get(rig.signIn().item ?? ''));
  return JSON.stringify({ ...secret, attempt: undefined, beside: undefined });
}

/** The sign-in gives tokens again, without a page. */
async function goesOn({ rig }: Ground): Promise<void> {
  const pages = rig.pages.length;
  rig.clock.advance(anHour);
  expect((await rig.ask(never)).accessToken).toBeTypeOf('string');
  expect(rig.pages).toHaveLength(pages);
}

describe('the refresh token', () => {
  it.each([...troubles, ...refusals])(
    'T-3: survives a new sign-in whose code gets %s',
    async (_what, answer) => {
      const all = await ground();
      await all.rig.ask();
      const before = await stored(all);
      answering(all, 'authorization_code', answer);
      await refused(all.rig.login());
      expect(await stored(all)).toBe(before);
      expect(all.rig.signIn().state).toEqual({ kind: 'active' });
      answering(all, 'authorization_code', undefined);
      await goesOn(all);
    },
  );

  it.each(troubles)('T-3: survives a refresh that gets %s, byte for byte', async (_what, answer) => {
    const all = await ground();
    await all.rig.ask();
    const before = await stored(all);
    answering(all, 'refresh_token', answer);
    for (let n = 0; n < 4; n += 1) {
      all.rig.clock.advance(n === 0 ? anHour : aWhile);
      await refused(all.rig.ask(never));
    }
    expect(await stored(all)).toBe(before);
    expect(all.rig.signIn().state).toEqual({ kind: 'active' });
    answering(all, 'refresh_token', undefined);
    await goesOn(all);
  });

  it.each(refusals)('stays in the vault after a refresh that gets %s', async (_what, answer) => {
    const all = await ground();
    await all.rig.ask();
    const before = await stored(all);
    answering(all, 'refresh_token', answer);
    all.rig.clock.advance(anHour);
    await refused(all.rig.ask(never));
    expect(await stored(all)).toBe(before);
  });
});
