/** Clients by others through `keyturn bridge` at a real MCP server, beside each other in one home. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TestHome, until } from '../../support/home.ts';
import { askBroker, questionOf } from '../../support/homes/ask-broker.ts';
import * as owner from '../../support/homes/owner-acts.ts';
import {
  type Entry,
  type ForeignClient,
  ForeignClients,
  type Outcome,
  type ProgramName,
} from '../../support/processes/foreign-client.ts';
import { paired } from '../../support/processes/program.ts';
import { told } from '../../support/secrets.ts';
import { codeBlocks, page } from '../../docs/pages.ts';
import { workshop } from '../../support/servers/workshop.ts';
import { openWorld, type TestWorld } from '../../support/world.ts';

const programs = ['sdk-1', 'sdk-2', 'ai-sdk', 'langchain'] as const;
const commands = ['inspector', 'mcporter'] as const;

const tools = ['echo', 'repeat', 'wait', 'add-note', 'ask-person', 'ask-model', 'pay', 'unpaid'];

/** Bytes. */
const megabyte = 1024 * 1024;

const service = workshop();
let world: TestWorld;
let home: TestHome;
let clients: ForeignClients;
const running = new Map<ProgramName, ForeignClient>();

const client = (name: ProgramName): ForeignClient => {
  const found = running.get(name);
  if (!found) throw new Error(`${name} did not start`);
  return found;
};

beforeAll(async () => {
  world = await openWorld({ service });
  const { resource } = world.protectedServer;
  home = new TestHome({ world, vault: 'keychain' });
  clients = new ForeignClients(home, resource);
  await owner.startBroker(home);
  for (const name of [...programs, ...commands]) {
    await paired(home, name);
    await owner.allow(home, name, resource);
  }
  const started = await Promise.all(programs.map(async (name) => [name, await clients.start(name)] as const));
  for (const [name, program] of started) running.set(name, program);
});

afterAll(async () => {
  await clients.close();
  await home.close();
  service.forget();
  await world.close();
});

describe('unlike clients on one server', () => {
  it.each(programs)(
    '%s lists and calls tools, reads resources, gets prompts and answers the server',
    async (name) => {
      const { operations } = client(name);
      const ask = async (...words: [string, ...unknown[]]) => client(name).ask(...words);
      expect(await ask('tools')).toEqual(tools);
      expect(await ask('call', 'echo', { key: `${name} echo`, text: 'näh – 🔑' })).toBe('näh – 🔑');
      expect(await ask('resources')).toEqual(['workshop://wood']);
      expect(await ask('read', 'workshop://wood')).toBe('oak');
      const has = (operation: string): boolean => operations.includes(operation);
      if (has('prompts')) expect(await ask('prompts')).toEqual(['plan']);
      if (has('prompt')) expect(await ask('prompt', 'plan', { thing: 'chair' })).toBe('Plan a chair.');
      if (has('person')) expect(await ask('person', `${name} person`)).toBe('accept green');
      if (has('model')) expect(await ask('model', `${name} model`)).toContain('hello');
      expect(service.ran(`${name} echo`)).toBe(1);
    },
  );

  it('inspector lists and calls tools, reads resources and gets prompts as a command', async () => {
    const run = async (...args: string[]) =>
      JSON.parse(
        await clients.run('inspector', '--cli', '--config', 'CONFIGURATION', '--server', 'workshop', ...args),
      ) as unknown;
    expect(await run('--method', 'tools/list')).toMatchObject({ tools: tools.map((name) => ({ name })) });
    const call = ['--method', 'tools/call', '--tool-name', 'echo'];
    expect(await run(...call, '--tool-arg', 'key=inspector echo', 'text=hello')).toMatchObject({
      content: [{ text: 'hello' }],
    });
    expect(await run('--method', 'resources/read', '--uri', 'workshop://wood')).toMatchObject({
      contents: [{ text: 'oak' }],
    });
    const prompt = ['--method', 'prompts/get', '--prompt-name', 'plan', '--prompt-args', 'thing=chair'];
    expect(JSON.stringify(await run(...prompt))).toContain('Plan a chair.');
    expect(service.ran('inspector echo')).toBe(1);
  });

  it('mcporter lists and calls tools and reads resources as a command', async () => {
    const run = async (...args: string[]) => clients.run('mcporter', '--config', 'CONFIGURATION', ...args);
    expect(await run('list', 'workshop', '--json')).toContain('ask-person');
    expect(await run('call', 'workshop.echo', 'key=mcporter echo', 'text=hello')).toContain('hello');
    expect(await run('resource', 'workshop', 'workshop://wood', '--output', 'text')).toContain('oak');
    expect(service.ran('mcporter echo')).toBe(1);
  });

  it('share one sign-in and one registration', async () => {
    expect(world.counts().authorizationServer).toMatchObject({
      signIns: 1,
      registrations: 1,
      codesRedeemed: 1,
    });
    const { signIns } = await askBroker(home, 'signIn.list', {});
    expect(signIns).toHaveLength(1);
    expect(signIns[0]?.apps.toSorted()).toEqual([...programs, ...commands].toSorted());
  });

  it.each([
    ['sdk-1', 1],
    ['sdk-2', 8],
    ['ai-sdk', 1],
    ['langchain', 1],
  ] as const)('%s gets a result of %i MB', async (name, megabytes) => {
    const key = `${name} large`;
    const times = megabytes * megabyte;
    const text = await client(name).ask<string>('call', 'repeat', { key, times });
    expect(text).toBe('x'.repeat(times));
    expect(service.ran(key)).toBe(1);
  });

  // The AI SDK forgets a call that its caller aborts, and tells no server.
  it.each(['sdk-1', 'sdk-2', 'langchain'] as const)(
    '%s cancels a call, and the server learns of it',
    async (name) => {
      const key = `${name} wait`;
      const call = client(name).ask('call', 'wait', { key });
      const ended = expect(call).rejects.toThrow(/abort|cancel/i);
      await until('the tool runs', () => service.ran(key) === 1);
      await client(name).ask('cancel', key);
      await ended;
      await until('the server knows', () => service.cancelled.has(key));
    },
  );

  it('step up in mid-session, once for all', async () => {
    for (const name of programs) {
      const note = `note of ${name}`;
      expect(await client(name).ask('call', 'add-note', { note })).toBe(`added ${note}`);
      expect(service.ran(note)).toBe(1);
    }
    expect(world.counts().authorizationServer).toMatchObject({ registrations: 1, codesRedeemed: 2 });
  });

  it('DOOR-5: make 300 calls while tokens are rejected, each of which runs once', async () => {
    // Calls for two minutes: test/e2e/broker/short-tokens.test.ts in its long form.
    const keys = Array.from({ length: 300 }, (_, n) => `call ${n}`);
    const calls = client('sdk-2').ask<Outcome[]>('calls', keys, 8);
    for (const after of [60, 150, 240]) {
      await until(`call ${after} runs`, () => service.ran(`call ${after}`) > 0);
      world.expireAccessTokens();
    }
    const outcomes = await calls;
    expect(outcomes.filter(({ key, text }) => text !== key)).toEqual([]);
    expect(outcomes).toHaveLength(300);
    expect(keys.filter((key) => service.ran(key) !== 1)).toEqual([]);
  });
});

