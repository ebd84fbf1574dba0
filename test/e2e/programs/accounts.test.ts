/**
 * Several accounts at one server: real commands in real folders, where a project file names one, or nothing does.
 *
 * Each test leaves the two sign-ins, and ends what it allowed.
 */
import { createHash } from 'node:crypto';
import { chownSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { commonHome } from '../../support/homes/common-home.ts';
import * as owner from '../../support/homes/owner-acts.ts';
import { clientIn } from '../../support/processes/bridge-client.ts';
import { useNotebook } from '../../support/servers/notebook.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const there = commonHome();

/** `work` is alice, `home` is bob: the server tells them apart. */
beforeAll(async () => {
  const { ask, resource, world } = there;
  for (const [person, account] of [
    ['alice', 'work'],
    ['bob', 'home'],
  ] as const) {
    await ask('settings.set', { name: 'browser', value: world.browser(`--account ${person}`) });
    await ask('login.start', { resource, account, timeout: 60 });
  }
  expect((await ask('grant.list', {})).grants).toHaveLength(2);
});

afterEach(async () => {
  const { clients } = await there.ask('client.list', {});
  for (const { name, permissions } of clients)
    for (const { resource } of permissions) await there.ask('permission.end', { client: name, resource });
});

async function allow(...accounts: string[]): Promise<void> {
  const { ask, resource } = there;
  for (const account of accounts)
    await ask('permission.set', { client: 'cli', resource, decision: 'allow', account });
}

/** A project that names an account for the server. */
function project(account: string, text = `[accounts]\n"${there.resource}" = "${account}"\n`) {
  const folder = temporaryFolder();
  const file = path.join(folder, '.keyturn.toml');
  writeFileSync(file, text, { mode: 0o600 });
  return { folder, file };
}

/** Who the server takes the token for. */
async function personOf(token: string): Promise<string | undefined> {
  return /alice|bob/.exec(await useNotebook(there.world, { token: token.trim() }))?.[0];
}

const token = (folder: string, ...options: string[]) =>
  there.home.keyturn(['token', there.resource, ...options], { folder });

async function confirm(folder: string, account: string): Promise<string> {
  const asking = there.home.start(['token', there.resource], { folder });
  const question = await there.onlyQuestion('choice');
  expect(question).toMatchObject({ client: 'cli', accounts: [account], folder });
  await asking.says(`should the project file in "${folder}" choose the account "${account}"`);
  await owner.answer(there.home, question.id, 'yes');
  return (await asking.ended).stdout;
}

const unconfirmed = /reason: consent_required/;

describe('a project file', () => {
  it('chooses the account of the nearest folder above, after one yes, for token, headers, exec and bridge', async () => {
    const { home, resource } = there;
    await allow('work', 'home');
    const { folder } = project('home');
    const below = path.join(folder, 'src', 'deep');
    mkdirSync(below, { recursive: true });
    expect(await personOf(await confirm(folder, 'home'))).toBe('bob');

    expect(await personOf((await token(below, '--no-interaction')).stdout)).toBe('bob');
    // What is typed counts before the file.
    expect(await personOf((await token(below, '--account', 'work')).stdout)).toBe('alice');
    const headers = JSON.parse(await home.ok(['headers', resource], { folder: below })) as {
      Authorization: string;
    };
    expect(await personOf(headers.Authorization.replace('Bearer ', ''))).toBe('bob');
    const hash = "require('node:crypto').createHash('sha256').update(process.env.NOTES).digest('hex')";
    const command = [process.execPath, '-p', hash];
    const given = await home.ok(['exec', '--env', `NOTES=${resource}`, '--', ...command], { folder: below });
    const bobs = (await token(folder, '--account', 'home')).stdout.trim();
    expect(given.trim()).toBe(createHash('sha256').update(bobs).digest('hex'));
    expect(await home.ok(['explain', resource, '--account', 'home'])).toContain(
      `cli (account by the project file in "${folder}")`,
    );
  });

  it('is listed once it is confirmed, and asks again once that is taken back', async () => {
    const { home, resource } = there;
    await allow('work', 'home');
    const { folder } = project('home');
    await confirm(folder, 'home');
    expect(await home.ok(['clients'])).toMatch(new RegExp(`^${folder} +${resource} +home +`, 'm'));
    const { folders } = await home.json<{ folders: object[] }>('clients');
    expect(folders).toContainEqual(expect.objectContaining({ folder, resource, account: 'home' }));
    for (const named of [folder, '.', './src']) {
      expect(await home.keyturn(['end', named, resource], { folder })).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('for a folder add --folder'),
      });
    }
    await home.ok(['end', '.', resource, '--folder'], { folder });
    expect(await home.ok(['clients'])).not.toContain(folder);
    expect(await home.keyturn(['end', folder, resource, '--folder'])).toMatchObject({
      stderr: expect.stringContaining('reason: not_found'),
    });
    expect(await token(folder, '--no-interaction')).toMatchObject({
      code: 3,
      stderr: expect.stringMatching(unconfirmed),
    });
  });

  it('that nobody confirmed gives no token, and says how to confirm it', async () => {
    await allow('work', 'home');
    const { folder } = project('home');
    const run = await token(folder, '--no-interaction');
    expect(run).toMatchObject({ code: 3, stdout: '', stderr: expect.stringMatching(unconfirmed) });
    expect(run.stderr).toContain('What a project file chooses is confirmed once in each folder');
  });

  it('allows nothing: where the account isn’t permitted, it is refused with the command that allows it', async () => {
    await allow('work');
    const { folder } = project('home');
    const run = await token(folder);
    expect(run).toMatchObject({ code: 3, stdout: '', stderr: expect.stringMatching(unconfirmed) });
    expect(run.stderr).toContain('It may use "work" there.');
    expect(run.stderr).toContain(`keyturn allow cli ${there.resource} --account "home"`);
    expect(await there.ask('interaction.list', {})).toEqual({ interactions: [] });
  });

  it('is confirmed anew when it names another account, and when another folder takes the place of its own', async () => {
    await allow('work', 'home');
    const { folder, file } = project('home');
    await confirm(folder, 'home');
    writeFileSync(file, `[accounts]\n"${there.resource}" = "work"\n`);
    expect(await token(folder, '--no-interaction')).toMatchObject({
      code: 3,
      stderr: expect.stringMatching(unconfirmed),
    });
    // Attack: the same line at the same path, in a folder that somebody put there.
    const other = project('home');
    renameSync(folder, `${folder}.old`);
    onTestFinished(() => rmSync(`${folder}.old`, { recursive: true }));
    renameSync(other.folder, folder);
    expect(await token(folder, '--no-interaction')).toMatchObject({
      code: 3,
      stderr: expect.stringMatching(unconfirmed),
    });
    expect(await personOf(await confirm(folder, 'home'))).toBe('bob');
  });

  it('does not count through a path with a symbolic link as another folder', async () => {
    await allow('work', 'home');
    const { folder } = project('home');
    await confirm(folder, 'home');
    const link = path.join(temporaryFolder(), 'link');
    symlinkSync(folder, link);
    expect(await token(link, '--no-interaction')).toMatchObject({ code: 0 });
  });

  it('lets an entry’s bridge work as its account', async () => {
    const { ask, home, resource } = there;
    const { folder } = project('home');
    const entry = 'an-editor';
    const started = clientIn(folder, home, resource, '--as', entry);
    const answer = async (kind: 'pair' | 'choice'): Promise<void> => {
      const { id } = await there.onlyQuestion(kind);
      await ask('interaction.answer', { id, answer: 'yes' });
    };
    started.catch(() => undefined);
    await answer('pair');
    // Nothing is permitted yet, and a file permits nothing.
    await expect(started).rejects.toMatchObject({ data: { reason: 'consent_required' } });
    for (const account of ['work', 'home'])
      await ask('permission.set', { client: entry, resource, decision: 'allow', account });
    const again = clientIn(folder, home, resource, '--as', entry);
    await answer('choice');
    const { client } = await again;
    expect(JSON.stringify(await client.callTool({ name: 'list-notes' }))).toContain('bob');
    await ask('client.remove', { client: entry });
  });
});

