/** One broker takes over from another: what waits goes on waiting, there; and brokers of other versions. */
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { reasonOf } from '../../../src/base/errors.ts';
import type { ResultOf } from '../../../src/ipc/protocol/methods.ts';
import { homeInWorld, isAlive, newHome, type TestHome, until } from '../../support/home.ts';
import { askBroker } from '../../support/homes/ask-broker.ts';
import { pairedProgram } from '../../support/processes/program.ts';

type Question = ResultOf<'request.list'>['requests'][number];

const root = path.join(import.meta.dirname, '..', '..', '..');

/** What waits, as the broker that runs now says; nothing while none takes requests. */
async function questions(home: TestHome): Promise<readonly Question[]> {
  const passing = ['broker_stopping', 'broker_unreachable', 'unpaired'];
  return askBroker(home, 'request.list', {}).then(
    ({ requests }) => requests,
    (error: unknown) => {
      if (passing.includes(reasonOf(error))) return [];
      throw error;
    },
  );
}

async function bothQuestions(home: TestHome): Promise<readonly Question[]> {
  return until('both questions', async () => {
    const waiting = await questions(home);
    return waiting.length === 2 ? waiting : undefined;
  });
}

describe('a broker that is replaced', () => {
  it('leaves its questions to the next one, and waiting apps get their tokens', async () => {
    const { home, world, resource } = await homeInWorld({ vault: 'keychain' });
    await home.ok(['sign-in', 'list']);
    const program = await pairedProgram(home, 'editor');
    const asked = program.getToken({ resource, interaction: 'allow' });
    const command = home.start(['token', resource]);
    const first = await bothQuestions(home);
    const { pid: before } = await askBroker(home, 'status', {});

    const next = home.start(['broker', 'run', '--replace']);
    await next.says('the broker listens on');
    expect(isAlive(before)).toBe(false);
    const again = await bothQuestions(home);
    expect(new Set(again.map(({ app: client }) => client))).toEqual(new Set(['cli', 'editor']));
    const cli = again.find(({ app: client }) => client === 'cli');
    // The person at the terminal is told what to type now: a moment after the next broker has the question.
    await command.says(`keyturn request approve ${cli?.id}`);
    for (const { id } of again) {
      expect(first.map((one) => one.id)).not.toContain(id);
      await askBroker(home, 'request.answer', { id, answer: 'yes' });
    }
    expect((await asked).access_token).toMatch(/^\S+$/);
    const run = await command.ended;
    expect(run).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\S+\n$/) });
    expect(world.counts().authorizationServer.signIns).toBe(1);
    program.close();
  });
});

/** The built package as another version, without the answer to `status`. */
function otherRelease(version: string): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'kt-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const program = path.join(folder, 'dist', 'cli');
  cpSync(path.join(root, 'dist', 'cli'), program, { recursive: true });
  symlinkSync(path.join(root, 'node_modules'), path.join(folder, 'node_modules'));
  const manifest = readFileSync(path.join(root, 'package.json'), 'utf8');
  const { version: ours } = JSON.parse(manifest) as { version: string };
  writeFileSync(path.join(folder, 'package.json'), manifest.replace(`"${ours}"`, `"${version}"`));
  rewrite(program, `"${ours}"`, `"${version}"`);
  rewrite(program, /status: \((\w+)\) => \1\.status\(\)/g, 'status: () => ({})');
  return path.join(program, 'bin.js');
}

/** Replaces a text in the files of the folder, and fails where none has it. */
function rewrite(folder: string, from: string | RegExp, to: string): void {
  let holders = 0;
  for (const name of readdirSync(folder)) {
    const file = path.join(folder, name);
    const before = readFileSync(file, 'utf8');
    const after = before.replaceAll(from, to);
    if (after === before) continue;
    writeFileSync(file, after);
    holders += 1;
  }
  expect(holders).toBeGreaterThan(0);
}

it('a broker of another version serves, and says so in what fails because of it', async () => {
  const bin = otherRelease('9.8.7');
  const other = newHome({ bin });
  await other.ok(['sign-in', 'list', '--json']);
  const pid = other.brokers()[0] ?? 0;

  const home = newHome({ env: { KEYTURN_HOME: other.folder } });
  expect(await home.keyturn(['sign-in', 'list', '--json'])).toEqual({
    code: 0,
    stdout: '[]\n',
    stderr: '',
  });
  const run = await home.keyturn(['status']);
  expect(run).toMatchObject({ code: 8, stdout: '' });
  expect(run.stderr).toContain('The running broker is of version 9.8.7, this command of ');
  expect(run.stderr).toContain('hint: Restart the broker: keyturn broker restart');

  await home.ok(['broker', 'restart']);
  expect(isAlive(pid)).toBe(false);
  expect(await home.keyturn(['status'])).toMatchObject({ code: 0, stderr: '' });
});
