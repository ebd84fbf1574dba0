/**
 * Several accounts at one server: commands of which KEYTURN_ACCOUNT or an option names one, or nothing does.
 *
 * Each test leaves the two sign-ins, and ends what it allowed.
 */
import { afterEach, beforeAll, expect, it } from 'vitest';
import { commonHome } from '../../support/homes/common-home.ts';
import { clientOf } from '../../support/processes/bridge-client.ts';

const there = commonHome();

/** `work` is alice, `home` is bob: the server tells them apart. */
beforeAll(async () => {
  const { ask, resource, world } = there;
  for (const [person, account] of [
    ['alice', 'work'],
    ['bob', 'home'],
  ] as const) {
    await ask('settings.set', { name: 'browser', value: world.browser(`--account ${person}`) });
    await ask('signIn.start', { resource, account, timeout: 60 });
  }
  expect((await ask('signIn.list', {})).signIns).toHaveLength(2);
});

afterEach(async () => {
  const { apps: clients } = await there.ask('app.list', {});
  for (const { name, permissions } of clients)
    for (const { resource } of permissions) await there.ask('permission.end', { app: name, resource });
});

it('KEYTURN_ACCOUNT is the account of an entry’s bridge, and --account wins over it', async () => {
  const { ask, home, resource } = there;
  const entry = 'an-editor';
  const env = { ...home.env, KEYTURN_ACCOUNT: 'home' };
  const started = clientOf({ env }, resource, '--as', entry);
  started.catch(() => undefined);
  for (const kind of ['pair', 'allow'] as const) {
    const { id, ...question } = await there.onlyQuestion(kind);
    if (kind === 'allow') expect(question).toMatchObject({ account: 'home' });
    await ask('request.answer', { id, answer: 'yes' });
  }
  const notesOf = async ({ client }: Awaited<ReturnType<typeof clientOf>>) =>
    JSON.stringify(await client.callTool({ name: 'list-notes' }));
  expect(await notesOf(await started)).toContain('bob');
  await ask('permission.set', { app: entry, resource, decision: 'allow', account: 'work' });
  expect(await notesOf(await clientOf({ env }, resource, '--as', entry, '--account', 'work'))).toContain(
    'alice',
  );
  const connect = ['connect', '--json', resource, '--as', entry, '--account', 'work'];
  expect(JSON.parse(await home.ok(connect))).toMatchObject({
    args: expect.arrayContaining(['bridge', resource, '--as', entry, '--account=work']),
  });
  await ask('app.remove', { app: entry });
});