describe('a project file that can’t be used is refused, and no other account is used', () => {
  const refused = async (folder: string, words: string): Promise<void> => {
    const run = await token(folder);
    expect(run).toMatchObject({ code: 7, stdout: '' });
    expect(run.stderr).toContain('reason: file_unreadable');
    expect(run.stderr).toContain(words);
  };

  // The other ways: test/cli/project/project-file.test.ts.
  it('with an unknown table', async () => {
    const { folder } = project('', '[accounts]\n[issuers]\n');
    await refused(folder, 'line 2: "issuers" is nothing that Keyturn knows');
  });

  it('and none in the home folder itself is looked at', async () => {
    await allow('work');
    const { folder } = project('', 'command = "x"\n');
    const inHome = { folder, env: { HOME: folder } };
    expect(await there.home.keyturn(['token', there.resource], inHome)).toMatchObject({ code: 0 });
  });

  it.skipIf(process.getuid?.() !== 0)(
    'and a folder of another user is not looked in, nor one above it',
    async () => {
      await allow('work');
      const { folder } = project('', 'command = "x"\n');
      const foreign = path.join(folder, 'foreign');
      mkdirSync(foreign);
      chownSync(foreign, 65_534, 65_534);
      expect(await token(foreign)).toMatchObject({ code: 0 });
    },
  );
});

