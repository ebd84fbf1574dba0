/** `keyturn headers`, as a client runs it: JSON on stdout, in time, and a question that is still there afterwards. */
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { homeInWorld, until } from '../../support/home.ts';
import { askBroker, type Question, questionOf, questionsAt } from '../../support/homes/ask-broker.ts';
import { commonHome } from '../../support/homes/common-home.ts';
import * as owner from '../../support/homes/owner-acts.ts';
import { verdictOn } from '../../support/servers/notebook.ts';

/** For the tests that don't begin with a sign-in: somebody is signed in there, and no program is allowed. */
const there = commonHome();
beforeAll(() => owner.signIn(there.home, there.resource));

// A permission doesn't stay, nor does the pause after a withdrawn question, which a new permission ends.
afterEach(async ({ task }) => {
  const { home, resource } = there;
  if (task.result?.state === 'fail') await owner.clearQuestions(home);
  await owner.allow(home, 'cli', resource);
  await askBroker(home, 'permission.end', { app: 'cli', resource });
});

function tokenIn(stdout: string): string {
  const { Authorization: header } = JSON.parse(stdout) as { Authorization: string };
  return header.replace(/^Bearer /, '');
}

describe('with a permission', () => {
  it('keyturn headers prints one JSON object of texts on one line, and nothing on standard error', async () => {
    const { home, world, resource } = there;
    await owner.allow(home, 'cli', resource);
    const token = (await home.ok(['token', resource])).trim();
    const run = await home.keyturn(['headers', resource]);
    expect(run).toEqual({ code: 0, stdout: `{"Authorization":"Bearer ${token}"}\n`, stderr: '' });
    expect((await verdictOn(world, tokenIn(run.stdout))).status).toBe(200);
  });

  it('keyturn headers says on standard error if the token lives shorter than the header should', async () => {
    const { home, resource } = await homeInWorld({ issuing: { accessTokenLifetime: 120 } });
    await owner.startBroker(home);
    await owner.allow(home, 'cli', resource);
    await owner.signIn(home, resource);
    const run = await home.keyturn(['headers', resource]);
    expect(run.code).toBe(0);
    expect(run.stderr).toMatch(
      /^keyturn: this header is good for 1\d\d s, less than 300 s \(--min-validity\)/,
    );
    expect((await home.keyturn(['headers', resource, '--min-validity', '1m'])).stderr).toBe('');
  });
});

describe('where the person is needed', () => {
  it('keyturn headers ends in time, and the question waits on: after the yes and the sign-in the next run prints headers', async () => {
    const { home, world, resource } = await there.newWorld();
    const run = await home.keyturn(['headers', resource, '--timeout', '5s']);
    expect(run).toMatchObject({ code: 3, stdout: '' });
    expect(run.stderr).toContain('It stays open for ten minutes.');
    expect(run.stderr).toContain('reason: consent_pending');
    const [question] = await questionsAt(home);
    expect(run.stderr).toContain(`keyturn request approve ${question?.id}`);

    await owner.answer(home, question?.id ?? '', 'yes');
    // No program asks for a token any more.
    await until('the sign-in is done', () => world.counts().authorizationServer.codeExchanges === 1);
    const next = await home.keyturn(['headers', resource, '--no-input']);
    expect(next).toMatchObject({ code: 0, stderr: '' });
    expect((await verdictOn(world, tokenIn(next.stdout))).status).toBe(200);
  });

  it('keyturn headers leaves one question however often it runs', async () => {
    const { home, resource } = there;
    const asking = [1, 2, 3].map(() => home.keyturn(['headers', resource, '--timeout', '5s']));
    for (const run of await Promise.all(asking)) expect(run).toMatchObject({ code: 3, stdout: '' });
    const [question, ...others] = await questionsAt(home);
    expect(others).toEqual([]);
    await owner.answer(home, question?.id ?? '', 'later');
  });

  it('keyturn headers withdraws the question when it is interrupted', async () => {
    const { home, resource } = there;
    const asking = home.start(['headers', resource, '--timeout', '1m']);
    await questionOf(home, 'allow');
    asking.signal('SIGINT');
    expect(await asking.ended).toMatchObject({ code: 130, stdout: '' });
    await until('it is withdrawn', () => owner.nothingIsAsked(home));
  });

  it('keyturn headers asks as an entry of its own with --as, and gives the command line nothing', async () => {
    const { home, world, resource } = there;
    const asking = home.start(['headers', resource, '--as', 'a-helper', '--timeout', '1m']);
    for (const kind of ['pair', 'allow'] as const) {
      const { id } = await questionOf(home, kind);
      await owner.answer(home, id, 'yes');
    }
    const run = await asking.ended;
    expect(run).toMatchObject({ code: 0, stderr: '' });
    expect((await verdictOn(world, tokenIn(run.stdout))).status).toBe(200);
    const again = await home.keyturn(['headers', resource, '--as', 'a-helper', '--no-input']);
    expect(again).toEqual({ code: 0, stdout: run.stdout, stderr: '' });
    expect(await home.keyturn(['headers', resource, '--no-input'])).toMatchObject({ code: 3 });
  });

  it('keyturn headers names the scopes of --scope in the first question of an entry, and in a later one for more', async () => {
    const { home, world, resource } = await there.newWorld();
    const asked = async (kind: Question['kind']) => {
      const question = await questionOf(home, kind);
      await owner.answer(home, question.id, 'yes');
      return question;
    };
    const entry = 'a-helper-with-scopes';
    const words = (scope: string) => [
      'headers',
      resource,
      '--as',
      entry,
      '--scope',
      scope,
      '--timeout',
      '1m',
    ];
    const first = home.start(words('notes:read'));
    await asked('pair');
    expect(await asked('allow')).toMatchObject({ app: entry, scope: 'notes:read' });
    expect(await first.ended).toMatchObject({ code: 0 });
    const more = home.start(words('notes:read notes:write'));
    expect(await asked('allow')).toMatchObject({ app: entry, scope: 'notes:read notes:write' });
    const run = await more.ended;
    expect(run).toMatchObject({ code: 0 });
    expect((await verdictOn(world, tokenIn(run.stdout))).status).toBe(200);
  });

  it.each([{ once: true }, { run: true }] as const)(
    'the question of keyturn headers takes no yes for %j, since the command may have ended',
    async (lease) => {
      const { home, resource } = there;
      const asking = home.start(['headers', resource, '--timeout', '1m']);
      const { id, detached } = await questionOf(home, 'allow');
      expect(detached).toBe(true);
      await expect(askBroker(home, 'request.answer', { id, answer: 'yes', lease })).rejects.toMatchObject({
        reason: 'invalid_request',
      });
      await owner.answer(home, id, 'later');
      expect(await asking.ended).toMatchObject({ code: 3, stdout: '' });
    },
  );

  it('keyturn headers asks no person with --no-input', async () => {
    const { home, resource } = there;
    const run = await home.keyturn(['headers', resource, '--no-input']);
    expect(run).toMatchObject({ code: 3, stdout: '' });
    expect(run.stderr).toContain(`keyturn app allow cli ${resource}`);
    expect(await owner.nothingIsAsked(home)).toBe(true);
  });
});
