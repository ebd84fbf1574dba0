/** API keys by the commands that stand between Keyturn and a program: `headers`, `exec` and `bridge`. */
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { openSharedHome, type SharedHome } from '../../support/bent/home.ts';
import { type TestHome, until } from '../../support/home.ts';
import { askBroker, type Question, questionOf, questionsAt } from '../../support/homes/ask-broker.ts';
import * as owner from '../../support/homes/owner-acts.ts';
import { clientOf } from '../../support/processes/bridge-client.ts';
import { paired } from '../../support/processes/program.ts';
import { newKey, openKeyServer } from '../../support/servers/key-server.ts';

const hash = (text: string): string => createHash('sha256').update(text).digest('hex');

/** One home and one broker for all tests of this file. Each has a server of its own, and entries of its own names. */
let shared: SharedHome;
beforeAll(async () => {
  shared = await openSharedHome();
});
afterEach(async ({ task }) => {
  if (task.result?.state === 'fail') await owner.clearQuestions(shared.home);
});
afterAll(() => shared.close());

interface Place {
  readonly header: string;
  readonly scheme?: string;
}

/** A server that takes a key, and the home where that key is set in this place. */
async function keyScene(place: Place = { header: 'X-Api-Key' }) {
  const { home } = shared;
  const key = newKey();
  const server = await openKeyServer(shared.world, { header: 'x-api-key', value: key });
  const { url } = server;
  const set = async (at: Place) => askBroker(home, 'apiKey.set', { resource: url, value: key, ...at });
  await set(place);
  const decide = async (decision: 'allow' | 'deny') =>
    askBroker(home, 'apiKey.permission.set', { app: 'cli', resource: url, decision });
  return { home, key, server, url, set, decide };
}

/** Answers the question about the key that this program raised. */
async function answer(home: TestHome, client: string, verdict: 'yes' | 'no'): Promise<Question> {
  const question = await until('the question about the key', async () =>
    (await questionsAt(home)).find(
      ({ kind, app: who, apiKey: key }) => kind === 'allow' && who === client && key !== undefined,
    ),
  );
  await owner.answer(home, question.id, verdict);
  return question;
}

async function answerPairing(home: TestHome, client: string): Promise<void> {
  const { id } = await questionOf(home, 'pair', client);
  await owner.answer(home, id, 'yes');
}

describe('headers', () => {
  it('keyturn headers prints the key’s own header if the key is allowed, however long the header should be good', async () => {
    const { home, key, url, server, decide } = await keyScene();
    await decide('allow');
    const run = await home.keyturn(['headers', url, '--min-validity', '1440m']);
    expect(run).toEqual({ code: 0, stdout: `${JSON.stringify({ 'X-Api-Key': key })}\n`, stderr: '' });
    const headers = JSON.parse(run.stdout) as Record<string, string>;
    expect((await shared.world.fetch(url, { headers })).status).toBe(200);
    expect(server.served).toHaveLength(1);
  });

  it('keyturn headers prints the whole value if a word stands before the key', async () => {
    const { home, key, url, set, decide } = await keyScene({ header: 'Authorization', scheme: 'Token' });
    await decide('allow');
    expect(JSON.parse(await home.ok(['headers', url]))).toEqual({ Authorization: `Token ${key}` });
    await set({ header: 'Authorization' });
    await decide('allow');
    expect(JSON.parse(await home.ok(['headers', url]))).toEqual({ Authorization: key });
  });

  it('keyturn headers raises the key’s question if a permission is missing; it outlives the command, and a no gives nothing', async () => {
    const { home, key, url, decide } = await keyScene();
    const missing = await home.keyturn(['headers', url, '--no-input']);
    expect(missing).toMatchObject({ code: 3, stdout: '' });
    expect(missing.stderr).toContain(`keyturn app allow cli ${url} --api-key`);
    expect(await owner.nothingIsAsked(home)).toBe(true);

    expect(await home.keyturn(['headers', url, '--timeout', '3s'])).toMatchObject({ code: 3, stdout: '' });
    await answer(home, 'cli', 'yes');
    expect(JSON.parse(await home.ok(['headers', url, '--no-input']))).toEqual({ 'X-Api-Key': key });

    await decide('deny');
    expect(await home.keyturn(['headers', url])).toMatchObject({ code: 4, stdout: '' });
  });

  it('keyturn headers asks for a key as an entry of its own with --as', async () => {
    const { home, key, url } = await keyScene();
    const asking = home.start(['headers', url, '--as', 'a-helper', '--timeout', '1m']);
    await answerPairing(home, 'a-helper');
    await answer(home, 'a-helper', 'yes');
    expect(await asking.ended).toEqual({
      code: 0,
      stdout: `${JSON.stringify({ 'X-Api-Key': key })}\n`,
      stderr: '',
    });
    expect(await home.keyturn(['headers', url, '--no-input'])).toMatchObject({ code: 3 });
  });
});

describe('exec', () => {
  it('keyturn exec gives the key without the word before it, in a variable and in a file', async () => {
    const { home, key, url, decide } = await keyScene({ header: 'Authorization', scheme: 'Token' });
    await decide('allow');
    const runtime = mkdtempSync('/dev/shm/keyturn-test-');
    onTestFinished(() => rmSync(runtime, { recursive: true, force: true }));
    const sums = 'printf %s "$KEY" | sha256sum; sha256sum < "$FILE"';
    const words = ['exec', '--min-validity', '1440m', '--env', `KEY=${url}`, '--file', `FILE=${url}`];
    const told = await home.ok([...words, '--', 'sh', '-c', sums], { env: { XDG_RUNTIME_DIR: runtime } });
    expect(told.trim().split('\n')).toEqual([`${hash(key)}  -`, `${hash(key)}  -`]);
  });

  it('keyturn exec runs nothing if the key was refused to it', async () => {
    const { home, url } = await keyScene();
    const running = home.start(['exec', '--env', `KEY=${url}`, '--', 'echo', 'ran']);
    await answer(home, 'cli', 'no');
    expect(await running.ended).toMatchObject({ code: 4, stdout: '' });
  });
});

describe('the bridge', () => {
  it('the bridge asks for the key at its first start, and sends it', async () => {
    const { home, url, server } = await keyScene();
    await paired(home, 'an-editor');
    const start = clientOf(home, url, '--as', 'an-editor').then(
      () => 'started',
      // This server speaks no protocol.
      () => 'refused',
    );
    await answer(home, 'an-editor', 'yes');
    expect(await start).toBe('refused');
    expect(server.served.length).toBeGreaterThan(0);
  });

  it('the key’s question of the bridge is answered beforehand with keyturn connect', async () => {
    const { home, url } = await keyScene();
    const connecting = home.start(['connect', url, '--as', 'a-connected-editor']);
    await answerPairing(home, 'a-connected-editor');
    await connecting.says(`may "a-connected-editor" have your API key for "${url}" (X-Api-Key: …)?`);
    await answer(home, 'a-connected-editor', 'yes');
    expect(await connecting.ended).toMatchObject({ code: 0, stdout: '' });
  });
});
