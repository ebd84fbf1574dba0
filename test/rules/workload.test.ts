/** Workload identity: a token for an assertion of this machine's platform (RFC 7523), off unless entered. */
import { chmodSync, mkdirSync, readFileSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { newSigningKey, type Json } from '../support/bent/jwt.ts';
import { json } from '../support/bent/server.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { enter, ground, never, refused, tokenRequests, words } from './ground.ts';

const jwtBearer = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const platform = 'https://platform.example';

const inSeconds = (seconds: number): number => Math.floor(Date.now() / 1000) + seconds;

/** A workload whose assertion lies in a file, as its platform mounts it. */
async function workload(source: (file: string) => string = (file) => `file:${file}`) {
  const all = await ground();
  const { rig, authorizationServer } = all;
  const key = newSigningKey();
  authorizationServer.settings.platforms = [{ issuer: platform, jwk: key.jwk }];
  const file = path.join(temporaryFolder(), 'token');
  const assertion = (claims: Json = {}): string =>
    key.sign(
      {},
      { iss: platform, sub: 'job-1', aud: authorizationServer.issuer, exp: inSeconds(600), ...claims },
    );
  const lay = (text: string): string => {
    writeFileSync(file, `${text}\n`);
    return text;
  };
  const laid = lay(assertion());
  await enter(rig, authorizationServer, { grantType: 'jwt-bearer', assertion: source(file) });
  const redemptions = () => tokenRequests(authorizationServer, jwtBearer);
  return { ...all, file, assertion, lay, laid, redemptions };
}

describe('workload identity', () => {
  it('P-10: an assertion from a file becomes a token without a question', async () => {
    const { rig, protectedServer, authorizationServer, laid, redemptions } = await workload();
    const token = await rig.ask(never);
    expect(token).toMatchObject({ resource: protectedServer.url, issuer: authorizationServer.issuer });
    expect(rig.pages).toEqual([]);
    expect(Object.fromEntries(redemptions()[0]?.form ?? [])).toMatchObject({
      assertion: laid,
      resource: protectedServer.url,
      scope: 'read',
      client_id: 'by-hand',
    });
  });

  it('P-10: an assertion is read again for each token, through replaced links too', async () => {
    const { rig, file, assertion, redemptions } = await workload();
    const folder = path.dirname(file);
    const mounted = (name: string): string => {
      const text = assertion({ jti: name });
      mkdirSync(path.join(folder, name));
      writeFileSync(path.join(folder, name, 'token'), text);
      unlinkSync(file);
      symlinkSync(path.join(name, 'token'), file);
      return text;
    };
    const first = mounted('first');
    await rig.ask(never);
    const second = mounted('second');
    rig.clock.advance(3_600_000);
    await rig.ask(never);
    expect(redemptions().map(({ form }) => form.get('assertion'))).toEqual([first, second]);
  });

  it('P-10: an assertion comes from a command without a shell, or the environment', async () => {
    const byCommand = await workload((file) => `command:/bin/cat ${file}`);
    expect((await byCommand.rig.ask(never)).accessToken).toBeTypeOf('string');
    onTestFinished(() => void delete process.env['KEYTURN_TEST_ASSERTION']);
    const byEnvironment = await workload(() => 'env:KEYTURN_TEST_ASSERTION');
    expect(await refused(byEnvironment.rig.ask(never))).toMatchObject({
      reason: 'assertion_invalid',
      message: expect.stringContaining('was started without it'),
    });
    process.env['KEYTURN_TEST_ASSERTION'] = byEnvironment.laid;
    expect((await byEnvironment.rig.ask(never)).accessToken).toBeTypeOf('string');
  });

  it('P-11: an assertion is in no file of ours, no list and no audit row', async () => {
    const { rig, laid } = await workload();
    await rig.ask(never);
    await rig.parts.audit.flush();
    for (const text of rig.texts()) expect(text).not.toContain(laid);
    expect(await rig.vault.get(rig.signIn().item ?? '')).not.toContain(laid);
  });

  it.each<[string, (issuer: string) => Json, string]>([
    ['has expired', () => ({ exp: inSeconds(-600) }), 'expired at'],
    ['is not valid yet', () => ({ nbf: inSeconds(300) }), 'not valid before'],
    ['is for another server', () => ({ aud: 'https://other.example' }), 'its audience is not'],
    ['names no audience', () => ({ aud: undefined }), 'no signed JWT with'],
    ['has no end', () => ({ exp: undefined }), 'no signed JWT with'],
  ])('P-11: sends no assertion that %s', async (_what, claims, said) => {
    const { rig, lay, assertion, authorizationServer, redemptions } = await workload();
    const bad = lay(assertion(claims(authorizationServer.issuer)));
    const error = await refused(rig.ask(never));
    expect(error).toMatchObject({ reason: 'assertion_invalid', message: expect.stringContaining(said) });
    expect(words(error)).not.toContain(bad);
    expect(redemptions()).toEqual([]);
    // It ends by itself: the platform lays another one.
    lay(assertion());
    expect((await rig.ask(never)).accessToken).toBeTypeOf('string');
  });

  it('P-11: sends no assertion without a signature', async () => {
    const { rig, lay, laid, redemptions } = await workload();
    lay(`${laid.split('.').slice(0, 2).join('.')}.`);
    expect(await refused(rig.ask(never))).toMatchObject({ reason: 'assertion_invalid' });
    expect(redemptions()).toEqual([]);
  });

  it('P-10: sends a refused assertion again after a minute, a change or a request', async () => {
    const { rig, authorizationServer, lay, assertion, redemptions } = await workload();
    authorizationServer.bend.tokenAnswer = () => json({ error: 'invalid_grant' }, 400);
    expect(await refused(rig.ask(never))).toMatchObject({ reason: 'assertion_invalid' });
    const again = await refused(rig.ask(never));
    expect(again).toMatchObject({ reason: 'assertion_invalid', retryAfter: 60 });
    expect(redemptions()).toHaveLength(1);
    rig.clock.advance(60_000);
    await refused(rig.ask(never));
    expect(redemptions()).toHaveLength(2);
    lay(assertion({ jti: 'another' }));
    await refused(rig.ask(never));
    expect(redemptions()).toHaveLength(3);
    await refused(rig.login());
    expect(redemptions()).toHaveLength(4);
    authorizationServer.bend.tokenAnswer = undefined;
    rig.clock.advance(60_000);
    expect((await rig.ask(never)).accessToken).toBeTypeOf('string');
  });

  it('restarts a failed command only after ten seconds, and quotes none of it', async () => {
    const folder = temporaryFolder();
    const script = path.join(folder, 'print');
    writeFileSync(script, `#!/bin/sh\necho run >> ${folder}/runs\necho s3cret >&2\nexit 1\n`);
    chmodSync(script, 0o700);
    const { rig } = await workload(() => `command:${script}`);
    const runs = (): number => readFileSync(path.join(folder, 'runs'), 'utf8').trim().split('\n').length;
    expect(words(await refused(rig.ask(never)))).not.toContain('s3cret');
    expect(await refused(rig.ask(never))).toMatchObject({ reason: 'assertion_invalid', retryAfter: 10 });
    expect(runs()).toBe(1);
    rig.clock.advance(10_000);
    await refused(rig.ask(never));
    expect(runs()).toBe(2);
  });
});