describe('without a project file', () => {
  it('a command with several accounts is refused with their names, asked once where it may ask, and then not again', async () => {
    const { home, resource } = there;
    await allow('work', 'home');
    const run = await home.keyturn(['token', resource, '--no-interaction']);
    expect(run).toMatchObject({ code: 3, stdout: '' });
    expect(run.stderr).toContain('reason: account_required');
    expect(run.stderr).toContain('none of them is chosen yet: "work", "home"');
    expect(run.stderr).toContain(`keyturn allow cli ${resource} --account "work"`);

    const asking = home.start(['token', resource]);
    const { id } = await there.onlyQuestion('choice');
    await asking.says(`keyturn answer ${id} yes --account "work"`);
    expect(await home.ok(['pending'])).toContain(`keyturn answer ${id} yes --account "home"`);
    expect(await home.keyturn(['answer', id, 'yes'])).toMatchObject({ code: 2 });
    await home.ok(['answer', id, 'yes', '--account', 'home']);
    expect(await personOf((await asking.ended).stdout)).toBe('bob');
    expect(await personOf(await home.ok(['token', resource, '--no-interaction']))).toBe('bob');

    await home.ok(['allow', 'cli', resource, '--account', 'work']);
    expect(await personOf(await home.ok(['token', resource, '--no-interaction']))).toBe('alice');
  });
});

describe('keyturn allow without an account', () => {
  it('where several are signed in, leads the next request to the question which one, and lists no program before', async () => {
    const { home, resource } = there;
    await home.ok(['allow', 'cli', resource]);
    const folder = temporaryFolder();
    const refused = await token(folder, '--no-interaction');
    expect(refused).toMatchObject({
      code: 3,
      stdout: '',
      stderr: expect.stringMatching(
        /"work", "home"[^]*keyturn allow cli .* --account "work"[^]*account_required/,
      ),
    });
    const clients = async () => (await there.ask('grant.list', {})).grants.map((one) => one.clients);
    expect(await clients()).toEqual([[], []]);

    const asking = home.start(['token', resource], { folder });
    const question = await there.onlyQuestion('choice');
    expect(question).toMatchObject({ client: 'cli', accounts: ['work', 'home'] });
    await home.ok(['answer', question.id, 'yes', '--account', 'home']);
    expect(await personOf((await asking.ended).stdout)).toBe('bob');
    expect((await clients()).flat()).toEqual(['cli']);
    expect(await home.ok(['clients'])).toMatch(new RegExp(`${resource} +allow +home +any`));
  });
});
