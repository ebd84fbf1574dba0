/** Which of its accounts a program uses: what a project file chooses, and what the person is asked once. */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { KeyturnError } from '../../src/base/errors.ts';
import type { TokenRequest } from '../../src/broker/questions/token-request.ts';
import type { Grant } from '../../src/broker/records/grant.ts';
import { revokeGrant } from '../../src/broker/revocation/revoker.ts';
import { grantAnswer } from '../../src/daemon/methods/answers.ts';
import { tokenGet } from '../../src/ipc/protocol/schemas/token-schema.ts';
import { openWorld } from '../support/world.ts';
import type { TestWorld } from '../support/world.ts';
import { brokerRig, inWorld, refusal, turnOfEvents } from './rig.ts';
import type { Rig } from './rig.ts';

let world: TestWorld;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

const folder = '/home/anna/notes';
const here = { chosenBy: { folder, mark: '7:1' } };

async function signIn(rig: Rig, who: string, account: string): Promise<Grant> {
  rig.person.account = who;
  return rig.login({ account });
}

/** `editor` may use both accounts, and none is chosen for a request that names none. */
async function twoAccounts(options: Parameters<typeof brokerRig>[1] = {}) {
  const rig = await brokerRig(inWorld(world), options);
  const work = await signIn(rig, 'alice', 'work');
  const home = await signIn(rig, 'bob', 'home');
  await allow(rig, [work, home]);
  return { rig, work, home };
}

const allow = (rig: Rig, grants: readonly Grant[], clientId = 'editor'): Promise<void> =>
  rig.broker.consent.decide({
    clientId,
    endpoint: rig.endpoint,
    decision: 'allow',
    createdAt: rig.clock.wall(),
    grants: grants.map(({ id }) => id),
  });

const inFolder = (rig: Rig, account: string, more: Partial<TokenRequest> = {}) =>
  rig.ask({ account, ...here, ...more });

async function answer(rig: Rig, verdict: 'yes' | 'no' | 'later', account?: string) {
  const { id, question } = await rig.question('choice');
  rig.parts.interactions.answer(id, verdict, account === undefined ? {} : { account });
  return question;
}

