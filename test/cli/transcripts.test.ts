/**
 * The command as its user meets it: the transcripts test/cli/*.txt, run against the built command with a real broker,
 * keyring, authorization server and MCP server. A file has one home, and its parts run in their order:
 *
 *     # A title       a part. Before the first: what the file is about, and NAME=value for the environment of its home
 *     $ keyturn …     a line for sh, in an empty folder. `> ` begins the lines that continue it
 *     < text          its standard input
 *     text            its whole standard output
 *     ! text          its whole standard error
 *     ? 3             its exit code, if it isn't 0
 *     $ keyturn … &   goes on beside the next lines; what follows is what it says first
 *     $ wait          its end: all that it said, and its code
 *     @ words         what happens elsewhere: `acts` has them all
 *     @ only where …  the part goes on only where this line for sh succeeds
 *
 * In output, [..] is anything in a line, ... is any lines, and [=id] is a word that later lines call $id. $NOTES and
 * $ISSUER are the servers, $ALICE and $BOB browsers, $ROOT is the checkout. BROKER=none begins without a broker,
 * WORLD has options of `openWorld` as JSON. With KEYTURN_TRANSCRIPTS=write, what came takes the place of what was expected.
 */
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Run, type Running, TestHome } from '../support/home.ts';
import type { BentClient } from '../support/bent/authorization-server.ts';
import { type Question, questionOf } from '../support/homes/ask-broker.ts';
import * as owner from '../support/homes/owner-acts.ts';
import { paired } from '../support/processes/program.ts';
import { verdictOn } from '../support/servers/notebook.ts';
import { fits, type Names, type Step, stepOf, valued, written } from '../support/transcript.ts';
import { openWorld, type TestWorld, type WorldOptions } from '../support/world.ts';

interface Place {
  readonly home: TestHome;
  /** The one that steps mean; the others stay, so that no later one gets their ports. */
  world: TestWorld;
  readonly worlds: TestWorld[];
  readonly running: Running[];
  readonly names: Names;
  /** Ends what was done to the world. */
  readonly held: (() => void)[];
}

const isWriting = process.env['KEYTURN_TRANSCRIPTS'] === 'write';

/** Milliseconds for what a command says first. */
const patience = isWriting ? 20_000 : 100_000;

async function answerTo(home: TestHome, kind: string, verdict: 'approve' | 'deny'): Promise<void> {
  await owner.answer(home, (await questionOf(home, kind as Question['kind'])).id, verdict);
}

const serversIn = ({ protectedServer, authorizationServer }: TestWorld) => ({
  NOTES: protectedServer.resource,
  ISSUER: authorizationServer.issuer,
});

/** What happens elsewhere, by the words that a line begins with; the rest are its arguments. */
const acts: Readonly<Record<string, (place: Place, word: string) => unknown>> = {
  'the server takes': async ({ world }, token) => expect((await verdictOn(world, token)).status).toBe(200),
  'the server rejects': async ({ world }, token) => expect((await verdictOn(world, token)).status).toBe(401),
  'the access tokens end': ({ world }) => world.expireAccessTokens(),
  'the sign-ins end': ({ world }) => world.endGrants(),
  'the next token request fails': ({ world }) => world.failTokenRequests(1),
  'token requests wait': ({ world, held }) => held.push(world.holdTokenRequests().release),
  'token requests go on': ({ held }) => held.pop()?.(),
  'the authorization server is away': ({ world, held }) =>
    held.push(world.authorizationServer.server.on('*', '*', 'destroy')),
  'the authorization server is back': ({ held }) => held.pop()?.(),
  'the authorization server counts': ({ world }, numbers) =>
    expect(world.counts().authorizationServer).toMatchObject(JSON.parse(numbers) as object),
  'other servers': async (place, options) => {
    place.world = await openWorld(JSON.parse(options) as WorldOptions);
    place.worlds.push(place.world);
    // As providers do, they grant what they are asked for.
    delete place.world.authorizationServer.bend.grantedScopes;
    Object.assign(place.names, serversIn(place.world));
  },
  'the metadata says': ({ world }, members) =>
    (world.authorizationServer.bend.metadata = (document) => ({
      ...document,
      ...(JSON.parse(members) as object),
    })),
  'a request with': ({ world }, words) => {
    const [part = '', answer = ''] = words.split(' gets ');
    world.authorizationServer.bend.authorizeError = ({ query }) =>
      String(query).includes(part) ? (JSON.parse(answer) as Record<string, string>) : undefined;
  },
  'the user registers': ({ world }, client) =>
    world.authorizationServer.addClient(JSON.parse(client) as Partial<BentClient>),
  'the server forgets its clients': ({ world }) => world.authorizationServer.clients.clear(),
  'the user opens': ({ world }, url) => world.signIn(url),
  'the user enters': ({ world }, code) => world.authorizationServer.approveDevice(code),
  'the broker is killed': ({ home }) => owner.killBroker(home),
  'the broker resets the home': ({ home }) => owner.resetHome(home),
  'an app pairs as': ({ home }, name) => paired(home, name),
  'the user approves': ({ home }, kind) => answerTo(home, kind, 'approve'),
  'the user denies': ({ home }, kind) => answerTo(home, kind, 'deny'),
  'the command gets': ({ running }, signal) => running[0]?.signal(signal as NodeJS.Signals),
};

