/**
 * Several accounts at one server: commands of which KEYTURN_ACCOUNT or an option names one, or nothing does.
 *
 * Each test leaves the two sign-ins, and ends what it allowed.
 */
import { createHash } from 'node:crypto';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { commonHome } from '../../support/homes/common-home.ts';
import { clientOf } from '../../support/processes/bridge-client.ts';
import { useNotebook } from '../../support/servers/notebook.ts';

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

async function allow(...accounts: string[]): Promise<void> {
  const { ask, resource } = there;
  for (const account of accounts)
    await ask('permission.set', { app: 'cli', resource, decision: 'allow', account });
}

/** Who the server takes the token for. */
async function personOf(token: string): Promise<string | undefined> {
  return /alice|bob/.exec(await useNotebook(there.world, { token: token.trim() }))?.[0];
}

/** With KEYTURN_ACCOUNT; undefined: without it. */
const token = (account: string | undefined, ...options: string[]) =>
  there.home.keyturn(['token', there.resource, ...options], { env: { KEYTURN_ACCOUNT: account } });

describe('KEYTURN_ACCOUNT', () => {
  it('chooses the account for token, headers and exec, and --account wins over it', async () => {
    const { home, resource } = there;
    await allow('work', 'home');
    const env = { KEYTURN_ACCOUNT: 'home' };
    const bobs = (await token('home')).stdout.trim();
    expect(await personOf(bobs)).toBe('bob');
    expect(await personOf((await token('home', '--account', 'work')).stdout)).toBe('alice');
    const headers = JSON.parse(await home.ok(['headers', resource], { env })) as { Authorization: string };
    expect(headers.Authorization).toBe(`Bearer ${bobs}`);
    const hash = "require('node:crypto').createHash('sha256').update(process.env.NOTES).digest('hex')";
    const command = [process.execPath, '-p', hash];
    const given = await home.ok(['exec', '--env', `NOTES=${resource}`, '--', ...command], { env });
    expect(given.trim()).toBe(createHash('sha256').update(bobs).digest('hex'));
  });

  it('says nothing if it is empty, so that the person is asked which account', async () => {
    await allow('work', 'home');
    expect(await token('', '--no-input')).toMatchObject({
      code: 3,
      stdout: '',
      stderr: expect.stringContaining('none of them is chosen yet: "work", "home"'),
    });
  });

  it.each([
    ['KEYTURN_ACCOUNT', async () => token('hme')],
    ['--account', async () => token('work', '--account', 'hme')],
  ])(
    'gives no other account where %s names none that is signed in, and says which there are',
    async (_how, run) => {
      await allow('work', 'home');
      const { code, stdout, stderr } = await run();
      expect({ code, stdout }).toEqual({ code: 3, stdout: '' });
      expect(stderr).toContain('reason: account_required');
      expect(stderr).toContain(`Nobody is signed in at ${there.resource} as "hme".`);
      expect(stderr).toContain('(--account, or KEYTURN_ACCOUNT): "work", "home"');
      expect(await there.ask('request.list', {})).toEqual({ requests: [] });
    },
  );

  it('is the account of an entry’s bridge, and --account wins over it', async () => {
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
});

describe('a request that names no account', () => {
  it('a command with several accounts is refused with their names, asked once where it may ask, and then not again', async () => {
    const { home, resource } = there;
    await allow('work', 'home');
    const run = await home.keyturn(['token', resource, '--no-input']);
    expect(run).toMatchObject({ code: 3, stdout: '' });
    expect(run.stderr).toContain('reason: account_required');
    expect(run.stderr).toContain('none of them is chosen yet: "work", "home"');
    expect(run.stderr).toContain(`keyturn app allow cli ${resource} --account "work"`);

    const asking = home.start(['token', resource]);
    const { id } = await there.onlyQuestion('choice');
    await asking.says(`keyturn request approve ${id} --account "work"`);
    expect(await home.ok(['request', 'list'])).toContain(`keyturn request approve ${id} --account "home"`);
    expect(await home.keyturn(['request', 'approve', id])).toMatchObject({ code: 2 });
    await home.ok(['request', 'approve', id, '--account', 'home']);
    expect(await personOf((await asking.ended).stdout)).toBe('bob');
    expect(await personOf(await home.ok(['token', resource, '--no-input']))).toBe('bob');

    await home.ok(['app', 'allow', 'cli', resource, '--account', 'work']);
    expect(await personOf(await home.ok(['token', resource, '--no-input']))).toBe('alice');
  });
});

describe('keyturn app allow without an account', () => {
  it('where several are signed in, leads the next request to the question which one, and lists no program before', async () => {
    const { home, resource } = there;
    await home.ok(['app', 'allow', 'cli', resource]);
    const refused = await token(undefined, '--no-input');
    expect(refused).toMatchObject({
      code: 3,
      stdout: '',
      stderr: expect.stringMatching(
        /"work", "home"[^]*keyturn app allow cli .* --account "work"[^]*account_required/,
      ),
    });
    const clients = async () => (await there.ask('signIn.list', {})).signIns.map((one) => one.apps);
    expect(await clients()).toEqual([[], []]);

    const asking = home.start(['token', resource]);
    const question = await there.onlyQuestion('choice');
    expect(question).toMatchObject({ app: 'cli', accounts: ['work', 'home'] });
    await home.ok(['request', 'approve', question.id, '--account', 'home']);
    expect(await personOf((await asking.ended).stdout)).toBe('bob');
    expect((await clients()).flat()).toEqual(['cli']);
    expect(await home.ok(['app', 'list'])).toMatch(new RegExp(`${resource} +allowed +home +any`));
  });
});