describe('a project file', () => {
  it('a project file chooses an account after a yes for its folder, and from then on without a question', async () => {
    const { rig } = await twoAccounts();
    const asked = inFolder(rig, 'home');
    expect(await answer(rig, 'yes')).toMatchObject({ accounts: ['home'], folder, clientName: 'editor' });
    expect(await asked).toMatchObject({ account: 'home' });
    expect(await inFolder(rig, 'home', { interaction: 'never' })).toMatchObject({ account: 'home' });
    const [before] = rig.parts.permissions.of('editor', rig.clock.wall());
    expect(before).not.toHaveProperty('account');
  });

  it.each([
    ['another account', { account: 'work' }],
    ['another folder', { chosenBy: { folder: `${folder}/sub`, mark: '7:1' } }],
    ['another folder at the same path', { chosenBy: { folder, mark: '8:1' } }],
  ])('what was confirmed for a project file does not count for %s', async (_what, other) => {
    const { rig } = await twoAccounts();
    const asked = inFolder(rig, 'home');
    await answer(rig, 'yes');
    await asked;
    expect(await refusal(inFolder(rig, 'home', { interaction: 'never', ...other }))).toMatchObject({
      reason: 'consent_required',
      rule: 'What a project file chooses is confirmed once in each folder, and again after a change',
    });
  });

  it('a project file whose line changed and changed back is confirmed again', async () => {
    const { rig } = await twoAccounts();
    for (const account of ['home', 'work', 'home']) {
      const asked = inFolder(rig, account);
      await answer(rig, 'yes');
      expect(await asked).toMatchObject({ account });
    }
  });

  it.each(['no', 'later'] as const)(
    'a project file that got a %s is not kept, and the next question waits',
    async (verdict) => {
      const { rig } = await twoAccounts();
      const asked = refusal(inFolder(rig, 'home'));
      await answer(rig, verdict);
      expect(await asked).toMatchObject({ reason: verdict === 'no' ? 'consent_denied' : 'consent_required' });
      expect(await refusal(inFolder(rig, 'home'))).toMatchObject({ reason: 'rate_limited', retryAfter: 1 });
      expect(await refusal(inFolder(rig, 'home', { interaction: 'never' }))).toMatchObject({
        reason: 'consent_required',
      });
      rig.clock.advance(1000);
      const again = inFolder(rig, 'home');
      await answer(rig, 'yes');
      expect(await again).toMatchObject({ account: 'home' });
    },
  );

  it('a project file allows nothing: it names an account that is not permitted, and nobody is asked', async () => {
    const { rig, work } = await twoAccounts();
    await rig.parts.permissions.end('editor', rig.endpoint);
    await allow(rig, [work]);
    expect(await refusal(inFolder(rig, 'home'))).toMatchObject({
      reason: 'consent_required',
      rule: 'A project file chooses among the accounts that a program may use, and allows none',
      hint: expect.stringContaining(
        `It may use "work" there. To allow this one: keyturn allow editor ${rig.endpoint} --account "home"`,
      ),
    });
    await rig.parts.permissions.end('editor', rig.endpoint);
    expect(await refusal(inFolder(rig, 'work'))).toMatchObject({
      hint: expect.stringContaining('It may use no account there'),
    });
    expect(rig.parts.interactions.list()).toEqual([]);
  });

  it('a project file that names an account as whom nobody is signed in says so to the command line, and no other program learns it', async () => {
    const { rig, work } = await twoAccounts();
    await rig.parts.permissions.end('editor', rig.endpoint);
    await allow(rig, [work]);
    const login = `keyturn login ${rig.endpoint} --account "hme"`;
    const told = async (account: string): Promise<string[]> => {
      const { message, hint } = (await refusal(inFolder(rig, account))) as KeyturnError;
      return [message, hint ?? ''].map((text) => text.replaceAll(`"${account}"`, '""'));
    };
    expect(await told('hme')).toEqual(await told('home'));
    await allow(rig, [work], 'cli');
    const byCommand = refusal(inFolder(rig, 'hme', { clientId: 'cli' }));
    expect(await byCommand).toMatchObject({
      reason: 'consent_required',
      message: expect.stringContaining('nobody is signed in there as "hme"'),
      hint: `Signed in there: "work", "home". Correct the line in .keyturn.toml, or add the account: ${login}`,
    });
    expect(rig.parts.interactions.list()).toEqual([]);
  });

  it('a project file gives nothing where the permission ends while its question waits', async () => {
    const { rig } = await twoAccounts();
    const asked = refusal(inFolder(rig, 'home'));
    await rig.question('choice');
    await rig.parts.permissions.end('editor', rig.endpoint);
    await answer(rig, 'yes');
    expect(await asked).toMatchObject({ reason: 'consent_required' });
    expect(rig.parts.interactions.list()).toEqual([]);
  });

  it('requests of one program in one folder share a question', async () => {
    const { rig } = await twoAccounts();
    const asked = [inFolder(rig, 'home'), inFolder(rig, 'home')];
    await rig.question('choice');
    await turnOfEvents();
    expect(rig.parts.interactions.list()).toHaveLength(1);
    await answer(rig, 'yes');
    expect(await Promise.all(asked)).toMatchObject([{ account: 'home' }, { account: 'home' }]);
  });

  it('what was confirmed for a folder of another machine does not count for a machine with another host key', async () => {
    const { rig, work, home } = await twoAccounts();
    const paired = async (name: string, key: string): Promise<string> => {
      const forward = { label: 'build.example', hostKey: `SHA256:${key.repeat(43)}` };
      const { id } = await rig.parts.clients.add(name, rig.clock.wall(), { forward });
      await allow(rig, [work, home], id);
      return id;
    };
    const first = await paired('first', 'A');
    const asked = inFolder(rig, 'home', { clientId: first });
    expect(await answer(rig, 'yes')).toMatchObject({ folder: `build.example:${folder}` });
    await asked;
    const never = { interaction: 'never' } as const;
    expect(await inFolder(rig, 'home', { clientId: first, ...never })).toMatchObject({ account: 'home' });
    const second = await paired('second', 'B');
    expect(await refusal(inFolder(rig, 'home', { clientId: second, ...never }))).toMatchObject({
      reason: 'consent_required',
    });
  });

  it.each(['build.example:/home/anna', 'notes', './notes', '\u202e/notes', ''])(
    'a program can’t name the folder %j, which no path of this machine looks like',
    (claimed) => {
      const chosenBy = { folder: claimed, mark: '7:1' };
      const asked = { resource: 'https://notes.example/mcp', account: 'home', chosenBy };
      expect(tokenGet.safeParse(asked).success).toBe(false);
      expect(tokenGet.safeParse({ ...asked, chosenBy: { ...chosenBy, folder } }).success).toBe(true);
    },
  );

  it('folders.json: a confirmation that was written into the file counts for nothing', async () => {
    const { rig } = await twoAccounts();
    const asked = inFolder(rig, 'home');
    await answer(rig, 'yes');
    await asked;
    const file = path.join(rig.folder, 'folders.json');
    const kept = readFileSync(file, 'utf8');
    expect(kept).toContain(folder);
    writeFileSync(
      file,
      kept.replace('"account": "home"', '"account": "work"').replace('"account":"home"', '"account":"work"'),
      { mode: 0o600 },
    );
    const next = await brokerRig(inWorld(world), { after: rig }).catch((error: unknown) => error);
    const outcome =
      next instanceof Error ? next : await refusal(inFolder(next as Rig, 'work', { interaction: 'never' }));
    expect(outcome).toMatchObject({ reason: 'file_unreadable' });
  });
});