async function runOf(step: Step, place: Place): Promise<{ run: Run; isRunning: boolean }> {
  const { home, running, names } = place;
  const { command, stdin } = step;
  if (command === 'wait') {
    const [first] = running.splice(0, 1);
    return { run: (await first?.ended) ?? { code: -1, stdout: '', stderr: '' }, isRunning: false };
  }
  const options = { folder: path.join(home.folder, '..', 'made'), env: names, stdin: valued(stdin, names) };
  if (!command.endsWith(' &'))
    return { run: await home.startLines(`${command}\n`, options).ended, isRunning: false };
  const started = home.startLines(`${command.slice(0, -2)}\n`, { ...options, stdinStaysOpen: true });
  running.push(started);
  const isOver = started.ended.then(() => true);
  for (const end = Date.now() + patience; Date.now() < end && !fits(started.sofar(), step, names, true);)
    if (await Promise.race([isOver, sleep(50, false)])) break;
  return { run: started.sofar(), isRunning: true };
}

describe.concurrent.each(globSync('*.txt', { cwd: import.meta.dirname }))('%s', (name) => {
  const file = path.join(import.meta.dirname, name);
  const blocks = readFileSync(file, 'utf8').split(/^(?=[#$@] )/m);
  const titles = blocks.flatMap((block, at) => (block.startsWith('# ') ? [at] : []));
  let place: Place;
  beforeAll(async () => {
    const env = Object.fromEntries(
      [...(blocks[0] ?? '').matchAll(/^([A-Z_]+)=(.*)$/gm)].map((found) => found.slice(1)),
    );
    const { BROKER: broker, WORLD: options = '{}', ...more } = env as Record<string, string>;
    const world = await openWorld(JSON.parse(options) as WorldOptions);
    const isKeychain = more['KEYTURN_VAULT'] === 'keychain';
    // The constructor looks where temporary files belong.
    vi.stubEnv('TMPDIR', more['TMPDIR'] ?? process.env['TMPDIR']);
    const home = new TestHome({ world, env: more, vault: isKeychain ? 'keychain' : 'memory' });
    vi.unstubAllEnvs();
    const made = path.join(home.folder, '..', 'made');
    mkdirSync(made);
    const people = { ALICE: world.browser('--account alice'), BOB: world.browser('--account bob') };
    const root = path.join(import.meta.dirname, '..', '..');
    const folders = { KEYTURN_HOME: home.folder, HOME: home.env['HOME'] ?? '', PWD: made, ROOT: root };
    const names = { ...serversIn(world), ...people, ...folders };
    place = { home, world, worlds: [world], running: [], held: [], names };
    if (broker !== 'none') await owner.startBroker(home);
  });
  afterAll(async () => {
    if (isWriting) writeFileSync(file, blocks.join(''));
    await place.home.close();
    await Promise.all(place.worlds.map((world) => world.close()));
  });

  const parts = titles.map(
    (at, index) => [blocks[at]?.split('\n')[0]?.slice(2), at, titles[index + 1]] as const,
  );
  it.sequential.for(parts)('%s', async ([, from, to = blocks.length], { skip }) => {
    for (let at = from + 1; at < to; at += 1) {
      const step = stepOf(blocks[at] ?? '');
      const [words = '', act] = Object.entries(acts).find(([start]) => step.act.startsWith(start)) ?? [];
      const [, condition] = /^only where (.*)/.exec(step.act) ?? [];
      if (condition !== undefined) {
        if ((await place.home.startLines(`${condition}\n`).ended).code !== 0) skip(`not here: ${condition}`);
        continue;
      }
      if (step.act !== '') {
        await act?.(place, valued(step.act.slice(words.length + 1), place.names));
        expect(act, step.act).toBeDefined();
        continue;
      }
      const { run, isRunning } = await runOf(step, place);
      if (fits(run, step, place.names, isRunning)) continue;
      const came = [...step.given, ...written(run, step, place.names), ''].join('\n');
      if (!isWriting) expect(came).toBe([...step.given, ...step.expected, ''].join('\n'));
      blocks[at] = `${came}\n`;
      // For the words that the new lines name.
      fits(run, stepOf(came), place.names);
    }
  });
});
