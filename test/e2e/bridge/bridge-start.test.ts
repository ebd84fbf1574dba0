/** The start of `keyturn bridge`: pairing, permission and sign-in at the first one, and nothing at the next ones. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { StdioServerParameters } from '@modelcontextprotocol/client/stdio';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { builtBin } from '../../support/built.ts';
import { homeInWorld, TestHome, until } from '../../support/home.ts';
import { askBroker, type Question, questionOf, questionsAt } from '../../support/homes/ask-broker.ts';
import { commonHome } from '../../support/homes/common-home.ts';
import * as owner from '../../support/homes/owner-acts.ts';
import { clientOf, startClient, waitingLine } from '../../support/processes/bridge-client.ts';
import { paired } from '../../support/processes/program.ts';
import { inTerminal } from '../../support/processes/terminal.ts';

/** Answers the only question there is, once it is of this kind. */
async function answer(home: TestHome, kind: string, verdict: 'yes' | 'no'): Promise<Question> {
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
  it('the bridge’s first start asks once for all processes of the entry, and goes on in each; later starts ask nothing', async () => {
    const { home, world, resource } = await there.newWorld();
    const starts = [1, 2, 3].map(() => startClient(home, resource, '--as', 'an-editor'));
    const line = waitingLine('an-editor', resource);
    await until('all of them wait', () => starts.every(({ output }) => output.stderr.includes(line)));
    expect(await answer(home, 'pair', 'yes')).toMatchObject({ app: 'an-editor' });
    expect(await answer(home, 'allow', 'yes')).toMatchObject({ app: 'an-editor', resource });
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

  it('commands of one entry pair once, and each gets the answer for the scopes that it asks for', async () => {
    const { home, resource } = there;
    const headers = (scope: string) =>
      home.start(['headers', resource, '--as', 'two-commands', '--scope', scope, '--timeout', '1m']);
    const [reading, writing] = [headers('notes:read'), headers('notes:write')];
    await answer(home, 'pair', 'yes');
    const questions = await until('a question for each', async () => {
      const open = await questionsAt(home);
      return open.length === 2 ? open : undefined;
    });
    const no = questions.find(({ scope }) => scope?.includes('write'));
    const yes = questions.find((question) => question !== no);
    await owner.answer(home, no?.id ?? '', 'later');
    expect(await writing.ended).toMatchObject({ code: 3, stdout: '' });
    await owner.answer(home, yes?.id ?? '', 'yes');
    expect(await reading.ended).toMatchObject({ code: 0, stderr: '' });
  });

  it('the bridge remembers that the person refused to pair it, until a person connects it', async () => {
    const { home, resource } = there;
    const start = refusalOf(clientOf(home, resource, '--as', 'a-refused-editor'));
    await answer(home, 'pair', 'no');
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
    await answer(home, 'pair', 'yes');
    await answer(home, 'allow', 'yes');
    expect(await connecting.ended).toMatchObject({ code: 0, stdout: '' });
    const { client } = await clientOf(home, resource, '--as', 'a-refused-editor');
    expect((await client.listTools()).tools).toHaveLength(2);
  });

  it('the bridge tells the client after 20 seconds what to do, and a later start finds each answer that came meanwhile', async () => {
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
    await owner.answer(home, id, 'yes');

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
    await owner.answer(home, second, 'yes');
    await until('it is signed in', () => world.counts().authorizationServer.codeExchanges === 1);

    const { client } = await clientOf(home, resource, '--as', entry);
    expect((await client.listTools()).tools).toHaveLength(2);
    expect(await owner.nothingIsAsked(home)).toBe(true);
    expect(
      readdirSync(path.join(home.paths.config, 'clients')).filter((name) => name.includes(entry)),
    ).toEqual([`${entry}.key`]);
  });

  it('the bridge’s first start is refused at once if the person denied the server to this program', async () => {
    const { home, resource } = there;
    await paired(home, 'a-denied-editor');
    await owner.deny(home, 'a-denied-editor', resource);
    expect(await refusalOf(clientOf(home, resource, '--as', 'a-denied-editor'))).toMatchObject({
      data: { reason: 'consent_denied' },
    });
  });
});

describe('keyturn connect without a name', () => {
  it('keyturn connect without a name leads from nothing to an entry that a client starts: one command, and what it prints', async () => {
    const { home, resource } = await homeInWorld();
    const terminal = inTerminal(home, [process.execPath, builtBin, 'connect', resource]);
    await terminal.shows(/may "[^"]+" be paired, and reach [^]*\[y\/N\] /);
    terminal.type('y\n');
    await terminal.ended;
    const [printed = ''] = /^\{[^]*^\}/m.exec(terminal.shown().replaceAll('\r', '')) ?? [];
    const { mcpServers } = JSON.parse(printed) as { mcpServers: Record<string, StdioServerParameters> };
    const [[name, entry] = []] = Object.entries(mcpServers);
    expect(name).toMatch(/^127\.0\.0\.1-\d+-mcp-[0-9a-f]{6}$/);
    expect(entry).toEqual({
      command: process.execPath,
      args: [builtBin, 'bridge', resource, '--as', name],
      env: { KEYTURN_HOME: home.folder },
    });
    const { client } = await clientOf(home, ...(entry?.args?.slice(2) ?? []));
    expect((await client.listTools()).tools).toHaveLength(2);
    expect(await owner.nothingIsAsked(home)).toBe(true);
  });

  it('keyturn connect refuses plain http before it asks anything', async () => {
    const { home } = there;
    const refused = await home.keyturn([
      'connect',
      'http://127.0.0.1:9/mcp',
      '--as',
      'an-editor-in-the-open',
    ]);
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('it is plain http') });
    expect(await owner.nothingIsAsked(home)).toBe(true);
  });

  it('keyturn connect pairs an entry anew whose key the broker does not know, and keeps the old key', async () => {
    const { home, resource } = there;
    await paired(home, 'a-changed-editor');
    const key = path.join(home.paths.config, 'clients', 'a-changed-editor.key');
    const before = readFileSync(key);
    await askBroker(home, 'app.remove', { app: 'a-changed-editor' });
    writeFileSync(key, before, { mode: 0o600 });
    const connecting = home.start(['connect', resource, '--as', 'a-changed-editor']);
    await answer(home, 'pair', 'yes');
    await answer(home, 'allow', 'yes');
    expect(await connecting.ended).toMatchObject({ code: 0, stderr: expect.stringContaining(`${key}.old`) });
    expect(readFileSync(`${key}.old`)).toEqual(before);
    expect(readFileSync(key)).not.toEqual(before);
  });

  it('keyturn connect at a terminal ends when its questions are answered elsewhere, without a key', async () => {
    const { home, resource } = there;
    const command = [process.execPath, builtBin, 'connect', resource, '--as', 'an-editor-at-a-terminal'];
    const terminal = inTerminal(home, command);
    await terminal.shows(/be paired, and reach [^]*\[y\/N\] /);
    await answer(home, 'pair', 'yes');
    await terminal.shows(/Answered elsewhere[^]*may "an-editor-at-a-terminal" reach [^]*\[y\/N\] /);
    await answer(home, 'allow', 'yes');
    await terminal.ended;
    expect(terminal.shown()).toContain(`an-editor-at-a-terminal may use ${resource}`);
  });

  it('keyturn connect with --json prints the entry for a script, with its home and nothing else of this terminal', async () => {
    const { home, resource } = there;
    const connecting = home.start(['connect', resource, '--as', 'a-scripted-editor', '--json'], {
      env: { HTTPS_PROXY: 'http://ann:hush@proxy.example:3128', NO_PROXY: '127.0.0.1' },
    });
    await answer(home, 'pair', 'yes');
    await answer(home, 'allow', 'yes');
    const { code, stdout } = await connecting.ended;
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      name: 'a-scripted-editor',
      command: process.execPath,
      args: [builtBin, 'bridge', resource, '--as', 'a-scripted-editor'],
      env: { KEYTURN_HOME: home.folder },
    });
  });
});

describe('the arguments of mcp-remote', () => {
  /** Without a broker. */
  let home: TestHome;
  beforeAll(() => {
    home = new TestHome({ world: there.world });
  });
  afterAll(() => home.close());

  it('BR-1: the bridge takes the arguments of mcp-remote: it names unneeded ones on standard error, and leaves tools out', async () => {
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

  it.each([
    [['--static-oauth-client-info', '{"client_id":"a"}'], 'keyturn oauth-client add ISSUER --client-id ID'],
    [['--header', 'Authorization: Bearer x'], 'keyturn api-key set'],
    [['--as', 'a bad name'], 'Use up to 64 letters, digits, dots, dashes and underscores'],
    [['--no-such-flag'], 'There is no option \\"--no-such-flag\\" here'],
  ])(
    'the argument %j, of mcp-remote or wrong, is refused to the client, with what to use instead',
    async (args, said) => {
      const error = await refusalOf(clientOf(home, there.resource, ...args));
      expect(JSON.stringify(error)).toContain('invalid_request');
      expect(String(error)).toContain(said.replaceAll('\\', ''));
      expect(home.brokers()).toEqual([]);
    },
  );
});