describe('a program that may use several accounts', () => {
  it('a program that may use several accounts and names none is asked about once, and the answer stays', async () => {
    const { rig } = await twoAccounts();
    const asked = rig.ask();
    const question = await answer(rig, 'yes', 'home');
    expect(question).toMatchObject({ accounts: ['work', 'home'] });
    expect(question).not.toHaveProperty('folder');
    expect(await asked).toMatchObject({ account: 'home' });
    expect(await rig.ask({ interaction: 'never' })).toMatchObject({ account: 'home' });
    expect(await rig.ask({ account: 'work', interaction: 'never' })).toMatchObject({ account: 'work' });
  });

  it('a program that may use several accounts is refused with their names where nobody may be asked, or nobody chooses', async () => {
    const { rig } = await twoAccounts();
    const refused = {
      reason: 'account_required',
      message: expect.stringContaining('"work", "home"'),
      hint: expect.stringContaining(`keyturn allow editor ${rig.endpoint} --account "work"`),
    };
    expect(await refusal(rig.ask({ interaction: 'never' }))).toMatchObject(refused);
    const asked = refusal(rig.ask());
    await answer(rig, 'no');
    expect(await asked).toMatchObject(refused);
  });

  it('a yes to a choice names one of its accounts, and nothing else', async () => {
    const { rig } = await twoAccounts();
    const asked = rig.ask();
    const { id } = await rig.question('choice');
    for (const terms of [{}, { account: 'root' }, { account: 'home', once: true }]) {
      expect(() => rig.parts.interactions.answer(id, 'yes', terms)).toThrow('names one of its accounts');
    }
    rig.parts.interactions.answer(id, 'yes', { account: 'work' });
    expect(await asked).toMatchObject({ account: 'work' });
  });

  it('a program goes on as the account that it works as when another one is allowed', async () => {
    const { rig, work, home } = await twoAccounts();
    await rig.parts.permissions.end('editor', rig.endpoint);
    await allow(rig, [work]);
    await rig.ask();
    const asked = rig.ask({ account: 'home' });
    const { id } = await rig.question('allow');
    rig.parts.interactions.answer(id, 'yes');
    expect(await asked).toMatchObject({ account: 'home' });
    expect(rig.parts.permissions.of('editor', rig.clock.wall())).toMatchObject([
      { grants: [work.id, home.id], account: 'work' },
    ]);
    expect(await rig.ask({ interaction: 'never' })).toMatchObject({ account: 'work' });
  });
});

