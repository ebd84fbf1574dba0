/** As whom a sign-in is: the user's names for accounts, the server's subjects, and what a page is told of them. */
import { describe, expect, it } from 'vitest';
import { type Ground, ground, parameter, refused, stepUp } from './ground.ts';

const openid = ['openid', 'read'];

/** Signs in as this subject. */
async function signInAs({ rig, authorizationServer }: Ground, subject: string, account?: string) {
  authorizationServer.settings.subject = subject;
  return rig.login({ scope: openid, ...(account === undefined ? {} : { account }) });
}

/** `editor` works as alice, and bob's session is in the browser. */
async function bobAtThePage(): Promise<Ground> {
  const all = await ground();
  await signInAs(all, 'alice');
  await all.rig.ask();
  all.authorizationServer.settings.subject = 'bob';
  return all;
}

async function answered({ rig }: Ground, kind: 'account' | 'allow', answer: 'approve' | 'deny') {
  rig.parts.approvalRequests.answer((await rig.question(kind)).id, answer);
}

describe('a label', () => {
  it('B-7: is the user’s own name for an account, and the subject stays the server’s', async () => {
    const all = await ground();
    const { rig } = all;
    expect(await signInAs(all, 'subject-1', 'work')).toMatchObject({ account: 'work', subject: 'subject-1' });
    expect(await signInAs(all, 'subject-2', 'home')).toMatchObject({ account: 'home', subject: 'subject-2' });
    expect((await signInAs(all, 'subject-1', 'work')).account).toBe('work');
    expect((await signInAs(all, 'subject-2')).account).toBe('home');
    expect(rig.parts.signIns.all()).toHaveLength(2);
  });

  it('B-7: replaces the subject as a name, and programs continue', async () => {
    const all = await ground();
    const { rig, restarted } = all;
    const { id } = await signInAs(all, 'subject-1');
    const { accessToken } = await rig.ask();
    expect(await signInAs(all, 'subject-1', 'work')).toMatchObject({
      id,
      account: 'work',
      subject: 'subject-1',
    });
    expect((await rig.ask({ interaction: 'never' })).accessToken).not.toBe(accessToken);
    const again = await restarted();
    expect((await again.ask({ account: 'work', interaction: 'never' })).account).toBe('work');
    expect((await signInAs({ ...all, rig: again }, 'subject-1')).account).toBe('work');
  });
});

describe('a step-up that comes back as another account', () => {
  it('B-7: goes on with it if the user keeps it and allows it to the program', async () => {
    const all = await bobAtThePage();
    const { rig } = all;
    const asked = rig.ask(stepUp('write'));
    await answered(all, 'account', 'approve');
    const card = await rig.question('allow');
    expect(card.question).toMatchObject({
      signIn: { account: 'bob', otherAccounts: ['alice'], isAboutAccountOnly: true },
    });
    await answered(all, 'allow', 'approve');
    expect(await asked).toMatchObject({ account: 'bob', scope: expect.arrayContaining(['write']) });
    expect((await rig.ask({ interaction: 'never' })).account).toBe('alice');
  });

  it('B-7: gives the app nothing without that second approval', async () => {
    const all = await bobAtThePage();
    const asked = refused(all.rig.ask(stepUp('write')));
    await answered(all, 'account', 'approve');
    await answered(all, 'allow', 'deny');
    expect(await asked).toMatchObject({ reason: 'consent_denied' });
    expect((await all.rig.ask({ interaction: 'never' })).account).toBe('alice');
  });

  it('is refused if the program named its account', async () => {
    const all = await bobAtThePage();
    const asked = refused(all.rig.ask({ ...stepUp('write'), account: 'alice' }));
    await answered(all, 'account', 'approve');
    const error = await asked;
    expect(error).toMatchObject({ reason: 'account_mismatch' });
    expect(error.hint).toContain('keyturn app allow editor');
  });
});

describe('login_hint', () => {
  const hints = ({ rig }: Ground) => rig.pages.map((page) => parameter(page, 'login_hint'));

  it('B-7: holds neither a label nor a subject', async () => {
    const all = await ground();
    await signInAs(all, 'subject-1', 'work');
    await all.rig.ask(stepUp('write'));
    expect(hints(all)).toEqual([undefined, undefined]);
  });

  it('B-7: holds the e-mail address of the ID token, or else its user name', async () => {
    const all = await ground();
    const { rig, authorizationServer } = all;
    const told: Record<string, unknown> = { preferred_username: 'alice' };
    authorizationServer.bend.idTokenClaims = (claims) => ({ ...claims, ...told });
    await signInAs(all, 'subject-1', 'work');
    told['email'] = 'alice@example.com';
    await rig.ask(stepUp('write'));
    await rig.ask(stepUp('admin'));
    expect(hints(all)).toEqual([undefined, 'alice', 'alice@example.com']);
    expect(rig.texts().join('')).not.toContain('alice@example.com');
  });

  it('B-7: holds only what this issuer said itself', async () => {
    const all = await ground();
    const { rig, world, authorizationServer, protectedServer } = all;
    const other = await world.openAuthorizationServer();
    const elsewhere = await world.openProtectedServer({ authorizationServers: [other] });
    authorizationServer.bend.idTokenClaims = (claims) => ({ ...claims, email: 'alice@one.example' });
    other.bend.idTokenClaims = (claims) => ({ ...claims, email: 'alice@two.example' });
    for (const resource of [protectedServer.url, elsewhere.url, protectedServer.url, elsewhere.url]) {
      await rig.login({ resource, scope: openid, account: 'work' });
    }
    expect(hints(all)).toEqual([undefined, undefined, 'alice@one.example', 'alice@two.example']);
  });

  it('tells nothing to another issuer that the server has moved to', async () => {
    const all = await ground();
    const { rig, world, protectedServer } = all;
    await rig.login({ account: 'alice@example.com' });
    const { tokenId } = await rig.ask();
    protectedServer.settings.authorizationServers = [await world.openAuthorizationServer()];
    rig.broker.rejections.reject({ appId: 'editor', token: { tokenId } });
    rig.person.isThere = false;
    const asked = rig.ask().catch(() => undefined);
    await rig.question('signIn');
    expect(hints(all)).toEqual(['alice@example.com', undefined]);
    await rig.broker.end();
    await asked;
  });
});
