/** What servers answer when something goes wrong, row by row: none of it costs the credentials that are there. */
import { expect, it } from 'vitest';
import { cutOff, html, json, type Answer } from '../support/bent/server.ts';
import { hour, ground, keptItem, never, refused } from './ground.ts';

const form: Answer = {
  status: 400,
  headers: { 'content-type': 'application/x-www-form-urlencoded' },
  body: 'error=invalid_grant',
};

const answers: readonly (readonly [string, Answer])[] = [
  ['a 500 that says invalid_grant', json({ error: 'invalid_grant' }, 500)],
  ['a 429', { status: 429, headers: { 'retry-after': '61' } }],
  ['a web page with status 200', html('<h1>Sign in to this network</h1>')],
  ['a broken connection', 'destroy'],
  ['an answer that breaks off', cutOff('{"access_token":"')],
  ['an empty 401', { status: 401 }],
  ['400 with an empty body', { status: 400 }],
  ['400 invalid_grant', json({ error: 'invalid_grant' }, 400)],
  ['invalid_grant as a form', form],
  ['401 invalid_client', json({ error: 'invalid_client' }, 401)],
];

it.each(answers)('T-3: a sign-in survives a new one whose code gets %s', async (_what, answer) => {
  const { rig, authorizationServer } = await ground();
  await rig.ask();
  const before = await keptItem(rig);
  authorizationServer.bend.tokenRequest = () => answer;
  await refused(rig.login());
  expect(await keptItem(rig)).toEqual(before);
  expect(rig.signIn().state).toEqual({ kind: 'active' });
  authorizationServer.bend.tokenRequest = undefined;
  const pages = rig.pages.length;
  rig.clock.advance(hour);
  expect((await rig.ask(never)).accessToken).toBeTypeOf('string');
  expect(rig.pages).toHaveLength(pages);
});