describe('the command line, which was allowed one account without an end', () => {
  it('gets another one for an hour by a yes, beside a permission that stays as it was', async () => {
    const { rig, work } = await twoAccounts();
    await allow(rig, [work], 'cli');
    const cli = { clientId: 'cli' };
    expect(await rig.ask(cli)).toMatchObject({ account: 'work' });
    const kept = rig.parts.permissions.of('cli', rig.clock.wall());
    const asked = rig.ask({ ...cli, account: 'home' });
    rig.parts.interactions.answer((await rig.question('allow')).id, 'yes');
    expect(await asked).toMatchObject({ account: 'home' });
    expect(rig.parts.permissions.of('cli', rig.clock.wall())).toEqual(kept);
    expect(kept[0]).not.toHaveProperty('until');
    expect(await rig.ask({ ...cli, interaction: 'never' })).toMatchObject({ account: 'work' });
    rig.clock.advance(3_600_000);
    const later = refusal(rig.ask({ ...cli, account: 'home', interaction: 'never' }));
    expect(await later).toMatchObject({ reason: 'consent_required' });
    expect(await rig.ask({ ...cli, interaction: 'never' })).toMatchObject({ account: 'work' });
  });
});

describe('a program that was allowed without an account, where several are signed in', () => {
  /** `editor` may have any scope until the owner ends it, as `keyturn allow` without an account says. */
  async function unnamed() {
    const ground = await twoAccounts();
    await ground.rig.parts.permissions.end('editor', ground.rig.endpoint);
    await allow(ground.rig, []);
    const permission = () => ground.rig.parts.permissions.of('editor', ground.rig.clock.wall())[0];
    return { ...ground, permission };
  }

  it('a program that was allowed without an account is asked about once, and keeps its scopes and its end', async () => {
    const { rig, home, permission } = await unnamed();
    const asked = rig.ask();
    expect(await answer(rig, 'yes', 'home')).toMatchObject({ accounts: ['work', 'home'] });
    expect(await asked).toMatchObject({ account: 'home' });
    expect(permission()).toMatchObject({ grants: [home.id], account: 'home' });
    expect(permission()).not.toHaveProperty('scope');
    expect(permission()).not.toHaveProperty('until');
    expect(await rig.ask({ interaction: 'never' })).toMatchObject({ account: 'home' });
    expect(await refusal(rig.ask({ account: 'work', interaction: 'never' }))).toMatchObject({
      reason: 'consent_required',
    });
  });

  it('a program that was allowed without an account gets no other account than the chosen one, though that ended before the answer', async () => {
    const { rig, home, permission } = await unnamed();
    const asked = refusal(rig.ask());
    await rig.question('choice');
    await revokeGrant(rig.parts, home);
    await answer(rig, 'yes', 'home');
    expect(await asked).toMatchObject({
      reason: 'login_required',
      message: expect.stringContaining('The sign-in as "home"'),
    });
    expect(permission()).not.toHaveProperty('account');
  });

  it('a program that was allowed without an account learns of none when it names a wrong one', async () => {
    const { rig } = await unnamed();
    const { hint } = (await refusal(rig.ask({ account: 'hme', interaction: 'never' }))) as KeyturnError;
    expect(hint).not.toMatch(/work|home/);
  });

  it('a program that was allowed without an account is refused with the accounts where nobody may be asked', async () => {
    const { rig } = await unnamed();
    expect(await refusal(rig.ask({ interaction: 'never' }))).toMatchObject({
      reason: 'account_required',
      message: expect.stringContaining('"work", "home"'),
      hint: `Allow it one by name, e.g. keyturn allow editor ${rig.endpoint} --account "work"`,
    });
  });

  it('a program that was allowed without an account is shown at no sign-in before one is chosen', async () => {
    const { rig, work, home } = await unnamed();
    const owner = { role: 'owner' } as Parameters<typeof grantAnswer>[2];
    const shown = () =>
      [work, home].map(({ id }) => grantAnswer(rig.broker, rig.parts.grants.byId(id) ?? work, owner).clients);
    expect(shown()).toEqual([[], []]);
    const asked = rig.ask();
    await answer(rig, 'yes', 'home');
    await asked;
    expect(shown()).toEqual([[], ['editor']]);
  });
});
