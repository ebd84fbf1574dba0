/** The start of `keyturn bridge`: pairing, permission and sign-in at the first one, and nothing at the next ones. */
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type TestHome, until } from '../../support/home.ts';
import { type Question, questionOf, questionsAt } from '../../support/homes/ask-broker.ts';
import { commonHome } from '../../support/homes/common-home.ts';
import * as owner from '../../support/homes/owner-acts.ts';
import { clientOf, startClient, waitingLine } from '../../support/processes/bridge-client.ts';
import { paired } from '../../support/processes/program.ts';

/** Answers the only question there is, once it is of this kind. */
async function answer(home: TestHome, kind: string, verdict: 'approve' | 'deny'): Promise<Question> {
  const question = await until(`a question of kind ${kind}`, async () => {
    const [first, ...others] = await questionsAt(home);
    expect(others).toEqual([]);
    return first?.kind === kind ? first : undefined;
  });
  await owner.answer(home, question.id, verdict);
  return question;
}

/**
 * For the tests that don't begin with a sign-in: somebody is signed in there. Each has an entry of its own name, which
 * nobody has seen before, and answers what it asks.
 */
const there = commonHome();
beforeAll(() => owner.signIn(there.home, there.resource));
afterEach(async ({ task }) => {
  if (task.result?.state === 'fail') await owner.clearQuestions(there.home);
});

const refusalOf = async (start: Promise<unknown>): Promise<unknown> =>
  start.then(
    () => 'started',
    (error: unknown) => error,
  );

describe('the first start', () => {
  it('asks once for all processes of the entry, and later starts ask nothing', async () => {
    const { home, world, resource } = await there.newWorld();
    const starts = [1, 2, 3].map(() => startClient(home, resource, '--as', 'an-editor'));
    const line = waitingLine('an-editor', resource);
    await until('all of them wait', () => starts.every(({ output }) => output.stderr.includes(line)));
    expect(await answer(home, 'pair', 'approve')).toMatchObject({ app: 'an-editor' });
    expect(await answer(home, 'allow', 'approve')).toMatchObject({ app: 'an-editor', resource });
    const clients = await Promise.all(starts.map(({ connected }) => connected));
    for (const { client, output } of clients) {
      expect((await client.listTools()).tools.map(({ name }) => name)).toContain('list-notes');
      expect(output.stderr).toContain(line);
    }
    expect(world.counts().authorizationServer).toMatchObject({ signIns: 1, registrations: 1 });

    const { client } = await clientOf(home, resource, '--as', 'an-editor');
    expect(JSON.stringify(await client.callTool({ name: 'list-notes' }))).toContain('alice');
    expect(await owner.nothingIsAsked(home)).toBe(true);
    expect(world.counts().authorizationServer.signIns).toBe(1);
  });

  it('apps/NAME.refused: remembers a denied pairing, until somebody connects it', async () => {
    const { home, resource } = there;
    const start = refusalOf(clientOf(home, resource, '--as', 'a-refused-editor'));
    await answer(home, 'pair', 'deny');
    const refused = {
      message: expect.stringContaining('keyturn connect URL --as a-refused-editor'),
      data: { reason: 'pairing_denied' },
    };
    expect(await start).toMatchObject(refused);
    // The next start raises no question: it is answered at once.
    expect(await refusalOf(clientOf(home, resource, '--as', 'a-refused-editor'))).toMatchObject(refused);
    expect(await owner.nothingIsAsked(home)).toBe(true);

    const connecting = home.start(['connect', resource, '--as', 'a-refused-editor']);
    const { code = '' } = await questionOf(home, 'pair');
    await connecting.says(`Its code is ${code}.`);
    await answer(home, 'pair', 'approve');
    await answer(home, 'allow', 'approve');
    expect(await connecting.ended).toMatchObject({ code: 0, stdout: '' });
    const { client } = await clientOf(home, resource, '--as', 'a-refused-editor');
    expect((await client.listTools()).tools).toHaveLength(2);
  });

  it('apps/NAME.ticket: later starts find the answers, and the client is told in time', async () => {
    const { home, world, resource } = await there.newWorld();
    const entry = 'a-waiting-editor';
    const refusal = await refusalOf(clientOf(home, resource, '--as', entry));
    const { id, code } = await questionOf(home, 'pair');
    expect(refusal).toMatchObject({
      message: expect.stringContaining(`keyturn connect ${resource} --as ${entry}`),
      data: { reason: 'consent_pending' },
    });
    expect(String(refusal)).toContain(`if it shows the code ${code}`);
    expect(await questionOf(home, 'pair')).toMatchObject({ id, code });
    await owner.answer(home, id, 'approve');

    // This client gives up sooner.
    const initialize = {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 'a', version: '1' },
    };
    const impatient = home.start(['bridge', resource, '--as', entry], { stdinStaysOpen: true });
    impatient.types(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: initialize }));
    const { id: second } = await questionOf(home, 'allow');
    impatient.signal('SIGKILL');
    await impatient.ended;
    await owner.answer(home, second, 'approve');
    await until('it is signed in', () => world.counts().authorizationServer.codesRedeemed === 1);

    const { client } = await clientOf(home, resource, '--as', entry);
    expect((await client.listTools()).tools).toHaveLength(2);
    expect(await owner.nothingIsAsked(home)).toBe(true);
    expect(readdirSync(path.join(home.paths.config, 'apps')).filter((name) => name.includes(entry))).toEqual([
      `${entry}.key`,
    ]);
  });
});

describe('the arguments of mcp-remote', () => {
  it('BR-1: are taken: unneeded ones are named, and tools left out', async () => {
    const { resource } = there;
    await paired(there.home, 'a-moved-editor');
    await owner.allow(there.home, 'a-moved-editor', resource);
    const given = ['3334', '--transport', 'http-first', '--debug', '--header', 'X-Team: notes'];
    const { client, output } = await clientOf(
      there.home,
      resource,
      ...given,
      '--ignore-tool',
      'add*',
      '--as',
      'a-moved-editor',
    );
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['list-notes']);
    await expect(client.callTool({ name: 'add-note', arguments: { note: 'milk' } })).rejects.toThrow(
      'leaves the tool out',
    );
    expect(output.stderr.match(/ is not needed: /g)).toHaveLength(2);
    // There is no further line, of an entry that waits for the person.
    expect(output.stderr.trim().split('\n')).toHaveLength(2);
  });
});