it('a new user gets from the page to the first call: connect, answer, paste', async () => {
  // The entry that docs/guides/connect-clients.md shows, with the server of this test.
  const [text = ''] = codeBlocks(page('docs/guides/connect-clients.md'), 'json');
  const shown = text.replaceAll('https://notes.example/mcp', world.protectedServer.resource);
  const { mcpServers } = JSON.parse(shown) as { mcpServers: Record<string, Entry> };
  const [[name, entry] = expect.fail()] = Object.entries(mcpServers);
  const connecting = home.start(['connect', world.protectedServer.resource, '--as', name]);
  for (const kind of ['pair', 'allow'] as const) {
    const card = await questionOf(home, kind, name);
    await owner.answer(home, card.id, 'approve');
  }
  const { code, stdout } = await connecting.ended;
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toEqual({ mcpServers: { [name]: expect.anything() } });
  clients.configure('mcporter', entry);
  const call = ['--config', 'CONFIGURATION', 'call', 'workshop.echo', 'key=new user', 'text=hello'];
  expect(await clients.run('mcporter', ...call)).toContain('hello');
  expect(service.ran('new user')).toBe(1);
  expect(world.counts().authorizationServer.signIns).toBe(2);
});

/** Calls of every program, from before to after `happens`; each one must have run once, or say what became of it. */
async function throughout(what: string, happens: () => Promise<void>): Promise<void> {
  const each = 30;
  const keysOf = (name: string): string[] => Array.from({ length: each }, (_, n) => `${what} ${name} ${n}`);
  const calls = programs.map(async (name) => client(name).ask<Outcome[]>('calls', keysOf(name), 2));
  await until('calls run', () => programs.every((name) => service.ran(`${what} ${name} 5`) > 0));
  await happens();
  const outcomes = (await Promise.all(calls)).flat();
  expect(outcomes).toHaveLength(each * programs.length);
  for (const { key, text, error } of outcomes) {
    if (error === undefined) expect({ key, text, ran: service.ran(key) }).toEqual({ key, text: key, ran: 1 });
    else expect(error).toMatch(/Keyturn: The (connection|server)/);
    expect(service.ran(key)).toBeLessThanOrEqual(1);
  }
  for (const name of programs) {
    const key = `${name} after ${what}`;
    expect(await client(name).ask('call', 'echo', { key, text: key })).toBe(key);
    expect(service.ran(key)).toBe(1);
  }
}

/** Sessions are forgotten, as those of a server that is started anew. */
const restartServer = async (): Promise<void> => world.protectedServer.restart(async () => service.forget());
const restartBroker = async (): Promise<void> => void (await home.ok(['broker', 'restart']));

describe('a restart in the middle of calls', () => {
  it('DOOR-5: of the server doubles no call and leaves none without an answer', async () => {
    const key = 'cut off';
    const call = client('sdk-1').ask('call', 'wait', { key });
    const ended = expect(call).rejects.toThrow(
      'The connection to the server broke before it answered "tools/call". The request may have run.',
    );
    await until('the tool runs', () => service.ran(key) === 1);
    await throughout('server', restartServer);
    await ended;
    expect(service.ran(key)).toBe(1);
  });

  it('DOOR-5: of the broker costs no call', async () => {
    const key = 'kept';
    const call = client('sdk-1').ask('call', 'wait', { key });
    await until('the tool runs', () => service.ran(key) === 1);
    await throughout('broker', restartBroker);
    service.release(key);
    expect(await call).toBe('waited');
    expect(service.ran(key)).toBe(1);
  });

  it('DOOR-5: of both doubles no call and leaves none without an answer', async () => {
    await throughout('both', async () => {
      await Promise.all([restartServer(), restartBroker()]);
    });
    expect(world.counts().authorizationServer.signIns).toBe(2);
    expect(service.doubled).toBe(0);
  });
});

it('DOOR-5: no client and no process below it holds or prints a token', async () => {
  clients.search();
  for (const name of programs) await client(name).close();
  const { processes, findings } = clients.found();
  // Each program with its bridge; commands were looked at when they printed.
  expect(processes).toBeGreaterThanOrEqual(2 * programs.length + commands.length);
  expect(told(findings)).toBe('');
});
